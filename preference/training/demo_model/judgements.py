"""How many of the demo model's candidates two readers find sensible, and how well the readers agree.

python -m preference.training.demo_model.judgements

The readers judged every candidate alone; neither wrote the openings or the corpus. `sensible`: a person could have said
it there; outside the covered topics a general reply of the right kind and mood is enough.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from generation.demo_model.corpus import LANGUAGES
from generation.scripts import allowed_scripts, scripts_in
from measures.bootstrap import clustered_mean
from measures.estimate import Estimate
from measures.pairs import clustered_cohen_kappa
from preference.training.demo_model.candidates import JUDGED, REPLIES, Row, read_rows

READERS = (JUDGED / "first_reader.tsv", JUDGED / "second_reader.tsv")
JOKE = re.compile("(joke|cheer|praise).* at a death")  # in the remark of a reader
GOAL = 0.75
NAMES = {"en": "English", "zh": "Chinese"}
MOODS = {
    "good": "good news",
    "bad": "bad news",
    "grave": "a death or serious illness",
    "neutral": "neither",
    "question": "a question",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate with the verdicts of the first and the second reader. number: of its opening."""

    number: int
    candidate: int
    language: str
    topics: str
    mood: str
    opening: str
    reply: str
    sensible: tuple[bool, bool]
    fluent: tuple[bool, bool]
    remarks: tuple[str, str]

    @property
    def is_foreign(self) -> bool:
        """Whether it has a letter of a script that neither the language nor the opening has."""
        return not scripts_in(self.reply) <= set(allowed_scripts(self.language, [self.opening]))


def read_judged(replies: Path = REPLIES, readers: Sequence[Path] = READERS) -> list[Judged]:
    """Every candidate with the verdicts of both readers, a file each.

    Raises ValueError unless each file has exactly one row for each candidate, with verdicts of 0 or 1.
    """
    rows = read_rows(replies)
    first, second = (_verdicts(path, rows) for path in readers)
    return [_judged(row, first[_key(row)], second[_key(row)]) for row in rows]


def _verdicts(path: Path, replies: Sequence[Row]) -> dict[tuple[int, int], Row]:
    rows = read_rows(path)
    if sorted(map(_key, rows)) != sorted(map(_key, replies)):
        raise ValueError(f"{path} must have one row for each candidate.")
    odd = [row for row in rows if not {row["sensible"], row["fluent"]} <= {"0", "1"}]
    if odd:
        raise ValueError(
            f"{path}: sensible and fluent must be 0 or 1, but opening {odd[0]['number']} has {odd[0]}."
        )
    return {_key(row): row for row in rows}


def _key(row: Row) -> tuple[int, int]:
    return int(row["number"]), int(row["candidate"])


def _judged(row: Row, first: Row, second: Row) -> Judged:
    number, candidate = _key(row)
    return Judged(
        number=number,
        candidate=candidate,
        language=row["language"],
        topics=row["topics"],
        mood=row["mood"],
        opening=row["opening"],
        reply=row["reply"],
        sensible=(first["sensible"] == "1", second["sensible"] == "1"),
        fluent=(first["fluent"] == "1", second["fluent"] == "1"),
        remarks=(first["remark"], second["remark"]),
    )


def share(judged: Sequence[Judged], is_true: Callable[[Judged], bool]) -> Estimate:
    """The share of candidates for which `is_true`. The interval resamples openings, not single candidates."""
    values = np.array([is_true(one) for one in judged], np.float64)
    return clustered_mean(values, [one.number for one in judged])


def share_by_reader(judged: Sequence[Judged]) -> tuple[Estimate, Estimate]:
    """The share of candidates that the first and the second reader find sensible."""
    return share(judged, lambda one: one.sensible[0]), share(judged, lambda one: one.sensible[1])


def agreement(judged: Sequence[Judged]) -> tuple[Estimate, Estimate]:
    """The share of candidates on which the readers agree, and Cohen's κ; both resample openings."""
    one, other = np.array([one.sensible for one in judged], np.int64).T
    openings = [one.number for one in judged]
    return share(judged, lambda each: each.sensible[0] == each.sensible[1]), clustered_cohen_kappa(
        one, other, openings
    )


