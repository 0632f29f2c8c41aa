"""The report of a collection, as Tables 2 to 4 and 6 of Diamante (Lu et al., 2022, §4.2)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Final

import numpy as np

from annotation.labelling.schema.questions import Kind, Scope
from annotation.labelling.selectors.ratings import RatingTable, rated_questions, rating_table
from assessment.collections.models import CollectedDialogue, CollectedState, Collection, CollectionKind
from dialogues.models import Utterance
from measures.agreement import fleiss_kappa
from measures.bootstrap import Floats, Ints, clustered_mean
from measures.estimate import Estimate
from measures.paired_systems import better_on_same_contexts
from measures.reliability import one_sided_p_values
from measures.system_comparison import PairTest
from measures.voting import majority_codes

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
class CollectionReport:
    """agreement: Fleiss' κ by criterion. overall_agreement: over all criteria together, as the paper gives it.

    pairwise: one-sided tests by criterion, on the means of dialogues.
    """

    criteria: tuple[str, ...]
    systems: tuple[SystemRow, ...]
    agreement: Mapping[str, Estimate]
    overall_agreement: Estimate
    pairwise: Mapping[str, tuple[PairTest, ...]]
    beaten: tuple[HumanBeaten, ...]
    missing: tuple[MissingDialogue, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a rated dialogue belongs."""

    system: str
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class _Votes:
    """The majority votes of one criterion.

    dialogue, value: shape (items,). counts: how many raters chose each option, shape (items, options).
    """

    criterion: str
    dialogue: Ints
    value: Floats
    counts: Ints

    def dialogue_means(self) -> dict[int, float]:
        keys, index = np.unique(self.dialogue, return_inverse=True)
        sums, sizes = np.bincount(index, weights=self.value), np.bincount(index)
        return dict(zip(keys.tolist(), (sums / sizes).tolist(), strict=True))


def collection_report(collection: Collection) -> CollectionReport:
    """Compute the report from the answers of the raters so far. A bounded number of queries."""
    rows = list(CollectedDialogue.objects.filter(collection=collection).select_related("system"))
    places = {row.dialogue_id: _Place(_name(row), row.number) for row in rows if row.dialogue_id is not None}
    votes = list(_votes(collection, sorted(places)))
    is_paired = collection.kind != CollectionKind.HUMAN_BOT
    return CollectionReport(
        criteria=tuple(each.criterion for each in votes),
        systems=_system_rows(rows, places, votes),
        agreement={each.criterion: fleiss_kappa(each.counts) for each in votes},
        overall_agreement=_overall_agreement(votes),
        pairwise={each.criterion: _pairwise(each, places, is_paired) for each in votes},
        beaten=tuple(beaten for each in votes for beaten in _beaten(each, places)),
        missing=tuple(
            MissingDialogue(row.number, _name(row), row.error)
            for row in rows
            if row.state == CollectedState.MISSING
        ),
    )


def _name(row: CollectedDialogue) -> str:
    return row.system.name if row.system else HUMAN


def _votes(collection: Collection, dialogues: Sequence[int]) -> Iterator[_Votes]:
    """One entry for each scale of the target's schema, in its order."""
    if not dialogues:
        return
    for rated in rated_questions(collection.target):
        if rated.question.kind is Kind.SCALE:
            table = rating_table(collection.target, rated, dialogues)
            yield _majority_votes(table, dialogues)


def _majority_votes(table: RatingTable, dialogues: Sequence[int]) -> _Votes:
    """The majority, and the median if there is none (protocols.md, `diamante-evaluation`)."""
    ratings = table.merged_ratings()
    counts = ratings.counts()
    codes = majority_codes(counts, fallback="median")
    values = np.array([float(value) for value in ratings.categories])
    items = np.array(ratings.items, np.int64)
    if table.rated.question.scope is Scope.UTTERANCE:
        rows = Utterance.objects.filter(dialogue__in=dialogues).values_list("pk", "dialogue_id")
        owner = dict(rows)
        items = np.array([owner[item] for item in items.tolist()], np.int64)
    return _Votes(table.rated.name, items, values[codes], counts)


def _system_rows(
    rows: Sequence[CollectedDialogue], places: Mapping[int, _Place], votes: Sequence[_Votes]
) -> tuple[SystemRow, ...]:
    """Best first, by the mean of all criteria; unrated systems last."""
    found = []
    for name in sorted({_name(row) for row in rows}):
        own = [row for row in rows if _name(row) == name]
        scores = {each.criterion: _mean(each, name, places) for each in votes}
        rated = {key for each in votes for key in set(each.dialogue.tolist()) if places[key].system == name}
        missing = sum(row.state == CollectedState.MISSING for row in own)
        made = sum(row.state == CollectedState.DONE for row in own)
        found.append(SystemRow(name, made, missing, len(rated), scores))
    return tuple(sorted(found, key=_rank, reverse=True))


def _rank(row: SystemRow) -> float:
    values = [score.value for score in row.scores.values() if score.value is not None]
    return sum(values) / len(values) if values else float("-inf")


def _mean(votes: _Votes, system: str, places: Mapping[int, _Place]) -> Estimate:
    """Over the rated items of a system; the interval resamples dialogues."""
    keys = votes.dialogue.tolist()
    mine = np.array([places[key].system == system for key in keys], np.bool_)
    return clustered_mean(votes.value[mine], [key for key in keys if places[key].system == system])


def _overall_agreement(votes: Sequence[_Votes]) -> Estimate:
    """Criteria whose scales have as many options as the first one's."""
    if not votes:
        return Estimate(None, None, None, 0)
    width = votes[0].counts.shape[1]
    return fleiss_kappa(np.concatenate([each.counts for each in votes if each.counts.shape[1] == width]))


def _pairwise(votes: _Votes, places: Mapping[int, _Place], is_paired: bool) -> tuple[PairTest, ...]:
    """Systems that were given the same contexts are compared context by context, others as two samples."""
    by_system: dict[str, dict[int, float]] = {}
    for key, mean in votes.dialogue_means().items():
        by_system.setdefault(places[key].system, {})[places[key].number] = mean
    pairs = list(permutations(sorted(by_system), 2))
    if is_paired:
        return tuple(
            PairTest(better, worse, better_on_same_contexts(by_system[better], by_system[worse]))
            for better, worse in pairs
        )
    samples = {name: np.array(list(means.values())) for name, means in by_system.items()}
    p_values = one_sided_p_values([(samples[worse], samples[better]) for better, worse in pairs])
    return tuple(PairTest(better, worse, p) for (better, worse), p in zip(pairs, p_values, strict=True))


def _beaten(votes: _Votes, places: Mapping[int, _Place]) -> Iterator[HumanBeaten]:
    """By context and system."""
    means = votes.dialogue_means()
    human = {places[key].number: (mean, key) for key, mean in means.items() if places[key].system == HUMAN}
    for key, mean in sorted(means.items(), key=lambda item: (places[item[0]].number, places[item[0]].system)):
        place = places[key]
        if place.system != HUMAN and place.number in human and mean > human[place.number][0]:
            score, human_key = human[place.number]
            yield HumanBeaten(place.number, place.system, votes.criterion, mean, score, key, human_key)
