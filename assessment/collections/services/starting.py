"""Starts collections: chooses what systems are given, and creates the job that asks them."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID, uuid4

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from assessment.collections.models import CollectedDialogue, CollectedState, Collection, CollectionKind
from assessment.collections.selectors.contexts import (
    Context,
    draw_contexts,
    draw_openings,
    source_dialogues,
)
from assessment.collections.services.checks import MAX_DIALOGUES, check_plan
from assessment.sessions.models.conversations import Session, SessionState
from assessment.sessions.models.runs import Run
from assessment.systems.models import Connector, System
from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from jobs.models import JobState
from jobs.services import retry_job, start_job
from projects.models import Project

KIND: Final = "collection"
MAX_SEED: Final = 2**31 - 1
ROUNDS: Final = 5  # of a self-chat (Diamante §4.2.2)
DEFAULT_COUNT: Final = {CollectionKind.STATIC: 100, CollectionKind.SELF_CHAT: 50}


@dataclass(frozen=True, slots=True)
class CollectionPlan:
    """What is collected.

    target: the raters' labelling project. source, systems, count: of static and self-chat; count: contexts or openings,
    None for the paper's number. any_split: contexts may come from dialogues outside of the test split. with_human:
    whether the human reply is rated, too (static). rounds: of a self-chat. run: whose rated conversations are collected
    (human-bot). seed: of the choice of contexts; None: drawn here.
    """

    kind: str
    target: Project
    systems: tuple[System, ...] = ()
    source: Project | None = None
    run: Run | None = None
    count: int | None = None
    rounds: int = ROUNDS
    any_split: bool = False
    with_human: bool = True
    seed: int | None = None

    @property
    def number_of_contexts(self) -> int:
        return self.count if self.count is not None else DEFAULT_COUNT[CollectionKind(self.kind)]

    def parameters(self) -> dict[str, Any]:
        """The parameters of the job, also compared when a request is repeated."""
        return {
            "kind": self.kind,
            "target": self.target.slug,
            "systems": sorted({system.name for system in self.systems}),
            "source": self.source.slug if self.source else "",
            "run": self.run.number if self.run else None,
            "count": self.count,
            "rounds": self.rounds,
            "any_split": self.any_split,
            "with_human": self.with_human,
            "seed": self.seed,
        }


@transaction.atomic
def start_collection(
    *, collection_id: UUID, project: Project, actor: User | None, plan: CollectionPlan, enqueue: bool = True
) -> Collection:
    """Collect dialogues for the raters of a labelling project. The same collection_id returns the first collection.

    static: every system answers each context of the source. self_chat: every system continues each opening alone.
    human_bot: the rated conversations of a run.
    Raises Invalid with the field, NotAllowed, Refusal id_in_use, too_large.
    """
    if found := _repeated(collection_id, project, plan):
        return found
    check_plan(
        project, actor, kind=plan.kind, target=plan.target, systems=plan.systems, source=plan.source,
        run=plan.run, count=plan.count, rounds=plan.rounds,
    )  # fmt: skip
    job = start_job(
        id=collection_id,
        kind=KIND,
        project=project,
        actor=actor,
        parameters={**plan.parameters(), "collection": str(collection_id)},  # its page is found by it
        enqueue=enqueue,
    )
    # The same request, sent twice at once, has waited for the job of the first one.
    if found := _repeated(collection_id, project, plan):
        return found
    collection = Collection.objects.create(
        id=collection_id,
        project=project,
        target=plan.target,
        kind=plan.kind,
        source=plan.source,
        run=plan.run,
        rounds=plan.rounds if plan.kind == CollectionKind.SELF_CHAT else 0,
        seed=secrets.randbelow(MAX_SEED) if plan.seed is None else plan.seed,
        job=job,
    )
    CollectedDialogue.objects.bulk_create(_checked(_rows(collection, plan), plan.kind), batch_size=500)
    return collection


def _repeated(collection_id: UUID, project: Project, plan: CollectionPlan) -> Collection | None:
    """The collection that an earlier request with this id has started. Raises Refusal id_in_use if it differs."""
    found = Collection.objects.select_related("job").filter(pk=collection_id).first()
    if found is not None:
        check_repeat(found, project_id=project.pk)
        check_repeat(found.job.parameters, **plan.parameters())
    return found


@transaction.atomic
def retry_collection(*, collection: Collection, actor: User | None, enqueue: bool = True) -> Collection:
    """Make what is missing: after a failure, a cancellation, or where systems failed. Nothing is made twice.

    Raises Refusal `complete` if nothing is missing.
    """
    row = Collection.objects.select_for_update(of=("self",)).select_related("job").get(pk=collection.pk)
    if row.job.state != JobState.DONE:
        row.job = retry_job(job=row.job, actor=actor, enqueue=enqueue)
        return row
    if not CollectedDialogue.objects.filter(collection=row, state=CollectedState.MISSING).exists():
        raise Refusal("complete", _("No dialogue of this collection is missing."))
    # What a job has done stays in the list of jobs, so this is a new one.
    row.job = start_job(
        id=uuid4(),
        kind=KIND,
        project=row.project,
        actor=actor,
        parameters=row.job.parameters,
        enqueue=enqueue,
    )
    row.save(update_fields=["job"])
    return row


def _checked(rows: list[CollectedDialogue], kind: str) -> list[CollectedDialogue]:
    if not rows:
        if kind == CollectionKind.HUMAN_BOT:
            raise Invalid(_("This run has no rated conversation with texts."), field="run")
        raise Invalid(_("The source has no finished dialogue with at least two utterances."), field="source")
    if len(rows) > MAX_DIALOGUES:
        raise Refusal(
            "too_large",
            _("These are %(count)s dialogues; a collection holds at most %(limit)s.")
            % {"count": intcomma(len(rows)), "limit": intcomma(MAX_DIALOGUES)},
            _("Choose fewer contexts or fewer systems."),
        )
    return rows


def _rows(collection: Collection, plan: CollectionPlan) -> list[CollectedDialogue]:
    if plan.source is None:
        return _human_bot_rows(collection)
    dialogues = source_dialogues(plan.source, any_split=plan.any_split)
    if collection.kind == CollectionKind.SELF_CHAT:
        openings = draw_openings(dialogues, plan.number_of_contexts, collection.seed)
        return _system_rows(collection, plan.systems, openings)
    pairs = draw_contexts(dialogues, plan.number_of_contexts, collection.seed)
    human = [
        CollectedDialogue(collection=collection, number=number, context=[*context, ["", reply]])
        for number, (context, reply) in enumerate(pairs, start=1)
    ]
    rows = _system_rows(collection, plan.systems, [context for context, _reply in pairs])
    return [*rows, *human] if plan.with_human else rows


def _system_rows(
    collection: Collection, systems: Sequence[System], contexts: Sequence[Context]
) -> list[CollectedDialogue]:
    return [
        CollectedDialogue(collection=collection, number=number, system=system, context=context)
        for number, context in enumerate(contexts, start=1)
        for system in dict.fromkeys(systems)
    ]


def _human_bot_rows(collection: Collection) -> list[CollectedDialogue]:
    """The rated conversations with ordinary systems; their texts are copied by the job."""
    rated = Session.objects.filter(
        assignment__run=collection.run, state=SessionState.RATED, dialogue__isnull=False
    )
    rated = rated.exclude(system__connector=Connector.DEGRADED).order_by("pk")
    return [
        CollectedDialogue(
            collection=collection, number=number, system_id=system, draft_id=dialogue, context=[]
        )
        for number, (system, dialogue) in enumerate(
            rated.values_list("system_id", "dialogue_id")[: MAX_DIALOGUES + 1], start=1
        )
    ]
