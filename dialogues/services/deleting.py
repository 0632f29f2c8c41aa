"""Deletes one dialogue for good: its text and everything that was made of it. A tombstone stays.

What other rooms keep about dialogues they remove themselves: they add functions here when they are ready.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import models, transaction
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from common.refusals import Invalid, Refusal
from dialogues.external_ids import hash_id
from dialogues.models import CandidateSet, DeletedDialogue, Dialogue, Utterance
from dialogues.services.undoing import LOCKS
from jobs.models import LIVE_STATES, Job
from jobs.services import start_job
from projects.locking import lock_project
from projects.models import Event
from projects.transitions import record

KIND = "delete_dialogue"  # the job that looks through exports and snapshots
MAX_REASON = 5000
# Jobs that read dialogues and write what they read: they would bring back the text of one that is deleted meanwhile.
READERS = ("export", "snapshot", "push", "scoring", "tagging", "meta_evaluation", "collection", "agreement")

Ids = Sequence[int]
# How many rows of a kind go with these dialogues, by code.
COUNTERS: dict[str, Callable[[Ids], int]] = {
    "utterances": lambda ids: Utterance.objects.filter(dialogue__in=ids).count(),
    "candidates": lambda ids: CandidateSet.objects.filter(dialogue__in=ids).count(),
}
# Other dialogues that are copies of these: they go as well.
COPIES: list[Callable[[Ids], Sequence[int]]] = []
# The subjects of events about these dialogues: their reasons and values may quote the text.
SUBJECTS: list[Callable[[Ids], models.QuerySet[Any]]] = [lambda ids: Dialogue.objects.filter(pk__in=ids)]
# What is removed or emptied before the dialogues themselves, in this order and in the same transaction.
BEFORE_DELETE: list[Callable[[Ids], None]] = []
# Warnings on the page, by code: how many things of a kind are affected and stay.
AFFECTED: dict[str, Callable[[Ids], int]] = {}

WORDS: Mapping[str, str | Promise] = {
    "utterances": gettext_lazy("Utterances"),
    "candidates": gettext_lazy("Sets of candidates"),
    "turns": gettext_lazy("Turns and drafts of annotators"),
    "labels": gettext_lazy("Labels with notes, and their earlier revisions"),
    "final_labels": gettext_lazy("Final labels"),
    "reviews": gettext_lazy("Judgements by experts"),
    "threads": gettext_lazy("Threads about it"),
    "gold": gettext_lazy("Gold examples made of it"),
    "scores": gettext_lazy("Scores of evaluators"),
    "conversations": gettext_lazy("Conversations of a study"),
    "copies": gettext_lazy("Copies of it in other projects"),
}


def deletion_preview(dialogue: Dialogue) -> dict[str, Any]:
    """How many rows of each kind go with the dialogue, and what is affected and stays; nothing without rows."""
    ids = _with_copies(dialogue)
    goes = {code: count(ids) for code, count in COUNTERS.items()}
    stays = {code: count(ids) for code, count in AFFECTED.items()}
    goes["copies"] = len(ids) - 1
    return {"goes": {c: n for c, n in goes.items() if n}, "stays": {c: n for c, n in stays.items() if n}}


@transaction.atomic
def delete_dialogue(*, dialogue: Dialogue, actor: User | None, reason: str) -> DeletedDialogue:
    """Delete the dialogue and everything made of it. The same dialogue again returns its tombstone.

    Files of exports and snapshots are dealt with by a job that starts on commit.
    Raises Invalid (reason), Refusal busy while a job reads dialogues.
    """
    lock_project(dialogue.project_id)  # imports wait: they would store it again
    reason = _clean_reason(reason)
    stored = DeletedDialogue.objects.filter(dialogue=dialogue.pk).first()
    if stored is not None:
        return stored
    ids = _with_copies(dialogue)
    _check_idle(ids)
    for lock in LOCKS:
        lock(ids)
    rows = list(Dialogue.objects.select_for_update().filter(pk__in=ids).order_by("pk"))
    counts = deletion_preview(dialogue)["goes"]
    _forget_events(ids)
    for forget in BEFORE_DELETE:
        forget(ids)
    Dialogue.objects.filter(pk__in=ids).delete()
    tombstones = [_bury(row, actor, reason, counts if row.pk == dialogue.pk else {}) for row in rows]
    return next(row for row in tombstones if row.dialogue == dialogue.pk)


def _bury(row: Dialogue, actor: User | None, reason: str, counts: Mapping[str, int]) -> DeletedDialogue:
    tombstone = DeletedDialogue.objects.create(
        project=row.project,
        dialogue=row.pk,
        id_sha256=hash_id(row.external_id),
        reason=reason,
        counts=dict(counts),
        deleted_by=actor,
    )
    tombstone.job = start_job(
        id=uuid4(),
        kind=KIND,
        project=row.project,
        actor=actor,
        parameters={"deleted": tombstone.pk, "dialogue": row.pk},
    )
    tombstone.save(update_fields=["job"])
    record(
        row, kind="dialogue_deleted", project=row.project, actor=actor, reason=reason, data={"counts": counts}
    )
    return tombstone


def _with_copies(dialogue: Dialogue) -> list[int]:
    copies = [pk for find in COPIES for pk in find([dialogue.pk])]
    return sorted({dialogue.pk, *copies})


def _check_idle(ids: Ids) -> None:
    projects = Dialogue.objects.filter(pk__in=ids).values("project")
    job = Job.objects.filter(project__in=projects, kind__in=READERS, state__in=LIVE_STATES).first()
    if job is not None:
        raise Refusal(
            "busy",
            _("A job is reading the dialogues of this project."),
            _("Wait until it is done, or stop it on the page of jobs. Then delete the dialogue."),
            details={"job": str(job.pk), "kind": job.kind},
        )


def _clean_reason(reason: str) -> str:
    reason = reason.replace("\0", "").strip()
    if not reason or len(reason) > MAX_REASON:
        raise Invalid(
            _("Give a reason of at most %(n)s characters.") % {"n": intcomma(MAX_REASON)},
            _("Write who asked for it, or why. Do not repeat what the dialogue says."),
            field="reason",
        )
    return reason


def _forget_events(ids: Ids) -> None:
    """Empty what people wrote into events about the dialogues; who did what, and when, stays."""
    for subjects in SUBJECTS:
        rows = subjects(ids)
        keys = [str(pk) for pk in rows.values_list("pk", flat=True)]
        events = Event.objects.filter(subject_type=rows.model._meta.label_lower, subject_id__in=keys)
        events.update(reason="", data={})
