"""UCH: what a helpdesk dialogue is worth to customer and helpdesk, by its nuggets (DCH paper, section 4)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from measures.voting import majority

CUSTOMER, HELPDESK = "customer", "helpdesk"
NAN = "NAN"
LABELS = {CUSTOMER: ("CNUG0", "CNUG", "CNUG*", NAN), HELPDESK: ("HNUG", "HNUG*", NAN)}
ALPHA = 0.5

Position = Literal["start", "end"]
Utterance = tuple[str, int]
"""Side ("customer" or "helpdesk") and length in characters."""


@dataclass(frozen=True, slots=True)
class Nugget:
    """Utterances first to last of one side with one label; position in characters from the dialogue's start.

    A side's second and further goal nuggets are `spare` and gain nothing.
    """

    side: str
    label: str
    first: int
    last: int
    position: int
    gain: float
    spare: bool = False


@dataclass(frozen=True, slots=True)
class DialogueUCH:
    """uc, uh: utilities of the customer's and the helpdesk's nuggets; uch = (1 - alpha) uc + alpha uh."""

    uc: float
    uh: float
    uch: float
    nuggets: tuple[Nugget, ...]
    spare_goals: int


def dialogue_length(utterances: Sequence[Utterance]) -> int:
    """Characters of all utterances, without separators."""
    return sum(length for _, length in utterances)


def default_patience(lengths: Sequence[int]) -> int:
    """L: the length of the longest dialogue of the collection (916 in DCH-1), at least 1."""
    return max([1, *lengths])


def nuggets_of(
    utterances: Sequence[Utterance], labels: Sequence[str], position: Position = "start"
) -> tuple[Nugget, ...]:
    """Nuggets in order: consecutive utterances of one side with one label, other than NAN, are one.

    A nugget's position is the number of characters before its first character (start) or up to and with its last
    (end). CNaN and HNaN of the DialEval data mean NAN. Raises ValueError for unequal lengths, an unknown side, or a
    label that the side does not have.
    """
    runs = _runs(utterances, [_checked(side, label) for (side, _), label in _paired(utterances, labels)])
    offsets = [0]
    for _, length in utterances:
        offsets.append(offsets[-1] + length)
    regular = Counter(side for _, _, side, label in runs if not label.endswith("*"))
    nuggets: list[Nugget] = []
    met: set[str] = set()
    for first, last, side, label in runs:
        goal = label.endswith("*")
        spare = goal and side in met
        if goal:
            met.add(side)
        gain = 0.0 if spare else 1.0 + regular[side] if goal else 1.0
        place = offsets[first] if position == "start" else offsets[last + 1]
        nuggets.append(Nugget(side, label, first, last, place, gain, spare))
    return tuple(nuggets)


def decay(position: float, patience: float) -> float:
    """D(pos) = max(0, 1 - pos / L)."""
    return max(0.0, 1 - position / patience)


def uch(
    utterances: Sequence[Utterance],
    labels: Sequence[str],
    *,
    patience: float,
    alpha: float = ALPHA,
    position: Position = "start",
) -> DialogueUCH:
    """UCH of one annotator's labels, one label an utterance (equations 1 to 4).

    Raises ValueError as `nuggets_of`, for a patience that is not positive, and for alpha outside 0 to 1.
    """
    check_alpha(alpha)
    check_patience(patience)
    nuggets = nuggets_of(utterances, labels, position)
    uc, uh = (
        float(
            sum(nugget.gain * decay(nugget.position, patience) for nugget in nuggets if nugget.side == side)
        )
        for side in (CUSTOMER, HELPDESK)
    )
    return DialogueUCH(
        uc, uh, (1 - alpha) * uc + alpha * uh, nuggets, sum(nugget.spare for nugget in nuggets)
    )


def auch(
    utterances: Sequence[Utterance],
    labellings: Sequence[Sequence[str]],
    *,
    patience: float,
    alpha: float = ALPHA,
    position: Position = "start",
) -> float | None:
    """Mean over annotators of each one's UCH; None without annotators."""
    scores = [
        uch(utterances, labels, patience=patience, alpha=alpha, position=position).uch
        for labels in labellings
    ]
    return sum(scores) / len(scores) if scores else None


def consolidated(labellings: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The label that most annotators gave each utterance; a tie is NAN. Raises ValueError for unequal lengths."""
    return tuple(
        majority([_plain(label) for label in votes]) or NAN for votes in zip(*labellings, strict=True)
    )


def cuch(
    utterances: Sequence[Utterance],
    labellings: Sequence[Sequence[str]],
    *,
    patience: float,
    alpha: float = ALPHA,
    position: Position = "start",
) -> float | None:
    """UCH of the consolidated labels; None without annotators."""
    if not labellings:
        return None
    labels = consolidated(labellings)
    return uch(utterances, labels, patience=patience, alpha=alpha, position=position).uch


def check_alpha(alpha: float) -> None:
    """Raises ValueError unless 0 <= alpha <= 1."""
    if not 0 <= alpha <= 1:
        raise ValueError("The contribution α must lie between 0 and 1.")


def check_patience(patience: float) -> None:
    """Raises ValueError unless L is positive."""
    if not patience > 0:
        raise ValueError("The patience L must be a positive number of characters.")


def _paired(utterances: Sequence[Utterance], labels: Sequence[str]) -> list[tuple[Utterance, str]]:
    if len(utterances) != len(labels):
        raise ValueError(f"{len(labels)} labels do not fit {len(utterances)} utterances.")
    return list(zip(utterances, labels, strict=True))


def _plain(label: str) -> str:
    return NAN if label in ("CNaN", "HNaN") else label


def _checked(side: str, label: str) -> str:
    if side not in LABELS:
        raise ValueError(f"{side!r} is no side: an utterance is the customer's or the helpdesk's.")
    if _plain(label) not in LABELS[side]:
        raise ValueError(f"{label!r} is no nugget type of the {side}: {', '.join(LABELS[side])}.")
    return _plain(label)


def _runs(utterances: Sequence[Utterance], labels: Sequence[str]) -> list[tuple[int, int, str, str]]:
    """First and last utterance, side and label of every nugget."""
    runs: list[tuple[int, int, str, str]] = []
    for place, ((side, _), label) in enumerate(zip(utterances, labels, strict=True)):
        if runs and runs[-1][1:] == (place - 1, side, label):
            runs[-1] = (runs[-1][0], place, side, label)
        elif label != NAN:
            runs.append((place, place, side, label))
    return runs
