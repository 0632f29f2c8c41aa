"""Random replies of other dialogues, for the formats that pair a reply with one.

Before the first row is written, every language of every split gets a pool: the replies with the smallest hash of seed,
epoch and place. Memory is limited, the same seed and epoch give the same draws, a snapshot draws the same as its
project, and neither splits nor languages mix: telling languages apart would teach nothing about replies.
"""

import hashlib
import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from random import Random
from typing import Any, NamedTuple

from django.db.models import Case, F, TextField, Value, When, Window
from django.db.models.functions import MD5, Cast, Concat, RowNumber

from dialogues.models import Utterance
from preference.data.models.exports import LeadingTurns
from preference.data.selectors.selection import Selection, default_language
from preference.training.common.languages import CHINESE_CHARACTER, guess_language

POOL_SIZE = 10_000  # replies per split and language: a few megabytes
SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class DrawSettings:
    """How rows are made: seed and epoch of random draws.

    random: whether preference, reward and kto also reject a random reply in every turn. leading_assistant: one of
    LeadingTurns, in the formats of TRL.
    """

    seed: int = 0
    epoch: int = 0
    random: bool = True
    leading_assistant: str = LeadingTurns.KEEP.value

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "DrawSettings":
        return cls(**stored)

    def as_json(self) -> dict[str, Any]:
        """Without `leading_assistant` where it is not chosen."""
        stored = asdict(self)
        if self.leading_assistant == LeadingTurns.KEEP:
            del stored["leading_assistant"]
        return stored

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


class PoolGroup(NamedTuple):
    """What a random reply shares with the reply that it stands against."""

    split: str
    language: str


@dataclass(frozen=True, slots=True)
class ReplyPool:
    """The pool of every split and language, sorted by hash.

    default_language: of dialogues that name none; "" looks at the characters of each reply.
    """

    by_group: Mapping[PoolGroup, Sequence[PoolReply]] = field(default_factory=dict)
    default_language: str = ""

    def other(self, group: PoolGroup, dialogue_id: str, not_: set[str], generator: Random) -> str | None:
        """A reply of another dialogue of the group that is not in `not_` (after normalize_spaces); None if all are."""
        sample = self.by_group.get(group, ())
        start = generator.randrange(len(sample)) if sample else 0
        for offset in range(len(sample)):
            reply = sample[(start + offset) % len(sample)]
            if reply.dialogue_id != dialogue_id and normalize_spaces(reply.text) not in not_:
                return reply.text
        return None

    def language_of(self, named: str, text: str) -> str:
        """named: the language that the dialogue names, or "". text: of the reply."""
        return named or self.default_language or guess_language([text])


def reply_pool_of_project(selection: Selection, draws: DrawSettings) -> ReplyPool:
    """From a project; one query per split."""
    default = default_language(selection.project)
    by_group: dict[PoolGroup, list[PoolReply]] = defaultdict(list)
    for split in selection.filters.splits:
        for language, *reply in _sample(selection, split, draws, default):
            by_group[PoolGroup(split, language)].append(PoolReply(*reply))
    return ReplyPool(dict(by_group), default)


def _sample(selection: Selection, split: str, draws: DrawSettings, default: str) -> Iterable[tuple[str, ...]]:
    """(language, order, dialogue, text) of the pools of a split, by order."""
    position = Cast("position", TextField())
    name = Concat(
        Value(draws.key()), F("dialogue__external_id"), Value("/"), position, output_field=TextField()
    )
    dialogues = selection.dialogues().filter(split=split).order_by()
    replies = Utterance.objects.filter(dialogue__in=dialogues, position__gt=0).exclude(speaker__iexact=SYSTEM)
    ranked = replies.annotate(order=MD5(name), language=_language(default)).annotate(
        rank=Window(RowNumber(), partition_by="language", order_by="order")
    )
    kept = ranked.filter(rank__lte=POOL_SIZE).order_by("order")
    return kept.values_list("language", "order", "dialogue__external_id", "text")


def _language(default: str) -> Case:
    """ReplyPool.language_of in SQL."""
    guessed = Case(When(text__regex=CHINESE_CHARACTER, then=Value("zh")), default=Value(""))
    unnamed = Value(default) if default else guessed
    return Case(
        When(dialogue__language="", then=unnamed), default=F("dialogue__language"), output_field=TextField()
    )


def reply_pool_of_rows(
    rows: Iterable[Mapping[str, Any]], splits: Sequence[str], draws: DrawSettings
) -> ReplyPool:
    """From rows of the format `diamante`, in one pass."""
    heaps: dict[PoolGroup, list[tuple[int, PoolReply]]] = defaultdict(list)
    for group, reply in _pool_replies(rows, draws):
        if group.split in splits:
            _keep(heaps[group], reply)
    return ReplyPool(
        {group: sorted((reply for _order, reply in heap), key=_by_order) for group, heap in heaps.items()}
    )


def _pool_replies(
    rows: Iterable[Mapping[str, Any]], draws: DrawSettings
) -> Iterator[tuple[PoolGroup, PoolReply]]:
    pool = ReplyPool()
    for row in rows:
        for position, utterance in enumerate(row["conversation"]):
            if position and utterance["speaker"].lower() != SYSTEM:
                order = hashlib.md5(
                    f"{draws.key()}{row['dialogue_id']}/{position}".encode(), usedforsecurity=False
                )
                text = utterance["utterance"]
                language = pool.language_of(row.get("language") or "", text)
                yield (
                    PoolGroup(row["split"], language),
                    PoolReply(order.hexdigest(), row["dialogue_id"], text),
                )


def _keep(heap: list[tuple[int, PoolReply]], reply: PoolReply) -> None:
    """Keep the smallest POOL_SIZE, in a heap with the largest on top."""
    entry = (-int(reply.order, 16), reply)
    if len(heap) < POOL_SIZE:
        heapq.heappush(heap, entry)
    elif entry > heap[0]:
        heapq.heapreplace(heap, entry)


def _by_order(reply: PoolReply) -> str:
    return reply.order
