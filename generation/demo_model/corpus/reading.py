"""Reads the corpus source files: topics -> scenarios -> exchanges.

A source file is plain text, one item a line, alternatives between `|`:

    @ name: keyword, keyword ...     a topic and words that belong to it
    = mood                           a scenario of that topic
    o opening | opening              what the first speaker may say
    r reply | reply                  comments that fit every opening of the scenario
    q question | question > answers > reactions [> answers > reactions ...]
    m the same, but at topic level: either speaker may ask it, and may be asked back

`*good`, `*bad` or `*ok` as a reactions field means the mood's general reactions. `{slot}` takes a slot value.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

LANGUAGES = ("en", "zh")
HERE = Path(__file__).parent
Lines = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answers:
    """What may be answered, and how the asker reacts to any of these answers."""

    texts: Lines
    reactions: Lines


@dataclass(frozen=True, slots=True)
class Question:
    phrasings: Lines
    answers: tuple[Answers, ...]
    mutual: bool = False


@dataclass(slots=True)
class Scenario:
    mood: str
    openings: Lines = ()
    replies: Lines = ()
    questions: list[Question] = field(default_factory=list)


@dataclass(slots=True)
class Topic:
    name: str
    keywords: Lines
    scenarios: list[Scenario] = field(default_factory=list)
    mutual: list[Question] = field(default_factory=list)


@dataclass(slots=True)
class Mood:
    """Material that depends on the mood of what was just said, not on its topic."""

    prefixes: Lines = ()
    reactions: Lines = ()
    thanks: Lines = ()
    tails: Lines = ()
    leads: Lines = ()
    questions: list[Question] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Material:
    """Everything the generator needs for one language."""

    language: str
    topics: list[Topic]
    moods: dict[str, Mood]
    slots: dict[str, Lines]
    phrases: dict[str, Lines]


def split(text: str) -> Lines:
    """Alternatives of a field, without surrounding spaces and empty ones."""
    return tuple(part.strip() for part in text.split("|") if part.strip())


def source_lines(path: Path) -> Iterator[tuple[str, str]]:
    """(key, rest) of every line that is neither empty nor a comment."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            key, _, rest = line.strip().partition(" ")
            if not rest:
                raise ValueError(f"{path.name}, line {number}: '{key}' has no text; write 'key text'.")
            yield key, rest


def read_question(text: str, *, mutual: bool) -> Question:
    """`phrasings > answers > reactions [> answers > reactions]`; a missing last reactions field means *ok."""
    fields = [split(part) for part in text.split(" > ")]
    pairs = fields[1:] if len(fields) % 2 else [*fields[1:], ("*ok",)]
    answers = tuple(Answers(a, r) for a, r in zip(pairs[::2], pairs[1::2], strict=True))
    if not answers or any(text.startswith("*") for answer in answers for text in answer.texts):
        raise ValueError(f"No answer is given for the question '{text}'.")
    return Question(fields[0], answers, mutual)


def read_topics(path: Path) -> list[Topic]:
    """All topics of one file, in file order."""
    topics: list[Topic] = []
    for key, rest in source_lines(path):
        if key == "@":
            name, _, words = rest.partition(":")
            topics.append(Topic(name.strip(), tuple(re.split(r"[,，、]\s*", words.strip())) if words else ()))
        elif key == "=":
            topics[-1].scenarios.append(Scenario(rest))
        elif key == "m":
            topics[-1].mutual.append(read_question(rest, mutual=True))
        elif key == "q":
            topics[-1].scenarios[-1].questions.append(read_question(rest, mutual=False))
        elif key in "or":
            scenario = topics[-1].scenarios[-1]
            name = "openings" if key == "o" else "replies"
            setattr(scenario, name, (*getattr(scenario, name), *split(rest)))
        else:
            raise ValueError(f"{path.name}: unknown key '{key}'; use one of @ = o r q m.")
    return topics


def merge(topics: Iterable[Topic]) -> list[Topic]:
    """Joins topics of one name; a scenario of only openings adds them to the first one of its mood."""
    merged: dict[str, Topic] = {}
    for topic in topics:
        known = merged.setdefault(topic.name, Topic(topic.name, topic.keywords))
        known.mutual += topic.mutual
        for scenario in topic.scenarios:
            twin = next((old for old in known.scenarios if old.mood == scenario.mood), None)
            if scenario.replies or twin is None:
                known.scenarios.append(scenario)
            else:
                twin.openings += scenario.openings
    return list(merged.values())


def read_moods(path: Path) -> dict[str, Mood]:
    """Moods: `p` prefixes, `g` reactions, `t` thanks, `x` tails, `l` lead-ins of openings, `q` questions."""
    names = {"p": "prefixes", "g": "reactions", "t": "thanks", "x": "tails", "l": "leads"}
    moods: dict[str, Mood] = {}
    mood = Mood()
    for key, rest in source_lines(path):
        if key == "=":
            mood = moods[rest] = Mood()
        elif key == "q":
            mood.questions.append(read_question(rest, mutual=False))
        else:
            setattr(mood, names[key], (*getattr(mood, names[key]), *split(rest)))
    return moods


def read_lists(path: Path) -> dict[str, Lines]:
    """`name a | b | c` lines; a name given twice is one list."""
    lists: dict[str, Lines] = {}
    for key, rest in source_lines(path):
        lists[key] = (*lists.get(key, ()), *split(rest))
    return lists


def topic_files(language: str) -> Iterable[Path]:
    """The topic sources of a language; openings that are added to topics come last."""
    special = {"moods.txt", "slots.txt", "phrases.txt"}
    paths = (path for path in (HERE / language).glob("*.txt") if path.name not in special)
    return sorted(paths, key=lambda path: (path.name.startswith("openings"), path.name))


@cache
def material(language: str) -> Material:
    """Reads the sources of `language` ("en" or "zh") once."""
    folder = HERE / language
    return Material(
        language=language,
        topics=merge(topic for path in topic_files(language) for topic in read_topics(path)),
        moods=read_moods(folder / "moods.txt"),
        slots=read_lists(folder / "slots.txt"),
        phrases=read_lists(folder / "phrases.txt"),
    )
