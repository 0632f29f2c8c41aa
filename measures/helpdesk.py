"""UCH: the utility of a helpdesk dialogue for customer and helpdesk, from its nuggets (DCH paper, section 4)."""

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
"""The side ("customer" or "helpdesk") and the length in characters."""


@dataclass(frozen=True, slots=True)
class Nugget:
    """A run of utterances (first to last) of one side with one label. position: characters from the dialogue's start.

    A side's goal nuggets after its first one are `spare` and gain nothing.
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
    """uc, uh: the utilities of the customer's and the helpdesk's nuggets. uch = (1 - alpha) uc + alpha uh."""

    uc: float
    uh: float
    uch: float
    nuggets: tuple[Nugget, ...]
    spare_goals: int


def dialogue_length(utterances: Sequence[Utterance]) -> int:
    """The number of characters of all utterances, without separators."""
    return sum(length for _, length in utterances)


def default_patience(lengths: Sequence[int]) -> int:
    """L: the length of the longest dialogue of the collection (916 in DCH-1), at least 1."""
    return max([1, *lengths])


def find_nuggets(
    utterances: Sequence[Utterance], labels: Sequence[str], position: Position = "start"
) -> tuple[Nugget, ...]:
    """The nuggets in order: consecutive utterances of one side with the same label other than NAN form one nugget.

    position: "start" counts the characters before the nugget's first character, "end" those up to and including its
    last. CNaN and HNaN of the DialEval data mean NAN. Raises ValueError for unequal lengths, an unknown side, or a
    label that the side does not have.
    """
    runs = _label_runs(
        utterances, [_checked_label(side, label) for (side, _), label in _pair(utterances, labels)]
    )
    offsets = [0]
    for _, length in utterances:
        offsets.append(offsets[-1] + length)
    regular = Counter(side for _, _, side, label in runs if not label.endswith("*"))
    nuggets: list[Nugget] = []
    sides_with_goal: set[str] = set()
    for first, last, side, label in runs:
        goal = label.endswith("*")
        spare = goal and side in sides_with_goal
        if goal:
            sides_with_goal.add(side)
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
    """UCH of one annotator's labels, one per utterance (equations 1 to 4).

    patience: L in characters. Raises ValueError like `find_nuggets`, for a patience that is not positive, and for an
    alpha outside 0 to 1.
    """
    check_alpha(alpha)
    check_patience(patience)
    nuggets = find_nuggets(utterances, labels, position)
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
    """AUCH: the mean of the annotators' UCH; None without annotators."""
    scores = [
        uch(utterances, labels, patience=patience, alpha=alpha, position=position).uch
        for labels in labellings
    ]
    return sum(scores) / len(scores) if scores else None


def consolidate_labels(labellings: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The majority label of each utterance; NAN for a tie. Raises ValueError for unequal lengths."""
    return tuple(
        majority([_canonical_label(label) for label in votes]) or NAN
        for votes in zip(*labellings, strict=True)
    )


def cuch(
    utterances: Sequence[Utterance],
    labellings: Sequence[Sequence[str]],
    *,
    patience: float,
    alpha: float = ALPHA,
    position: Position = "start",
) -> float | None:
    """CUCH: the UCH of the consolidated labels; None without annotators."""
    if not labellings:
        return None
    labels = consolidate_labels(labellings)
    return uch(utterances, labels, patience=patience, alpha=alpha, position=position).uch


def check_alpha(alpha: float) -> None:
    """Raise ValueError unless 0 <= alpha <= 1."""
    if not 0 <= alpha <= 1:
        raise ValueError("The contribution α must lie between 0 and 1.")


def check_patience(patience: float) -> None:
    """Raise ValueError unless L is positive."""
    if not patience > 0:
        raise ValueError("The patience L must be a positive number of characters.")


def _pair(utterances: Sequence[Utterance], labels: Sequence[str]) -> list[tuple[Utterance, str]]:
    if len(utterances) != len(labels):
        raise ValueError(f"{len(labels)} labels do not fit {len(utterances)} utterances.")
    return list(zip(utterances, labels, strict=True))


def _canonical_label(label: str) -> str:
    return NAN if label in ("CNaN", "HNaN") else label


def _checked_label(side: str, label: str) -> str:
    if side not in LABELS:
        raise ValueError(f"{side!r} is not a side: an utterance belongs to the customer or the helpdesk.")
    if _canonical_label(label) not in LABELS[side]:
        raise ValueError(f"{label!r} is not a nugget type of the {side}: {', '.join(LABELS[side])}.")
    return _canonical_label(label)


def _label_runs(utterances: Sequence[Utterance], labels: Sequence[str]) -> list[tuple[int, int, str, str]]:
    """The first and last utterance, side and label of every nugget."""
    runs: list[tuple[int, int, str, str]] = []
    for place, ((side, _), label) in enumerate(zip(utterances, labels, strict=True)):
        if runs and runs[-1][1:] == (place - 1, side, label):
            runs[-1] = (runs[-1][0], place, side, label)
        elif label != NAN:
            runs.append((place, place, side, label))
    return runs