def groups(judged: Sequence[Judged]) -> Iterator[tuple[str, list[Judged]]]:
    """The rows of the table: each language, its halves, and moods of both languages."""
    for code in LANGUAGES:
        of_language = [one for one in judged if one.language == code]
        yield f"**{NAMES[code]}, all**", of_language
        for where in ("inside", "outside"):
            name = f"{NAMES[code]}, {where} the topics"
            yield name, [one for one in of_language if one.topics == where]
    for mood, name in MOODS.items():
        yield f"both, {name}", [one for one in judged if one.mood == mood]


def table(judged: Sequence[Judged]) -> str:
    """The figures in Markdown, as MODEL_CARD.md has them."""
    head = [
        "| sensible (95 % interval) | candidates | first reader | second reader | both | they agree | κ |",
        "|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *(_row(name, members) for name, members in groups(judged))])


def _row(name: str, judged: Sequence[Judged]) -> str:
    first, second = share_by_reader(judged)
    both = share(judged, lambda one: all(one.sensible))
    agreed, kappa = agreement(judged)
    cells = [name, str(len(judged)), *map(_percent, (first, second, both, agreed)), _number(kappa)]
    return f"| {' | '.join(cells)} |"


def _percent(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "–"
    return f"{estimate.value:.0%} ({estimate.low:.0%}–{estimate.high:.0%})".replace("%", " %")


def _number(estimate: Estimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "–"
    return f"{estimate.value:.2f} ({estimate.low:.2f}–{estimate.high:.2f})"


def findings(judged: Sequence[Judged]) -> str:
    """What else the readers found, a line each, as MODEL_CARD.md has it."""
    foreign = sum(one.is_foreign for one in judged)
    grave = [one for one in judged if one.mood == "grave"]
    not_fluent = _by_reader(judged, lambda one, at: not one.fluent[at])
    jokes = _by_reader(grave, lambda one, at: bool(JOKE.search(one.remarks[at])))
    lines = [
        _openings_answered(judged),
        f"Letters of a foreign script: {foreign} of {len(judged)} candidates.",
        f"Not fluent: {not_fluent} of {len(judged)}.",
        f"A joke, cheer or praise at a death: {jokes} of the {len(grave)} candidates to a death or serious illness.",
        *_goals(judged),
    ]
    return "\n".join(f"- {line}" for line in lines)


def _openings_answered(judged: Sequence[Judged]) -> str:
    openings = {one.number for one in judged}
    first, second = ({one.number for one in judged if one.sensible[at]} for at in (0, 1))
    senseless = [one.number for one in judged if not any(one.sensible)]
    lost = openings - first - second
    return (
        f"Openings with a sensible candidate: {len(first)} (first reader) and {len(second)} (second reader) of "
        f"{len(openings)}. The {len(lost)} without any hold {sum(number in lost for number in senseless)} of the "
        f"{len(senseless)} candidates that neither reader finds sensible."
    )


def _by_reader(judged: Sequence[Judged], is_true: Callable[[Judged, int], bool]) -> str:
    first, second = (sum(is_true(one, at) for one in judged) for at in (0, 1))
    return f"{first} (first reader) and {second} (second reader)"


def _goals(judged: Sequence[Judged]) -> Iterator[str]:
    for code in LANGUAGES:
        of_language = [one for one in judged if one.language == code]
        values = [estimate.value for estimate in share_by_reader(of_language)]
        yield f"Goal of {GOAL:.0%} sensible in {NAMES[code]}: {_verdict(values)}.".replace("%", " %")


def _verdict(values: Iterable[float | None]) -> str:
    return "reached" if all(value is not None and value >= GOAL for value in values) else "**missed**"


def main() -> None:
    """Print the table and the findings."""
    judged = read_judged()
    print(table(judged))
    print()
    print(findings(judged))


if __name__ == "__main__":
    main()
