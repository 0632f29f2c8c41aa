"""Random replies of other dialogues, for the formats that pair a reply with one.

Before the first row is written, every split gets a pool: the replies with the smallest hash of seed, epoch and place.
Memory is limited, the same seed and epoch give the same draws, a snapshot draws the same as its project, and splits
never mix.
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

POOL_SIZE = 10_000  # replies per split: a few megabytes
SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class DrawSettings:
    """Settings of random draws. random: whether preference, reward and kto also reject a random reply in every turn."""

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
        """The generator of one turn, so that its draws do not depend on other rows."""
        return Random(f"{self.key()}{dialogue_id}/{position}")


def normalize_spaces(text: str) -> str:
    """For comparing replies: white space makes no difference."""
    return " ".join(text.split())


class PoolReply(NamedTuple):
    """A reply of some dialogue. order: its hash, by which the pool is sorted."""

    order: str
    dialogue_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ReplyPool:
    """The pool of every split, sorted by hash."""

    by_split: Mapping[str, Sequence[PoolReply]] = field(default_factory=dict)

    def other(self, split: str, dialogue_id: str, not_: set[str], generator: Random) -> str | None:
        """A reply of another dialogue of the split that is not in `not_` (after normalize_spaces); None if all are."""
        sample = self.by_split.get(split, ())
        start = generator.randrange(len(sample)) if sample else 0
        for offset in range(len(sample)):
            reply = sample[(start + offset) % len(sample)]
            if reply.dialogue_id != dialogue_id and normalize_spaces(reply.text) not in not_:
                return reply.text
        return None


def reply_pool_of_project(selection: Selection, draws: DrawSettings) -> ReplyPool:
    """From a project; one query per split."""
    return ReplyPool({split: _sample(selection, split, draws) for split in selection.filters.splits})


def _sample(selection: Selection, split: str, draws: DrawSettings) -> list[PoolReply]:
    position = Cast("position", TextField())
    name = Concat(
        Value(draws.key()), F("dialogue__external_id"), Value("/"), position, output_field=TextField()
    )
    dialogues = selection.dialogues().filter(split=split).order_by()
    replies = Utterance.objects.filter(dialogue__in=dialogues, position__gt=0).exclude(speaker__iexact=SYSTEM)
    rows = replies.annotate(order=MD5(name)).order_by("order")
    return [PoolReply(*row) for row in rows.values_list("order", "dialogue__external_id", "text")[:POOL_SIZE]]


def reply_pool_of_rows(
    rows: Iterable[Mapping[str, Any]], splits: Sequence[str], draws: DrawSettings
) -> ReplyPool:
    """From rows of the format `diamante`, in one pass."""
    heaps: dict[str, list[tuple[int, PoolReply]]] = {split: [] for split in splits}
    for split, reply in _pool_replies(rows, draws):
        if split in heaps:
            _keep(heaps[split], reply)
    return ReplyPool(
        {split: sorted((reply for _order, reply in heap), key=_by_order) for split, heap in heaps.items()}
    )


def _pool_replies(rows: Iterable[Mapping[str, Any]], draws: DrawSettings) -> Iterator[tuple[str, PoolReply]]:
    for row in rows:
        for position, utterance in enumerate(row["conversation"]):
            if position and utterance["speaker"].lower() != SYSTEM:
                order = hashlib.md5(
                    f"{draws.key()}{row['dialogue_id']}/{position}".encode(), usedforsecurity=False
                )
                yield row["split"], PoolReply(order.hexdigest(), row["dialogue_id"], utterance["utterance"])


def _keep(heap: list[tuple[int, PoolReply]], reply: PoolReply) -> None:
    """Keep the smallest POOL_SIZE, in a heap with the largest on top."""
    entry = (-int(reply.order, 16), reply)
    if len(heap) < POOL_SIZE:
        heapq.heappush(heap, entry)
    elif entry > heap[0]:
        heapq.heapreplace(heap, entry)


def _by_order(reply: PoolReply) -> str:
    return reply.order
