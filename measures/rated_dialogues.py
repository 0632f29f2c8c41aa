"""The table of ratings of a live assessment, one row per conversation, and its standardisation.

Source: Ji et al., Achieving Reliable Human Assessment of Open-Domain Dialogue Systems (2022), section 3.3.
"""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from measures.bootstrap import Floats, Ints

MAXIMUM = 100.0  # of the scale

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RatedDialogue:
    """One conversation as it was rated. scores: 0-100 by statement, not reversed; unrated statements are absent."""

    participant: Hashable
    assignment: Hashable
    system: str
    is_degraded: bool
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class RatedDialogues:
    """Ratings of conversations, 0-100, where higher is better.

    participant, assignment, system: shape (dialogues,); participant and system are indices into participants and
    systems. is_degraded: shape (dialogues,). scores: shape (dialogues, statements), NaN for a missing rating.
    """

    participants: tuple[Hashable, ...]
    systems: tuple[str, ...]
    statements: tuple[str, ...]
    participant: Ints
    assignment: Ints
    system: Ints
    is_degraded: Bools
    scores: Floats

    def of_participants(self, chosen: Collection[Hashable]) -> Bools:
        """Which dialogues belong to these participants, shape (dialogues,)."""
        is_chosen = np.array([name in chosen for name in self.participants], np.bool_)
        return is_chosen[self.participant] if self.participant.size else np.zeros(0, np.bool_)

    @property
    def ordinary_systems(self) -> tuple[str, ...]:
        """The systems that are not degraded, in their order."""
        degraded = set(self.system[self.is_degraded].tolist())
        return tuple(name for place, name in enumerate(self.systems) if place not in degraded)


def rated_dialogues(
    rows: Iterable[RatedDialogue], statements: Sequence[str], is_reversed: Collection[str] = ()
) -> RatedDialogues:
    """Build the table. is_reversed: statements with which agreeing is bad; they count 100 - x.

    Scores of other statements are ignored. Conversations without any score stay, as rows of NaN.
    """
    listed = list(rows)
    participants, assignments, systems = (
        _number(getattr(row, name) for row in listed) for name in ("participant", "assignment", "system")
    )
    scores = np.full((len(listed), len(statements)), np.nan)
    for place, row in enumerate(listed):
        scores[place] = [row.scores.get(statement, np.nan) for statement in statements]
    flipped = np.array([statement in is_reversed for statement in statements], np.bool_)
    scores[:, flipped] = MAXIMUM - scores[:, flipped]
    return RatedDialogues(
        participants=tuple(participants),
        systems=tuple(map(str, systems)),
        statements=tuple(statements),
        participant=np.array([participants[row.participant] for row in listed], np.int64),
        assignment=np.array([assignments[row.assignment] for row in listed], np.int64),
        system=np.array([systems[row.system] for row in listed], np.int64),
        is_degraded=np.array([row.is_degraded for row in listed], np.bool_),
        scores=scores,
    )


def standardise(dialogues: RatedDialogues) -> Floats:
    """Each score minus its participant's mean, divided by their standard deviation (ddof 1; section 3.3).

    Mean and deviation are over all ratings of the participant, every statement and the degraded system included. If an
    assignment holds one system twice, only the last of the two counts for them, as in the released analysis.
    Returns shape (dialogues, statements); NaN for missing ratings and for participants whose ratings do not vary.
    """
    counted = np.where(_is_last_of_system(dialogues)[:, None], dialogues.scores, np.nan)
    is_known, people = np.isfinite(counted), len(dialogues.participants)
    values = np.where(is_known, counted, 0.0)
    n = np.bincount(dialogues.participant, is_known.sum(axis=1), minlength=people)
    means = np.bincount(dialogues.participant, values.sum(axis=1), minlength=people) / np.maximum(n, 1)
    gaps = np.where(is_known, counted - means[dialogues.participant][:, None], 0.0)
    squares = np.bincount(dialogues.participant, (gaps**2).sum(axis=1), minlength=people)
    deviations = np.sqrt(squares / np.maximum(n - 1, 1))
    deviations[~_varies(dialogues.participant, counted, people)] = np.nan
    z: Floats = (dialogues.scores - means[dialogues.participant][:, None]) / deviations[
        dialogues.participant
    ][:, None]
    return z


def dialogue_means(values: Floats) -> Floats:
    """The mean of each dialogue's known values, shape (dialogues,); NaN if it has none."""
    known = np.isfinite(values)
    n = known.sum(axis=1)
    means: Floats = np.where(n > 0, np.where(known, values, 0.0).sum(axis=1) / np.maximum(n, 1), np.nan)
    return means


def _number(names: Iterable[Hashable]) -> dict[Hashable, int]:
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


def _is_last_of_system(dialogues: RatedDialogues) -> Bools:
    """False for a conversation with a system that the same assignment holds again further down."""
    is_last = np.ones(dialogues.system.size, np.bool_)
    keys = dialogues.assignment * (len(dialogues.systems) + 1) + dialogues.system
    _, first_from_the_end = np.unique(keys[::-1], return_index=True)
    is_last[:] = False
    is_last[keys.size - 1 - first_from_the_end] = True
    return is_last


def _varies(participant: Ints, scores: Floats, people: int) -> Bools:
    """Whether a participant's scores differ at all; exact, unlike a standard deviation that is compared with 0."""
    low, high = np.full(people, np.inf), np.full(people, -np.inf)
    np.minimum.at(low, participant, np.where(np.isfinite(scores), scores, np.inf).min(axis=1, initial=np.inf))
    np.maximum.at(
        high, participant, np.where(np.isfinite(scores), scores, -np.inf).max(axis=1, initial=-np.inf)
    )
    varies: Bools = low < high
    return varies
