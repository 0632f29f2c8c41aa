"""Starts collections: chooses what systems are given, and creates the job that asks them."""

import secrets
from collections.abc import Iterable, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from assessment.collections.models import CollectedDialogue, Collection, CollectionKind
from assessment.collections.selectors.contexts import Context, draw_contexts, draw_openings
from assessment.sessions.models.conversations import Session, SessionState
from assessment.sessions.models.runs import Run
from assessment.systems.models import Connector, System
from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from jobs.services import start_job
from projects.models import Project, Protocol

KIND: Final = "collection"
MAX_DIALOGUES: Final = 5_000  # of all systems together
ROUNDS: Final = 5  # of a self-chat (Diamante §4.2.2)
MAX_ROUNDS: Final = 50
DEFAULT_COUNT: Final = {CollectionKind.STATIC: 100, CollectionKind.SELF_CHAT: 50}


@transaction.atomic
def start_collection(
    *,
    collection_id: UUID,
    project: Project,
    actor: User | None,
    kind: str,
    target: Project,
    systems: Sequence[System] = (),
    source: Project | None = None,
    run: Run | None = None,
    count: int | None = None,
    rounds: int = ROUNDS,
    enqueue: bool = True,
) -> Collection:
    """Collect dialogues for the raters of `target`. The same collection_id returns the first collection.

    static: `count` contexts of `source`; every system answers each, and the human reply is among them. self_chat:
    `count` openings of `source`, which every system continues alone for `rounds` rounds. human_bot: the rated
    conversations of `run`. Raises Invalid with the field, Refusal id_in_use, too_large.
    """
    request = _request(kind, target, systems, source, run, count, rounds)
    found = Collection.objects.select_related("job").filter(pk=collection_id).first()
    if found is not None:
        check_repeat(found, project_id=project.pk)
        check_repeat(found.job.parameters, **request)
        return found
    _check(project, kind, target, systems, source, run, rounds)
    job = start_job(
        id=collection_id, kind=KIND, project=project, actor=actor, parameters=request, enqueue=enqueue
    )
    collection = Collection.objects.create(
        id=collection_id,
        project=project,
        target=target,
        kind=kind,
        source=source,
        run=run,
        rounds=rounds if kind == CollectionKind.SELF_CHAT else 0,
        seed=secrets.randbelow(2**31),
        job=job,
    )
    rows = list(_rows(collection, systems, count))
    if not rows:
        raise Invalid(_nothing_to_collect(kind), field="run" if run else "source")
    if len(rows) > MAX_DIALOGUES:
        raise Refusal(
            "too_large",
            _("These are %(count)d dialogues; a collection holds at most %(limit)d.")
            % {"count": len(rows), "limit": MAX_DIALOGUES},
            _("Choose fewer contexts or fewer systems."),
        )
    CollectedDialogue.objects.bulk_create(rows, batch_size=500)
    return collection


def _request(
    kind: str,
    target: Project,
    systems: Sequence[System],
    source: Project | None,
    run: Run | None,
    count: int | None,
    rounds: int,
) -> dict[str, Any]:
    """The parameters of the job, also compared when a request is repeated."""
    return {
        "kind": kind,
        "target": target.slug,
        "systems": sorted(system.name for system in systems),
        "source": source.slug if source else "",
        "run": run.number if run else None,
        "count": count,
        "rounds": rounds,
    }


def _check(
    project: Project,
    kind: str,
    target: Project,
    systems: Sequence[System],
    source: Project | None,
    run: Run | None,
    rounds: int,
) -> None:
    if kind not in CollectionKind.values:
        known = ", ".join(CollectionKind.values)
        raise Invalid(
            _("There is no kind of collection “%(kind)s”.") % {"kind": kind[:40]},
            _("Choose one of: %(known)s.") % {"known": known},
            field="kind",
        )
    if target.protocol != Protocol.LABELLING or target.archived_at is not None:
        raise Invalid(
            _("The raters need a labelling project that is not archived."),
            _("Create one with the preset “diamante-evaluation”."),
            field="target",
        )
    if kind == CollectionKind.HUMAN_BOT:
        if run is None or run.project_id != project.pk:
            raise Invalid(_("Choose a run of this project."), field="run")
        return
    if source is None:
        raise Invalid(_("Choose the project whose dialogues give the contexts."), field="source")
    if not systems:
        raise Invalid(_("Choose at least one system."), field="systems")
    if any(system.project_id != project.pk or not _can_reply(system) for system in systems):
        raise Invalid(_("Only systems of this project that still take part can be asked."), field="systems")
    if kind == CollectionKind.SELF_CHAT and not 1 <= rounds <= MAX_ROUNDS:
        raise Invalid(
            _("A self-chat has between 1 and %(limit)d rounds.") % {"limit": MAX_ROUNDS}, field="rounds"
        )


def _can_reply(system: System) -> bool:
    return system.retired_at is None and system.connector != Connector.IMPORTED


def _nothing_to_collect(kind: str) -> str:
    if kind == CollectionKind.HUMAN_BOT:
        return _("This run has no rated conversation with texts.")
    return _("The source has no finished dialogue with at least two utterances.")


def _rows(
    collection: Collection, systems: Sequence[System], count: int | None
) -> Iterable[CollectedDialogue]:
    if collection.kind == CollectionKind.HUMAN_BOT:
        return _human_bot_rows(collection)
    if collection.source is None:
        return []
    wanted = min(count or DEFAULT_COUNT[CollectionKind(collection.kind)], MAX_DIALOGUES)
    if collection.kind == CollectionKind.SELF_CHAT:
        openings = draw_openings(collection.source, wanted, collection.seed)
        return _system_rows(collection, systems, openings)
    pairs = draw_contexts(collection.source, wanted, collection.seed)
    human = (
        CollectedDialogue(collection=collection, number=number, context=[*context, ["", reply]])
        for number, (context, reply) in enumerate(pairs)
    )
    return [*_system_rows(collection, systems, [context for context, _reply in pairs]), *human]


def _system_rows(
    collection: Collection, systems: Sequence[System], contexts: Sequence[Context]
) -> list[CollectedDialogue]:
    return [
        CollectedDialogue(collection=collection, number=number, system=system, context=context)
        for number, context in enumerate(contexts)
        for system in systems
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
            rated.values_list("system_id", "dialogue_id")[: MAX_DIALOGUES + 1]
        )
    ]
