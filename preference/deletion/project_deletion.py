"""Deletes an archived project with everything in it: rows of all apps, files, models that nobody else uses.

The job belongs to no project, so that it outlives the one that it deletes. It removes rows in an order in which nothing
refers to them any more, a few hundred in a transaction; after a kill it goes on with what is still there.
"""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from django.db import models, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from annotation.authoring.models import AuthoringSettings
from annotation.batch_review.models import Sample, SampleItem
from annotation.labelling.models.gold import GoldDialogue
from annotation.labelling.models.labels import FinalLabel, LabellingSettings, Schema, Submission
from annotation.labelling.models.statistics import LabelStatistics
from annotation.tasks.models.rounds import Batch, Round
from annotation.tasks.models.work import Task
from assessment.collections.models import Collection
from assessment.sessions.models.conversations import Session, Turn
from assessment.sessions.models.participants import Assignment, Participant
from assessment.sessions.models.runs import Run
from assessment.systems.models import System
from common.refusals import Invalid, NotFound, Refusal
from common.sentences import join_sentences
from common.storage.shared_disk import remove_from_disk
from common.storage.shared_files import shared_files, shared_models
from dialogues.models import Dialogue
from dialogues.services.uploads import delete_upload
from generation.models import CandidateRequest, Generator
from jobs.models import LIVE_STATES, Job
from jobs.progress import Progress
from jobs.services import start_job
from preference.data.models.exports import Export
from preference.data.models.snapshots import Snapshot
from preference.data.storage import folder_of, snapshots_root
from preference.evaluation.models import Evaluation
from preference.evaluators.models import MetaEvaluation, Score, ScoringRun
from preference.registry.files import folder_of_all_files, models_root
from preference.registry.models import Promotion, RegisteredModel
from preference.registry.uploads import uploads_of
from preference.runs.models import TrainingRun
from preference.topics.models import TaggingRun
from projects.locking import lock_project
from projects.models import Event, Invitation, Membership, Project, Webhook, WebhookDelivery
from projects.transitions import record

KIND = "delete_project"
ROWS_AT_ONCE = 200
SCRATCH = ("evaluations", "tagging", "scoring", "meta-evaluations")
Rows = models.QuerySet[Any]
# First the people, so that nobody works in a project that is half deleted; each row before what it refers to.
STEPS: tuple[Callable[[int], Rows], ...] = (
    lambda pk: Membership.objects.filter(project=pk),
    lambda pk: Invitation.objects.filter(project=pk),
    lambda pk: MetaEvaluation.objects.filter(project=pk),
    lambda pk: Score.objects.filter(run__project=pk),
    lambda pk: ScoringRun.objects.filter(project=pk),
    lambda pk: TaggingRun.objects.filter(project=pk),
    lambda pk: Evaluation.objects.filter(project=pk),
    lambda pk: Promotion.objects.filter(project=pk),
    lambda pk: AuthoringSettings.objects.filter(project=pk),
    lambda pk: Collection.objects.filter(project=pk),
    lambda pk: Turn.objects.filter(session__assignment__run__project=pk),
    lambda pk: Session.objects.filter(assignment__run__project=pk),
    lambda pk: Assignment.objects.filter(run__project=pk),
    lambda pk: Run.objects.filter(project=pk),
    lambda pk: Participant.objects.filter(project=pk),
    lambda pk: System.objects.filter(project=pk),
    lambda pk: SampleItem.objects.filter(sample__round__project=pk),
    lambda pk: Sample.objects.filter(round__project=pk),
    lambda pk: GoldDialogue.objects.filter(project=pk),
    lambda pk: Submission.objects.filter(project=pk),
    lambda pk: FinalLabel.objects.filter(project=pk),
    lambda pk: Task.objects.filter(project=pk),
    lambda pk: Round.objects.filter(project=pk),
    lambda pk: Batch.objects.filter(project=pk),
    lambda pk: Dialogue.objects.filter(project=pk),
    lambda pk: TrainingRun.objects.filter(project=pk, model=None),
    lambda pk: RegisteredModel.objects.filter(project=pk),
    lambda pk: Generator.objects.filter(project=pk),
    lambda pk: Export.objects.filter(project=pk),
    lambda pk: Snapshot.objects.filter(project=pk),
    lambda pk: LabelStatistics.objects.filter(project=pk),
    lambda pk: LabellingSettings.objects.filter(project=pk),
    lambda pk: Schema.objects.filter(project=pk),
    lambda pk: Job.objects.filter(project=pk),
    lambda pk: WebhookDelivery.objects.filter(webhook__project=pk),
    lambda pk: Webhook.objects.filter(project=pk),
    lambda pk: Event.objects.filter(project=pk),
)
COUNTED = {
    "people": (gettext_lazy("Members"), Membership),
    "dialogues": (gettext_lazy("Dialogues"), Dialogue),
    "labels": (gettext_lazy("Labels"), Submission),
    "exports": (gettext_lazy("Exports"), Export),
    "snapshots": (gettext_lazy("Snapshots"), Snapshot),
    "models": (gettext_lazy("Models"), RegisteredModel),
    "events": (gettext_lazy("Entries of the history"), Event),
}


