"""Random replies of other dialogues, for the shapes that pair a reply with one.

A sample of every split is drawn before the first row is written: the replies whose hash with seed and epoch is
smallest. So memory is bounded, the same seed and epoch draw the same, a frozen data set draws what its project did,
and a dialogue never meets a reply of another split.
"""

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any, NamedTuple

from django.db.models import F, TextField, Value
from django.db.models.functions import MD5, Cast, Concat

from dialogues.models import Utterance
from preference.data.selectors.selection import Selection

SAMPLE = 10_000  # replies a split: a few megabytes
SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class DrawSettings:
    """What is drawn at random. random: whether preference, reward and kto also reject a random reply in every turn."""

    seed: int = 0
    epoch: int = 0
    random: bool = True

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "DrawSettings":
        return cls(**stored)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def key(self) -> str:
        return f"{self.seed}/{self.epoch}/"

    def generator(self, dialogue_id: str, position: int) -> Random:
        """Of one turn: what is drawn there depends on nothing else that is written."""
        return Random(f"{self.key()}{dialogue_id}/{position}")


def normalize_spaces(text: str) -> str:
    """As replies are compared: white space does not make two of them."""
    return " ".join(text.split())


class PoolReply(NamedTuple):
    """A reply of some dialogue, and its place in the order in which replies are drawn."""

    order: str
    dialogue_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ReplyPool:
    """The sample of every split, in the order in which it is drawn."""

    by_split: Mapping[str, Sequence[PoolReply]] = field(default_factory=dict)

    def other(self, split: str, dialogue_id: str, not_: set[str], generator: Random) -> str | None:
        """A reply of another dialogue of the split, none of these (normalize_spaces); None where there is none."""
        sample = self.by_split.get(split, ())
        start = generator.randrange(len(sample)) if sample else 0
        for place in range(len(sample)):
            found = sample[(start + place) % len(sample)]
            if found.dialogue_id != dialogue_id and normalize_spaces(found.text) not in not_:
                return found.text
        return None


def reply_pool_of_project(selection: Selection, draws: DrawSettings) -> ReplyPool:
    """From a project as it is; one query a split."""
    return ReplyPool({split: _sample(selection, split, draws) for split in selection.filters.splits})


def _sample(selection: Selection, split: str, draws: DrawSettings) -> list[PoolReply]:
    place = Cast("position", TextField())
    name = Concat(Value(draws.key()), F("dialogue__external_id"), Value("/"), place, output_field=TextField())
    dialogues = selection.dialogues().filter(split=split).order_by()
    replies = Utterance.objects.filter(dialogue__in=dialogues, position__gt=0).exclude(speaker__iexact=SYSTEM)
    rows = replies.annotate(order=MD5(name)).order_by("order")
    return [PoolReply(*row) for row in rows.values_list("order", "dialogue__external_id", "text")[:SAMPLE]]


def reply_pool_of_rows(
    rows: Iterable[Mapping[str, Any]], splits: Sequence[str], draws: DrawSettings
) -> ReplyPool:
    """From rows of the shape `diamante`; one pass over them."""
    kept: dict[str, list[tuple[int, PoolReply]]] = {split: [] for split in splits}
    for split, one in _drawables(rows, draws):
        if split in kept:
            _keep(kept[split], one)
    return ReplyPool(
        {split: sorted((one for _order, one in heap), key=_by_order) for split, heap in kept.items()}
    )


def _drawables(rows: Iterable[Mapping[str, Any]], draws: DrawSettings) -> Iterator[tuple[str, PoolReply]]:
    for row in rows:
        for position, said in enumerate(row["conversation"]):
            if position and said["speaker"].lower() != SYSTEM:
                order = hashlib.md5(
                    f"{draws.key()}{row['dialogue_id']}/{position}".encode(), usedforsecurity=False
                )
                yield row["split"], PoolReply(order.hexdigest(), row["dialogue_id"], said["utterance"])


def _keep(heap: list[tuple[int, PoolReply]], one: PoolReply) -> None:
    """The smallest SAMPLE of them, as a heap with the largest on top."""
    entry = (-int(one.order, 16), one)
    if len(heap) < SAMPLE:
        heapq.heappush(heap, entry)
    elif entry > heap[0]:
        heapq.heapreplace(heap, entry)


def _by_order(one: PoolReply) -> str:
    return one.order
