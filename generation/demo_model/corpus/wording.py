"""Surface variation: slots, joining, and the free wording that people use in openings."""

import random
import re

from generation.demo_model.corpus.reading import Material, Mood

SLOT = re.compile(r"\{(\w+)\}")
KEEPS_CAPITAL = re.compile(r"(I\b|I'|[A-Z]{2})")
HAN = re.compile(r"[\u4e00-\u9fff]")
# Shares of openings that get each change; together about half of them stay as written.
LEAD, TAIL, SYNONYM, DROP, LOWER, NO_PUNCTUATION, TYPO, NOISE = 0.22, 0.15, 0.35, 0.12, 0.12, 0.15, 0.05, 0.10


def fill(text: str, material: Material, rng: random.Random) -> str:
    """Replaces every {slot}; a slot value may hold slots itself."""
    while match := SLOT.search(text):
        value = rng.choice(material.slots[match[1]])
        text = text[: match.start()] + value + text[match.end() :]
    return text


def join(parts: list[str], language: str) -> str:
    """One utterance of several sentences; after a comma English goes on in lower case."""
    parts = [part for part in parts if part]
    if language == "zh":
        return "".join(parts)
    text = parts[0]
    for part in parts[1:]:
        lower = text.endswith(",") and not KEEPS_CAPITAL.match(part)
        text += " " + (part[0].lower() + part[1:] if lower else part)
    return text[0].upper() + text[1:]


def swap_synonym(text: str, material: Material, rng: random.Random) -> str:
    """Swaps one word or phrase for another of the same synonym group."""
    groups = [group.split("/") for group in material.phrases["synonyms"]]
    rng.shuffle(groups)
    for group in groups:
        for word in group:
            pattern = re.escape(word) if material.language == "zh" else rf"\b{re.escape(word)}\b"
            if re.search(pattern, text):
                return re.sub(pattern, rng.choice(group), text, count=1)
    return text


def drop_unit(text: str, language: str, rng: random.Random) -> str:
    """Leaves out one word (English) or one character (Chinese) of a text of at least five."""
    units = list(text) if language == "zh" else text.split(" ")
    if len(units) < 5:
        return text
    at = rng.randrange(1, len(units) - 1)
    return ("" if language == "zh" else " ").join(units[:at] + units[at + 1 :])


def add_typo(text: str, rng: random.Random) -> str:
    """Exchanges two neighbouring characters."""
    if len(text) < 6:
        return text
    at = rng.randrange(1, len(text) - 2)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


def replace_unit(text: str, material: Material, rng: random.Random) -> str:
    """Replace one word by a word of any slot, so that unknown words do not derail the reply."""
    pool = material.slots["noise"]
    if material.language == "zh":
        at = rng.randrange(len(text))
        return text[:at] + rng.choice(pool) + text[at + 2 :] if HAN.match(text[at]) else text
    words = text.split(" ")
    words[rng.randrange(len(words))] = rng.choice(pool)
    return " ".join(words)


def drop_punctuation(text: str, language: str) -> str:
    """The careless writer's version: no final stop, commas as spaces in Chinese."""
    text = text.rstrip(".。!！")
    return text.replace("，", " ") if language == "zh" else text


def vary_opening(text: str, mood: Mood, material: Material, rng: random.Random) -> str:
    """An opening as some person might type it."""
    language = material.language
    if rng.random() < SYNONYM:
        text = swap_synonym(text, material, rng)
    if rng.random() < DROP:
        text = drop_unit(text, language, rng)
    if rng.random() < NOISE:
        text = replace_unit(text, material, rng)
    lead = rng.choice(mood.leads) if mood.leads and rng.random() < LEAD else ""
    tail = rng.choice(mood.tails) if mood.tails and rng.random() < TAIL else ""
    text = join([lead, text, tail], language)
    if rng.random() < TYPO:
        text = add_typo(text, rng)
    if rng.random() < LOWER:
        text = text.lower()
    return drop_punctuation(text, language) if rng.random() < NO_PUNCTUATION else text