def count_contents(project: Project) -> dict[str, int]:
    """What goes with the project, by code; a query each."""
    return {
        code: model._default_manager.filter(project=project).count() for code, (_w, model) in COUNTED.items()
    }


def blockers_of(project: Project) -> list[str]:
    """Why the project cannot be deleted yet, in sentences."""
    reasons = [] if project.archived_at else [_("The project is not archived.")]
    if Job.objects.filter(project=project, state__in=LIVE_STATES).exists():
        reasons.append(_("One of its jobs is waiting or running."))
    sharing = _("The project “%(project)s” uses its model “%(model)s”, or has used it.")
    reasons += [
        sharing % {"project": slug, "model": model} for model, slug in sorted(_shared_models(project))
    ]
    reading = _(
        "The study “%(project)s” takes dialogues from this project, or has its conversations rated here."
    )
    reasons += [reading % {"project": slug} for slug in sorted(_studies_of(project))]
    return reasons


def _shared_models(project: Project) -> set[tuple[str, str]]:
    """(model, other project)."""
    own = Generator.objects.filter(project=project)
    trained = RegisteredModel.objects.filter(project=project)
    uses: list[tuple[type[models.Model], str, str]] = [
        (AuthoringSettings, "generator", "project"),
        (AuthoringSettings, "second_generator", "project"),
        (System, "generator", "project"),
        (CandidateRequest, "generator", "dialogue__project"),
        (CandidateRequest, "second_generator", "dialogue__project"),
        (Promotion, "before", "project"),
        (Promotion, "after", "project"),
    ]
    found = {pair for use in uses for pair in _used_elsewhere(*use, own, project)}
    for model, field in (
        (RegisteredModel, "parent"),
        (TrainingRun, "parent"),
        (Evaluation, "model"),
        (ScoringRun, "model"),
        (TaggingRun, "model"),
    ):
        found |= set(_used_elsewhere(model, field, "project", trained, project))
    shared = own.filter(shared_with__isnull=False).values_list("slug", "shared_with__slug")
    return found | set(shared)


def _used_elsewhere(
    model: type[models.Model], field: str, owner: str, own: Rows, project: Project
) -> Iterator[tuple[str, str]]:
    rows = model._default_manager.filter(**{f"{field}__in": own}).exclude(**{owner: project})
    yield from rows.order_by().values_list(f"{field}__slug", f"{owner}__slug").distinct()


def _studies_of(project: Project) -> set[str]:
    collections = Collection.objects.filter(models.Q(target=project) | models.Q(source=project))
    systems = System.objects.filter(corpus=project)
    rows = (
        each.exclude(project=project).values_list("project__slug", flat=True)
        for each in (collections, systems)
    )
    return {slug for slugs in rows for slug in slugs}


