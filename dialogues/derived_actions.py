"""The action of an imported turn whose file does not name it, derived from its text and its candidates.

The published Diamante files have the candidates of every turn and no actions. Authoring knows which candidate an
annotator started from (`annotation.authoring.services.provenance`); here only the texts are left:

- select: the text equals a candidate, white space aside;
- revise: the nearest candidate is near, at most half of the longer text away from it (NEAR); it is the source;
- rewrite: anything else.

In the demo log, whose scripted annotators recorded their actions, this finds every action and every source again.
People revise more freely than scripts, so that far revisions count as rewrites.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from dialogues.models import Action

# Levenshtein distance in characters over the length of the longer text.
NEAR = 0.5


@dataclass(frozen=True, slots=True)
class DerivedAction:
    """source: index of the candidate, edit_distance: characters changed from it; None for a rewrite."""

    action: Action
    source: int | None = None
    edit_distance: int | None = None


def derive_action(text: str, candidates: Sequence[str], source: int | None = None) -> DerivedAction:
    """The action of a text among the candidates that were shown.

    source: the candidate that the file names as the one it began from, None: unknown.
    """
    said, shown = _normalize_spaces(text), [_normalize_spaces(candidate) for candidate in candidates]
    if said in shown:
        return DerivedAction(Action.SELECT, shown.index(said), 0)
    place = _nearest(said, shown) if source is None else source
    if place is None:
        return DerivedAction(Action.REWRITE)
    return DerivedAction(Action.REVISE, place, Levenshtein.distance(candidates[place].strip(), text.strip()))


def _nearest(said: str, shown: Sequence[str]) -> int | None:
    """The first of the nearest candidates; None if none is near."""
    distances = [
        (Levenshtein.normalized_distance(said, candidate, score_cutoff=NEAR), place)
        for place, candidate in enumerate(shown)
        if candidate
    ]
    distance, place = min(distances, default=(1.0, 0))
    return place if distance <= NEAR else None


def _normalize_spaces(text: str) -> str:
    return " ".join(text.split())
