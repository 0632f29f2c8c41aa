"""Dialogues of five domains with the quality labels of two scripts, which read what kind of answers were given.

answers_<language>.txt, line by line:

== domain     begins a domain, or one of the lists that all domains share
? question    ++ a full answer   + a thin one
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from dialogues.models import Split

HERE: Final = Path(__file__).parent
LANGUAGES: Final = ("en", "zh")
SEED: Final = 15
DIALOGUES: Final = 300
FACTS: Final = ("bank", "travel")  # domains whose answers must be looked up
KINDS_OF_SCORE: Final = {2: ("full",), 1: ("thin",), 0: ("evasive", "rude", "unrelated")}
SCORE_SHARES: Final = {2: 0.4, 1: 0.3, 0: 0.3}
# Reasons for a score that the answers do not suggest come last.
REASONS: Final[Mapping[int, Mapping[str, str]]] = {
    2: {},
    1: {"thin": "less_informative", "": "incomplete"},
    0: {"evasive": "no_answer", "rude": "not_empathetic", "unrelated": "not_relevant", "": "no_answer"},
}
ENDINGS: Final = {2: ("thanks", "neutral"), 1: ("neutral", "thanks", "grumbles"), 0: ("grumbles", "neutral")}
READ_OTHERWISE: Final = 0.07  # how often both scripts score one step off
SLIP: Final = 0.12  # how often one of them does
LENGTHS: Final = (5, 3, 2)  # weights of one, two and three questions
Answers = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    question: str
    full: str
    thin: str


@dataclass(frozen=True, slots=True)
class Material:
    """What the dialogues of one language are made of: questions by domain, and lines that all domains share."""

    domains: dict[str, list[Entry]]
    shared: dict[str, list[str]]


@dataclass(slots=True)
class LabelledChat:
    """kinds: of its answers. score: what a careful reader says. answers: of the two scripts."""

    id: str
    language: str
    domain: str
    split: str
    score: int
    messages: list[tuple[str, str]] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    answers: list[Answers] = field(default_factory=list)

    def answers_for(self, score: int) -> Answers:
        """Answers to the questions of the preset diqad."""
        answers: Answers = {"verify": int(self.domain in FACTS), "quality": score}
        if reasons := REASONS[score]:
            fitting = [reasons[kind] for kind in self.kinds if kind in reasons]
            answers[f"reasons_{score}"] = [fitting[0] if fitting else reasons[""]]
        return answers


def load_material(language: str) -> Material:
    """The questions and lines of answers_<language>.txt."""
    sections: dict[str, list[str]] = {}
    for line in (HERE / f"answers_{language}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            sections[line.removeprefix("== ")] = []
        elif line and not line.startswith("#"):
            sections[list(sections)[-1]].append(line)
    domains = {name: _entries(lines) for name, lines in sections.items() if lines[0].startswith("? ")}
    return Material(domains, {name: lines for name, lines in sections.items() if name not in domains})


def _entries(lines: Sequence[str]) -> list[Entry]:
    texts = [line.partition(" ")[2] for line in lines]
    return [Entry(*texts[start : start + 3]) for start in range(0, len(texts), 3)]


def write_labelled_chats(count: int = DIALOGUES) -> list[LabelledChat]:
    """Dialogues in both languages and all domains in turn; a sixth is of the split valid, another sixth of test."""
    material, dice = {language: load_material(language) for language in LANGUAGES}, Random(SEED)
    return [_write(n, material[LANGUAGES[n % 2]], dice) for n in range(count)]


def _write(n: int, material: Material, dice: Random) -> LabelledChat:
    domain = list(material.domains)[n // 2 % len(material.domains)]
    split = {4: Split.VALID, 5: Split.TEST}.get(n // 10 % 6, Split.TRAIN)
    [score] = dice.choices(list(SCORE_SHARES), list(SCORE_SHARES.values()))
    chat = LabelledChat(f"answers-{n}", LANGUAGES[n % 2], domain, split.value, score)
    _talk(chat, material, dice)
    chat.score = _one_step_off(score, dice) if dice.random() < READ_OTHERWISE else score
    scores = [chat.score, chat.score]
    if dice.random() < SLIP:
        scores[dice.randrange(2)] = _one_step_off(chat.score, dice)
    chat.answers = [chat.answers_for(each) for each in scores]
    return chat


def _talk(chat: LabelledChat, material: Material, dice: Random) -> None:
    """One to three questions. The worst answer makes the score, so the others are at least as good."""
    [count] = dice.choices((1, 2, 3), LENGTHS)
    entries = dice.sample(material.domains[chat.domain], count)
    worst = dice.randrange(count)
    for place, entry in enumerate(entries):
        score = chat.score if place == worst else dice.randint(chat.score, 2)
        kind = dice.choice(KINDS_OF_SCORE[score])
        chat.kinds.append(kind)
        chat.messages.append(("user", entry.question))
        chat.messages.append(("assistant", _answer(kind, entry, chat.domain, material, dice)))
    ending = dice.choice((*ENDINGS[chat.score], ""))
    if ending:
        chat.messages.append(("user", dice.choice(material.shared[ending])))


def _answer(kind: str, entry: Entry, domain: str, material: Material, dice: Random) -> str:
    if kind == "unrelated":
        return dice.choice([other.thin for other in material.domains[domain] if other is not entry])
    return {"full": entry.full, "thin": entry.thin}.get(kind) or dice.choice(material.shared[kind])


def _one_step_off(score: int, dice: Random) -> int:
    return dice.choice([other for other in (0, 1, 2) if abs(other - score) == 1])


def labelled_chats_file(chats: Sequence[LabelledChat]) -> bytes:
    """As a file of the format `messages`, with the annotations of the two scripts."""
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in _rows(chats)).encode()


def _rows(chats: Sequence[LabelledChat]) -> Iterator[dict[str, Any]]:
    for chat in chats:
        yield {
            "id": chat.id,
            "language": chat.language,
            "domain": chat.domain,
            "split": chat.split,
            "messages": [{"role": role, "content": text} for role, text in chat.messages],
            "annotations": [{"quality": answers} for answers in chat.answers],
        }
