"""Which of two models' candidates people take, counted from the log of ordinary work.

A turn counts if it was not undone, and if the candidate set that its text came from, or else the last set shown, has
candidates of both models. The candidates are mixed, and annotators do not see which model wrote which.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from django.db.models import F, Func, JSONField, Min

from dialogues.models import Action, CandidateSet, Utterance
from measures.paired_comparison import (
    EXPECTED,
    NEWER,
    OLDER,
    REVISED,
    SELECTED,
    SHOWN,
    PairedComparison,
    compare_candidates,
)
from projects.models import Project

COLUMN = {Action.SELECT: SELECTED, Action.REVISE: REVISED}


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """newer, older: model versions, by when the project first showed each alone. turns: with candidates of both."""

    newer: str
    older: str
    turns: int
    dialogues: int
    paired_comparison: PairedComparison


@dataclass(frozen=True, slots=True)
class _MixedTurn:
    """A turn with candidates of both models. writers: the model version of every candidate, in displayed order."""

    dialogue: int
    action: str
    source: int | None
    writers: Sequence[str]


class _CandidateVersions(Func):
    """The model version of every candidate. Does not fetch the texts."""

    template = "jsonb_path_query_array(%(expressions)s, '$[*].model_version')"
    output_field = JSONField()


def model_comparisons(project: Project) -> list[ModelComparison]:
    """Every pair of models that was mixed in the project, the latest pair first. Two queries."""
    pairs: dict[tuple[str, str], list[_MixedTurn]] = defaultdict(list)
    for turn, models in _mixed_turns(project):
        pairs[models].append(turn)
    first_shown = _first_shown(project, {version for pair in pairs for version in pair})
    merged: dict[tuple[str, str], list[_MixedTurn]] = defaultdict(list)
    for pair, turns in reversed(pairs.items()):
        merged[_older_and_newer(pair, first_shown)] += turns
    return [_compare(older, newer, turns) for (older, newer), turns in merged.items()]


def _mixed_turns(project: Project) -> Iterator[tuple[_MixedTurn, tuple[str, str]]]:
    """Turns with candidates of two models, and (first, second) model of the settings. Oldest first."""
    mixed = Utterance.objects.filter(
        turn__assignment__project=project,
        candidate_set__model_version="",
        candidate_set__sampling__has_key="models",
    )
    rows = mixed.order_by("turn__stored_at").values_list(
        "dialogue_id",
        "action",
        "source",
        _CandidateVersions(F("candidate_set__candidates")),
        "candidate_set__sampling__models",
    )
    for dialogue, action, source, writers, (first, second) in rows.iterator():
        if set(writers) == {first, second} and first != second:
            yield _MixedTurn(dialogue, action, source, writers), (first, second)


def _first_shown(project: Project, versions: Iterable[str]) -> dict[str, datetime]:
    """When each model first wrote a whole candidate set of the project. Leaves out models that never did."""
    alone = CandidateSet.objects.filter(dialogue__project=project, model_version__in=list(versions))
    return dict(alone.values_list("model_version").annotate(Min("created_at")).order_by())


def _older_and_newer(pair: tuple[str, str], first_shown: dict[str, datetime]) -> tuple[str, str]:
    """Sort a pair by age. A model that never wrote alone is newer than one that did; of two such, the second is."""
    first, second = (first_shown.get(version) for version in pair)
    swapped = first is None if second is not None else False
    if first is not None and second is not None:
        swapped = first > second
    return (pair[1], pair[0]) if swapped else pair


def _compare(older: str, newer: str, turns: Sequence[_MixedTurn]) -> ModelComparison:
    rows: defaultdict[int, Any] = defaultdict(lambda: np.zeros(EXPECTED + 1))
    for turn in turns:
        row, shown = rows[turn.dialogue], Counter(turn.writers)
        row[NEWER + SHOWN] += shown[newer]
        row[OLDER + SHOWN] += shown[older]
        if turn.source is not None and turn.action in COLUMN:
            side = NEWER if turn.writers[turn.source] == newer else OLDER
            row[side + COLUMN[Action(turn.action)]] += 1
            row[EXPECTED] += shown[newer] / len(turn.writers)
    return ModelComparison(
        newer, older, len(turns), len(rows), compare_candidates(np.stack(list(rows.values())))
    )
