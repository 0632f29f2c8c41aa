"""Which of two models' candidates people take, counted from the log of ordinary work.

A turn counts when it was sent and not undone and both models wrote candidates of the set that it names: the one its
text came from, or the last one shown. Who wrote read none of this: the candidates were mixed and unmarked.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from django.db.models import F, Func, JSONField, Min

from dialogues.models import Action, CandidateSet, Utterance
from measures.paired_comparison import EXPECTED, NEWER, OLDER, REVISED, SELECTED, SHOWN, Contest, contest
from projects.models import Project

COLUMN = {Action.SELECT: SELECTED, Action.REVISE: REVISED}


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """newer, older: versions; newer is the one that the project showed first later. turns: with candidates of both."""

    newer: str
    older: str
    turns: int
    dialogues: int
    contest: Contest


@dataclass(frozen=True, slots=True)
class _Shown:
    """A turn with candidates of both models. writers: the version of every candidate, in displayed order."""

    dialogue: int
    action: str
    source: int | None
    writers: Sequence[str]


class _Writers(Func):
    """The version of every candidate, without reading the texts out of the database."""

    template = "jsonb_path_query_array(%(expressions)s, '$[*].model_version')"
    output_field = JSONField()


def model_comparisons(project: Project) -> list[ModelComparison]:
    """Every pair of models that was mixed in the project, the one that was mixed last first. Two queries."""
    pairs: dict[tuple[str, str], list[_Shown]] = defaultdict(list)
    for turn, models in _turns(project):
        pairs[models].append(turn)
    first_shown = _first_shown(project, {version for pair in pairs for version in pair})
    ordered = [(_by_age(pair, first_shown), turns) for pair, turns in reversed(pairs.items())]
    merged: dict[tuple[str, str], list[_Shown]] = defaultdict(list)
    for ages, turns in ordered:
        merged[ages] += turns
    return [_compared(older, newer, turns) for (older, newer), turns in merged.items()]


def _turns(project: Project) -> Iterator[tuple[_Shown, tuple[str, str]]]:
    """With the first and the second model of the settings, oldest first."""
    mixed = Utterance.objects.filter(
        turn__assignment__project=project,
        candidate_set__model_version="",
        candidate_set__sampling__has_key="models",
    )
    rows = mixed.order_by("turn__stored_at").values_list(
        "dialogue_id",
        "action",
        "source",
        _Writers(F("candidate_set__candidates")),
        "candidate_set__sampling__models",
    )
    for dialogue, action, source, writers, (first, second) in rows.iterator():
        if set(writers) == {first, second} and first != second:
            yield _Shown(dialogue, action, source, writers), (first, second)


def _first_shown(project: Project, versions: Iterable[str]) -> dict[str, datetime]:
    """When each model first wrote candidates of the project alone; a model that never did is not in it."""
    alone = CandidateSet.objects.filter(dialogue__project=project, model_version__in=list(versions))
    return dict(alone.values_list("model_version").annotate(Min("created_at")).order_by())


def _by_age(pair: tuple[str, str], first_shown: dict[str, datetime]) -> tuple[str, str]:
    """Older, newer. A model that never wrote alone is newer than one that did; of two such the second model is."""
    first, second = (first_shown.get(version) for version in pair)
    swapped = first is None if second is not None else False
    if first is not None and second is not None:
        swapped = first > second
    return (pair[1], pair[0]) if swapped else pair


def _compared(older: str, newer: str, turns: Sequence[_Shown]) -> ModelComparison:
    rows: defaultdict[int, Any] = defaultdict(lambda: np.zeros(EXPECTED + 1))
    for turn in turns:
        row, shown = rows[turn.dialogue], Counter(turn.writers)
        row[NEWER + SHOWN] += shown[newer]
        row[OLDER + SHOWN] += shown[older]
        if turn.source is not None and turn.action in COLUMN:
            side = NEWER if turn.writers[turn.source] == newer else OLDER
            row[side + COLUMN[Action(turn.action)]] += 1
            row[EXPECTED] += shown[newer] / len(turn.writers)
    return ModelComparison(newer, older, len(turns), len(rows), contest(np.stack(list(rows.values()))))
