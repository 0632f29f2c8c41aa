"""What the raters of a collection say: one score per rated item, elected from their answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from annotation.labelling.schema.questions import BilingualText, Kind, Scope
from annotation.labelling.selectors.ratings import RatingTable, rated_questions, rating_table
from assessment.collections.models import Collection
from dialogues.models import Utterance
from measures.bootstrap import Floats, Ints
from measures.voting import majority_codes
from projects.models import Project


@dataclass(frozen=True, slots=True)
class RatedDialogue:
    """Where a dialogue of the raters' project belongs. system: HUMAN for the human reply. number: of the context."""

    system: str
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """The elected scores of one criterion.

    dialogue, value: shape (items,); an item is a dialogue or one of its utterances. counts: how many raters chose each
    option, shape (items, options).
    """

    criterion: str
    text: BilingualText
    dialogue: Ints
    value: Floats
    counts: Ints

    @property
    def split(self) -> int:
        """Items without a majority, whose score is the median."""
        if self.counts.size == 0:
            return 0
        most = self.counts.max(axis=1)
        return int(((self.counts == most[:, None]).sum(axis=1) > 1).sum())

    def dialogue_means(self) -> dict[int, float]:
        keys, index = np.unique(self.dialogue, return_inverse=True)
        sums, sizes = np.bincount(index, weights=self.value), np.bincount(index)
        return dict(zip(keys.tolist(), (sums / sizes).tolist(), strict=True))

    def scores_by_system(self, dialogues: Mapping[int, RatedDialogue]) -> dict[str, dict[int, float]]:
        """The mean of each dialogue, by system and number of the context."""
        scores: dict[str, dict[int, float]] = {}
        for key, mean in self.dialogue_means().items():
            scores.setdefault(dialogues[key].system, {})[dialogues[key].number] = mean
        return scores


def asks_for_scores(target: Project) -> bool:
    """Whether raters of the project answer on a scale about replies or whole dialogues."""
    return any(rated.question.kind is Kind.SCALE for rated in rated_questions(target))


def votes_of(collection: Collection, dialogues: Sequence[int]) -> Iterator[Votes]:
    """One entry for each scale of the target's schema, in its order. Two queries for each."""
    if not dialogues:
        return
    for rated in rated_questions(collection.target):
        if rated.question.kind is Kind.SCALE:
            table = rating_table(collection.target, rated, dialogues)
            yield _elect(table, dialogues)


def _elect(table: RatingTable, dialogues: Sequence[int]) -> Votes:
    """The majority, and the median if there is no majority (Diamante §3.2)."""
    ratings = table.merged_ratings()
    counts = ratings.counts()
    codes = majority_codes(counts, fallback="median")
    values = np.array([float(value) for value in ratings.categories])
    items = np.array(ratings.items, np.int64)
    if table.rated.question.scope is Scope.UTTERANCE:
        rows = Utterance.objects.filter(dialogue__in=dialogues).values_list("pk", "dialogue_id")
        owner = dict(rows)
        items = np.array([owner[item] for item in items.tolist()], np.int64)
    return Votes(table.rated.name, table.rated.question.text, items, values[codes], counts)