@transaction.atomic
def delete_project(*, project: Project, actor: User, request_id: UUID, slug: str) -> Job:
    """Delete an archived project in a job. slug: as the person typed it. The same request_id returns the first job.

    Raises Invalid (slug), Refusal not_deletable with the reasons, id_in_use.
    """
    parameters = {"project": project.pk, "slug": project.slug, "title": project.title}
    if not Job.objects.filter(pk=request_id).exists():
        lock_project(project.pk)
        if slug.strip() != project.slug:
            raise Invalid(
                _("This is not the short name of the project."),
                _("Type “%(slug)s”.") % {"slug": project.slug},
                field="slug",
            )
        if reasons := blockers_of(project):
            raise Refusal(
                "not_deletable", join_sentences(reasons), _("Settle this first, then delete the project.")
            )
        if live := Job.objects.filter(
            kind=KIND, parameters__project=project.pk, state__in=LIVE_STATES
        ).first():
            return live
    return start_job(id=request_id, kind=KIND, project=None, actor=actor, parameters=parameters)


def deletion_for(user: User, job_id: UUID) -> Job:
    """The job of a deletion, for the person who started it and for administrators."""
    job = Job.objects.filter(pk=job_id, kind=KIND).select_related("created_by").first()
    if job is None or not (user.is_superuser or job.created_by_id == user.pk):
        raise NotFound(_("There is no such deletion."), _("Go back to the list of projects."))
    return job


def run_deletion_job(job: Job, progress: Progress) -> dict[str, Any]:
    """Delete the project; safe to run again after a kill. It is not stopped once it has begun."""
    pk = job.parameters["project"]
    project = Project.objects.filter(pk=pk).first()
    if project is None:
        return dict(job.result)
    if job.attempts == 1 and (reasons := blockers_of(project)):
        raise Refusal(
            "not_deletable", join_sentences(reasons), _("Settle this first, then delete the project.")
        )
    counts = job.result or count_contents(project)
    Job.objects.filter(pk=job.pk).update(result=counts)
    progress.start(total=sum(step(pk).count() for step in STEPS), unit="rows")
    done = 0
    for step in STEPS:
        for removed in _empty(step(pk)):
            done += removed
            progress.report(done)
    shared_models().remove(uploads_of(pk), or_refuse=True)
    with transaction.atomic():
        data = {"slug": project.slug, "title": project.title, "counts": counts}
        record(project, kind="project_deleted", project=None, actor=job.created_by, data=data)
        project.delete()
    return counts


def _empty(rows: Rows) -> Iterator[int]:
    """Delete the newest first: a model before the one that it was trained from."""
    size = 1 if rows.model is RegisteredModel else ROWS_AT_ONCE
    while batch := list(
        rows.order_by("-created_at", "-pk")[:size] if _has_time(rows) else rows.order_by("-pk")[:size]
    ):
        for row in batch:
            _remove_files(row)
        with transaction.atomic():
            rows.model._default_manager.filter(pk__in=[row.pk for row in batch]).delete()
            if isinstance(batch[0], RegisteredModel) and batch[0].training_run_id:
                TrainingRun.objects.filter(pk=batch[0].training_run_id).delete()
        yield len(batch)


def _has_time(rows: Rows) -> bool:
    return rows.model in (RegisteredModel, TrainingRun)


def _remove_files(row: models.Model) -> None:
    """The folders and files of a row; they go first, so that a killed worker leaves no file without a row.

    Raises Refusal if an object store is away: the job fails, and goes on when it is started again.
    """
    if isinstance(row, Export):
        shared_files().remove(folder_of(row.pk), or_refuse=True)
    elif isinstance(row, Snapshot):
        # Also where the row names no files: a store that was away when they were removed has them still.
        for name in {str(row.pk), row.path} - {""}:
            shared_files().remove(snapshots_root() / name, or_refuse=True)
    elif isinstance(row, RegisteredModel):
        _remove_model(row.folder)
        _remove_model(folder_of_all_files(row))
    elif isinstance(row, TrainingRun):
        _remove_model(row.folder)
    elif isinstance(row, Evaluation | TaggingRun | ScoringRun | MetaEvaluation):
        for name in SCRATCH:
            remove_from_disk(models_root() / name / str(row.pk))
    elif isinstance(row, Job):
        delete_upload(row.pk)


def _remove_model(folder: str) -> None:
    root, path = models_root(), models_root() / folder
    if folder and path.resolve() != root.resolve() and path.resolve().is_relative_to(root.resolve()):
        shared_models().remove(path, or_refuse=True)
