"""The report of a collection, as Tables 2 to 4 and 6 of Diamante (Lu et al., 2022, §4.2)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Final

import numpy as np

from annotation.labelling.schema.questions import BilingualText
from annotation.tasks.models.work import Task, TaskState
from assessment.collections.models import CollectedDialogue, CollectedState, Collection, CollectionKind
from assessment.collections.selectors.votes import RatedDialogue, Votes, votes_of
from measures.agreement import fleiss_kappa
from measures.bootstrap import clustered_mean
from measures.estimate import Estimate
from measures.paired_systems import SystemComparison, better_on_same_contexts, compare_systems
from measures.reliability import one_sided_p_values
from measures.system_comparison import PairTest

HUMAN: Final = ""  # the name of the human reply among the systems


@dataclass(frozen=True, slots=True)
class SystemRow:
    """One row of the table: the mean of each criterion over the majority votes, with its interval.

    made, missing: dialogues. rated: dialogues with at least one answer.
    """

    system: str
    made: int
    missing: int
    rated: int
    scores: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class HumanBeaten:
    """A context in which a system scores higher than the human reply in a criterion."""

    number: int
    system: str
    criterion: str
    score: float
    human: float
    dialogue: int
    human_dialogue: int


@dataclass(frozen=True, slots=True)
class MissingDialogue:
    number: int
    system: str
    error: str


@dataclass(frozen=True, slots=True)
class Criterion:
    """One criterion. agreement: Fleiss' κ. split: items whose score is the median, because no score has a majority.

    pairwise: one-sided tests of every ordered pair, on the means of dialogues. comparisons: every two systems once.
    """

    name: str
    text: BilingualText
    agreement: Estimate
    split: int
    pairwise: tuple[PairTest, ...]
    comparisons: tuple[SystemComparison, ...]


@dataclass(frozen=True, slots=True)
class CollectionReport:
    """overall_agreement: Fleiss' κ over all criteria together, as the paper gives it.

    planned: dialogues that raters have. rated: those that everybody has rated.
    """

    kind: CollectionKind
    criteria: tuple[Criterion, ...]
    systems: tuple[SystemRow, ...]
    overall_agreement: Estimate
    beaten: tuple[HumanBeaten, ...]
    missing: tuple[MissingDialogue, ...]
    planned: int
    rated: int


def collection_report(collection: Collection) -> CollectionReport:
    """Compute the report from the answers of the raters so far. A bounded number of queries."""
    rows = list(CollectedDialogue.objects.filter(collection=collection).select_related("system"))
    dialogues = {
        row.dialogue_id: RatedDialogue(name_of(row), row.number)
        for row in rows
        if row.dialogue_id is not None
    }
    votes = list(votes_of(collection, sorted(dialogues)))
    is_paired = collection.kind != CollectionKind.HUMAN_BOT
    tasks = Task.objects.filter(dialogue__collected_dialogue__collection=collection)
    states = list(tasks.values_list("state", flat=True))
    return CollectionReport(
        kind=CollectionKind(collection.kind),
        criteria=tuple(_criterion(each, dialogues, is_paired) for each in votes),
        systems=_system_rows(rows, dialogues, votes),
        overall_agreement=_overall_agreement(votes),
        beaten=tuple(beaten for each in votes for beaten in _beaten(each, dialogues)),
        missing=tuple(
            MissingDialogue(row.number, name_of(row), row.error)
            for row in rows
            if row.state == CollectedState.MISSING
        ),
        planned=len(states),
        rated=states.count(TaskState.FINAL),
    )


def name_of(row: CollectedDialogue) -> str:
    """The name of the system, HUMAN for the human reply."""
    return row.system.name if row.system else HUMAN


def _criterion(votes: Votes, dialogues: Mapping[int, RatedDialogue], is_paired: bool) -> Criterion:
    scores = votes.scores_by_system(dialogues)
    return Criterion(
        name=votes.criterion,
        text=votes.text,
        agreement=fleiss_kappa(votes.counts),
        split=votes.split,
        pairwise=_pairwise(scores, is_paired),
        comparisons=compare_systems(scores, is_paired=is_paired),
    )


def _system_rows(
    rows: Sequence[CollectedDialogue], dialogues: Mapping[int, RatedDialogue], votes: Sequence[Votes]
) -> tuple[SystemRow, ...]:
    """Best first, by the mean of all criteria; unrated systems last."""
    found = []
    for name in sorted({name_of(row) for row in rows}):
        own = [row for row in rows if name_of(row) == name]
        scores = {each.criterion: _mean(each, name, dialogues) for each in votes}
        rated = {
            key for each in votes for key in set(each.dialogue.tolist()) if dialogues[key].system == name
        }
        missing = sum(row.state == CollectedState.MISSING for row in own)
        made = sum(row.state == CollectedState.DONE for row in own)
        found.append(SystemRow(name, made, missing, len(rated), scores))
    return tuple(sorted(found, key=_rank, reverse=True))


def _rank(row: SystemRow) -> float:
    values = [score.value for score in row.scores.values() if score.value is not None]
    return sum(values) / len(values) if values else float("-inf")


def _mean(votes: Votes, system: str, dialogues: Mapping[int, RatedDialogue]) -> Estimate:
    """Over the rated items of a system; the interval resamples dialogues."""
    keys = votes.dialogue.tolist()
    mine = np.array([dialogues[key].system == system for key in keys], np.bool_)
    return clustered_mean(votes.value[mine], [key for key in keys if dialogues[key].system == system])


def _overall_agreement(votes: Sequence[Votes]) -> Estimate:
    """Criteria whose scales have as many options as the first one's."""
    if not votes:
        return Estimate(None, None, None, 0)
    width = votes[0].counts.shape[1]
    return fleiss_kappa(np.concatenate([each.counts for each in votes if each.counts.shape[1] == width]))


def _pairwise(scores: Mapping[str, Mapping[int, float]], is_paired: bool) -> tuple[PairTest, ...]:
    """Systems that were given the same contexts are compared context by context, others as two samples."""
    pairs = list(permutations(sorted(scores), 2))
    if is_paired:
        return tuple(
            PairTest(better, worse, better_on_same_contexts(scores[better], scores[worse]))
            for better, worse in pairs
        )
    samples = {name: np.array(list(means.values())) for name, means in scores.items()}
    p_values = one_sided_p_values([(samples[worse], samples[better]) for better, worse in pairs])
    return tuple(PairTest(better, worse, p) for (better, worse), p in zip(pairs, p_values, strict=True))


def _beaten(votes: Votes, dialogues: Mapping[int, RatedDialogue]) -> Iterator[HumanBeaten]:
    """By context and system."""
    means = votes.dialogue_means()
    human = {
        dialogues[key].number: (mean, key) for key, mean in means.items() if dialogues[key].system == HUMAN
    }
    for key, mean in sorted(
        means.items(), key=lambda item: (dialogues[item[0]].number, dialogues[item[0]].system)
    ):
        at = dialogues[key]
        if at.system != HUMAN and at.number in human and mean > human[at.number][0]:
            score, human_key = human[at.number]
            yield HumanBeaten(at.number, at.system, votes.criterion, mean, score, key, human_key)
