"""Hands the dialogues of a collection to the raters: blind copies in the labelling project, planned as tasks."""

from collections.abc import Sequence
from random import Random
from typing import Final
from uuid import uuid5

from django.db import transaction
from django.utils import timezone

from annotation.labelling.services.planning import plan_labelling
from assessment.collections.models import CollectedDialogue, CollectedState, Collection, CollectionKind
from dialogues.models import Dialogue, DialogueState, Origin, Utterance, new_external_id
from dialogues.splits import split_for

BATCH: Final = 200
# Raters see two sides. The preset `diamante-evaluation` asks about the utterances of "bot".
USER, SYSTEM = "user", "bot"
# What people wrote on the side of the system before the one reply that is rated.
SYSTEM_BEFORE: Final = "bot (context)"


def hand_over(collection: Collection) -> int:
    """Copy every finished dialogue that raters do not have yet, and plan them. Safe to repeat.

    The copies are created in a random order: raters who see them as they come must not learn a system by its place.
    """
    done = CollectedDialogue.objects.filter(collection=collection, state=CollectedState.DONE, dialogue=None)
    waiting = list(done.order_by("pk").values_list("pk", flat=True))
    Random(collection.seed).shuffle(waiting)
    for start in range(0, len(waiting), BATCH):
        _copy(collection, waiting[start : start + BATCH])
    copies = CollectedDialogue.objects.filter(collection=collection, dialogue__tasks=None)
    keys = list(copies.exclude(dialogue=None).values_list("dialogue_id", flat=True))
    if not keys:
        return 0
    plan_id = uuid5(collection.pk, ",".join(map(str, sorted(keys))))
    return plan_labelling(
        project=collection.target,
        actor=collection.job.created_by,
        plan_id=plan_id,
        dialogue_ids=keys,
    )


@transaction.atomic
def _copy(collection: Collection, keys: Sequence[int]) -> None:
    """Raters see neither the system nor the collection: the copy has no metadata."""
    now = timezone.now()
    locked = CollectedDialogue.objects.select_for_update(of=("self",)).select_related("draft")
    rows = locked.filter(dialogue=None).in_bulk(keys)
    for key in keys:
        if (row := rows.get(key)) is None:
            continue  # another worker, which took the job over, was faster
        utterances = _utterances(collection, row)
        external_id = new_external_id()
        copy = Dialogue.objects.create(
            project=collection.target,
            external_id=external_id,
            origin=Origin.COLLECTED,
            state=DialogueState.FINISHED,
            split=split_for(external_id),
            utterance_count=len(utterances),
            finished_at=now,
        )
        Utterance.objects.bulk_create(
            Utterance(dialogue=copy, position=position, speaker=speaker, text=text)
            for position, (speaker, text) in enumerate(utterances)
        )
        CollectedDialogue.objects.filter(pk=row.pk).update(dialogue=copy)


def _utterances(collection: Collection, row: CollectedDialogue) -> list[tuple[str, str]]:
    """The texts with the speakers that raters see."""
    if row.draft is not None:
        texts = list(row.draft.utterances.order_by("position").values_list("text", flat=True))
    else:  # the human reply
        texts = [text for _speaker, text in row.context]
    return list(zip(_speakers(CollectionKind(collection.kind), len(texts)), texts, strict=True))


def _speakers(kind: CollectionKind, count: int) -> list[str]:
    match kind:
        case CollectionKind.STATIC:
            # Counted from the rated reply.
            context = [(USER, SYSTEM_BEFORE)[(count - position) % 2] for position in range(count - 1)]
            return [*context, SYSTEM]
        case CollectionKind.SELF_CHAT | CollectionKind.HUMAN_BOT:
            # In a self-chat the system plays both sides; one of them is rated, and the opening is not.
            return [(USER, SYSTEM)[position % 2] for position in range(count)]
