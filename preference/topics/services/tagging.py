"""Starting runs that tag dialogues, storing their topics, and taking a run back; `topics.job` carries them out."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from common.idempotency import check_repeat
from common.refusals import Invalid, NotAllowed, Refusal
from dialogues.models import TopicSource
from dialogues.services.topics import TopicTag, remove_tags, store_tags
from jobs.models import LIVE_STATES, Job
from jobs.services import start_job
from preference.child_process import QUEUE
from preference.evaluators.catalogue import KINDS, QUESTION, SERVER_KEY, Setting, check_server, parse_settings
from preference.evaluators.models import EvaluatorName
from preference.registry.files import check_files
from preference.registry.models import ModelKind, RegisteredModel
from preference.registry.selectors.bases import resolve_base
from preference.topics.models import Tagger, TaggingRun
from preference.topics.selectors import RELATED, categories_of, taggable_dialogues
from projects.models import Project
from projects.transitions import record

KIND = "tagging"
STORED_AT_ONCE = 2000  # dialogues
MOST_REASONS = 20


def judge_settings() -> list[Setting]:
    """The settings of a judge that tags; the question is always the topic."""
    return [setting for setting in KINDS[EvaluatorName.JUDGE].settings if setting.key != QUESTION]


def start_tagging(
    *,
    run_id: UUID,
    project: Project,
    actor: User | None,
    tagger: str,
    model: str = "",
    settings: Mapping[str, Any] | None = None,
    replaces: bool = False,
    enqueue: bool = True,
) -> TaggingRun:
    """Tag the project's finished dialogues that have no topic, in the background. The same id returns the first run.

    model: name of a registered topic model. settings: of a judge. replaces: also dialogues that a machine tagged.
    Raises Invalid (tagger, model, settings), NotFound (model), NotAllowed (key of a server), Refusal wrong_kind
    (model), nothing_to_tag, files_gone, id_in_use.
    """
    if tagger not in Tagger.values:
        raise Invalid(
            _("There is no tagger “%(name)s”.") % {"name": tagger[:40]},
            _("Choose one of: %(names)s.") % {"names": ", ".join(Tagger.values)},
            field="tagger",
        )
    chosen = _parse_judge(settings or {}) if tagger == Tagger.JUDGE else {}
    request = {"tagger": tagger, "model": model, "settings": chosen, "replaces": replaces}
    run = TaggingRun.objects.select_related(*RELATED).filter(pk=run_id).first()
    if run:
        check_repeat(run, project_id=project.pk)
        check_repeat(run.job.parameters, **request)
        return run
    row = _resolve_model(project, actor, model) if tagger == Tagger.MODEL else None
    if tagger == Tagger.JUDGE:
        _check_judge(actor, chosen, model)
    if not taggable_dialogues(project, replaces=replaces).exists():
        raise Refusal(
            "nothing_to_tag",
            _("Every finished dialogue has a topic already, or there is none yet."),
            _("Import dialogues, or retag those that a machine tagged."),
        )
    with transaction.atomic():  # only now: the checks may wait for an object store
        job = start_job(
            id=run_id,
            kind=KIND,
            project=project,
            actor=actor,
            parameters=request,
            queue=QUEUE,
            enqueue=enqueue,
        )
        return _store_run(job, project, actor, request, row)


def _store_run(
    job: Job,
    project: Project,
    actor: User | None,
    request: Mapping[str, Any],
    model: RegisteredModel | None,
) -> TaggingRun:
    run, _created = TaggingRun.objects.get_or_create(
        id=job.pk,
        defaults={
            "project": project,
            "job": job,
            "tagger": request["tagger"],
            "settings": request["settings"],
            "model": model,
            "categories": [asdict(category) for category in categories_of(project)],
            "replaces": request["replaces"],
            "created_by": actor,
        },
    )
    return run


def _parse_judge(given: Mapping[str, Any]) -> dict[str, int | str]:
    if QUESTION in given:
        raise Invalid(
            _("A judge that tags is asked for the topic, and nothing else."),
            _("Leave the question out."),
            field="settings",
        )
    return parse_settings(EvaluatorName.JUDGE, given)


def _check_judge(actor: User | None, settings: dict[str, int | str], model: str) -> None:
    """A key is sent to whatever address stands beside it, so only administrators pair the two."""
    if model:
        raise Invalid(
            _("A judge uses no trained model."), _("Name its model in the settings."), field="model"
        )
    check_server(settings)
    if settings[SERVER_KEY] and actor is not None and not actor.is_superuser:
        raise NotAllowed(
            _("Only administrators choose which server gets a key."),
            _("Ask an administrator of this installation, or use a server that needs no key."),
        )


def _resolve_model(project: Project, actor: User | None, name: str) -> RegisteredModel:
    if not name:
        raise Invalid(_("Choose a topic model."), _("Train one first, or let a judge tag."), field="model")
    model = resolve_base(actor, project, name, (ModelKind.TOPICS,)).parent
    if model is None or model.kind != ModelKind.TOPICS:
        raise Invalid(
            _("“%(name)s” is not a topic model of this installation.") % {"name": name[:80]},
            _("Train one first, or let a judge tag."),
            field="model",
        )
    check_files(model)
    return model


def finish_tagging(
    *,
    run: TaggingRun,
    rows: Iterable[Mapping[str, Any]],
    description: Mapping[str, Any],
    beat: Callable[[], None] = lambda: None,
) -> None:
    """Store the topics of a run. rows: {"id", "topic", "probability"?, "reason"?}; topic None: no usable answer.

    Safe to repeat: after an interruption it begins again. Topics that people set meanwhile stay. A model may know
    topics that the project does not have; such dialogues get none. beat: called between two transactions.
    """
    remove_tags(job=run.job)
    known = {category["id"] for category in run.categories}
    tagged, reasons = 0, Counter[str]()
    unread = iter(rows)
    while page := list(islice(unread, STORED_AT_ONCE)):
        tags = [
            TopicTag(int(row["id"]), row["topic"], row.get("probability"))
            for row in page
            if row["topic"] in known
        ]
        tagged += store_tags(job=run.job, source=TopicSource(run.tagger), tags=tags, replaces=run.replaces)
        reasons.update(_describe_gap(row) for row in page if row["topic"] not in known)
        beat()
    run.removed = None  # of an attempt before this one
    run.tagged, run.unanswered = tagged, reasons.total()
    run.reasons, run.description = dict(reasons.most_common(MOST_REASONS)), dict(description)
    run.save(update_fields=["tagged", "unanswered", "reasons", "description", "removed"])


def _describe_gap(row: Mapping[str, Any]) -> str:
    if row["topic"] is None:
        return str(row.get("reason", ""))
    return _("The project has no topic “%(topic)s”.") % {"topic": row["topic"]}


@transaction.atomic
def undo_tagging(*, run: TaggingRun, actor: User | None) -> TaggingRun:
    """Remove the topics that the run set and nobody has changed since. Safe to repeat.

    Also of a run that failed while it stored them. Raises Refusal not_finished while it waits or runs.
    """
    stored = (
        TaggingRun.objects.select_for_update(of=("self",)).select_related("job", "project").get(pk=run.pk)
    )
    if stored.removed is not None:
        return stored
    if stored.job.state in LIVE_STATES:
        raise Refusal(
            "not_finished", _("The run is not finished yet."), _("Wait until it is done, or cancel it.")
        )
    stored.removed = remove_tags(job=stored.job)
    stored.save(update_fields=["removed"])
    data = {"removed": stored.removed}
    record(stored, kind="undone", project=stored.project, actor=actor, data=data)
    return stored
