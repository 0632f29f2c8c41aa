"""Starting evaluations of models; `evaluation.job` carries them out."""

import hashlib
import json
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from common.idempotency import check_repeat
from common.refusals import Invalid
from dialogues.models import Split
from jobs.models import Job, JobState
from jobs.services import start_job
from preference.child_process import QUEUE
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.frozen_dialogues import folder_of_snapshot
from preference.data.selectors.snapshots import held_out_split
from preference.evaluation.models import Evaluation
from preference.registry.files import check_files
from preference.registry.models import RegisteredModel
from preference.registry.reports import check_measured, is_about
from preference.registry.selectors.bases import resolve_base
from projects.models import Project

KIND = "evaluation"
ELSEWHERE = "elsewhere"  # in the parameters of the job of an evaluation that was made elsewhere


def start_evaluation(
    *,
    evaluation_id: UUID,
    project: Project,
    actor: User | None,
    snapshot: Snapshot,
    model: str,
    split: str = "",
    enqueue: bool = True,
) -> Evaluation:
    """Evaluate a model on one split of a snapshot, in the background. The same id again returns the first evaluation.

    model: as in start_training. split empty: what the snapshot holds out. Raises Invalid (snapshot, split), NotFound
    (model), Refusal files_gone, file_gone, not_ready, id_in_use.
    """
    evaluation = Evaluation.objects.select_related("job", "project", "model").filter(pk=evaluation_id).first()
    if evaluation:
        split_sent, model_sent = ({"split": split} if split else {}), ({"model": model} if model else {})
        check_repeat(evaluation, project_id=project.pk, snapshot_id=snapshot.pk, **split_sent)
        check_repeat(evaluation.job.parameters, **model_sent)
        return evaluation
    if snapshot.project_id != project.pk:
        raise Invalid(
            _("The snapshot belongs to another project."), _("Choose one of this project."), field="snapshot"
        )
    folder_of_snapshot(snapshot)
    chosen_split = _resolve_split(snapshot, split)
    base = resolve_base(actor, project, model)
    if base.parent:
        check_files(base.parent)
    return _store_evaluation(
        evaluation_id, project, actor, snapshot, chosen_split, base.parent, base.source, enqueue
    )


def _resolve_split(snapshot: Snapshot, split: str) -> str:
    chosen = split or held_out_split(snapshot)
    if chosen in Split.values:
        return chosen
    message = _("There is no split “%(split)s”.") % {"split": split[:40]}
    if not split:
        message = _("The snapshot “%(name)s” has no held-out dialogues.") % {"name": snapshot.name}
    raise Invalid(
        message, _("Choose among: %(splits)s.") % {"splits": ", ".join(Split.values)}, field="split"
    )


@transaction.atomic
def _store_evaluation(
    evaluation_id: UUID,
    project: Project,
    actor: User | None,
    snapshot: Snapshot,
    split: str,
    model: RegisteredModel | None,
    base: str,
    enqueue: bool,
) -> Evaluation:
    evaluation = Evaluation.objects.filter(pk=evaluation_id).first()
    if evaluation is not None:
        return evaluation
    parameters = {"snapshot": snapshot.name, "model": model.slug if model else base, "split": split}
    job = start_job(
        id=evaluation_id,
        kind=KIND,
        project=project,
        actor=actor,
        parameters=parameters,
        queue=QUEUE,
        enqueue=enqueue,
    )
    row, _created = Evaluation.objects.get_or_create(
        id=evaluation_id,
        defaults={
            "project": project,
            "job": job,
            "model": model,
            "base": "" if model else base,
            "snapshot": snapshot,
            "split": split,
        },
    )
    return row


@transaction.atomic
def evaluate_trained(
    *, model: RegisteredModel, ids: tuple[UUID, UUID], enqueue: bool = True
) -> list[Evaluation]:
    """Evaluate a new model on its snapshot's held-out split, and its starting point unless that was done before.

    ids: of the two evaluations. Safe to repeat. Returns [] if nothing was held out.
    """
    snapshot, actor = model.snapshot, model.created_by
    split = held_out_split(snapshot) if snapshot else ""
    if snapshot is None or not split:
        return []
    evaluations = [_store_evaluation(ids[0], model.project, actor, snapshot, split, model, "", enqueue)]
    before = Evaluation.objects.filter(snapshot=snapshot, split=split, model=model.parent)
    before = before.exclude(job__state__in=(JobState.FAILED, JobState.CANCELLED))
    if model.parent is None:
        before = before.filter(base=model.base)
    if not before.exists():
        evaluations.append(
            _store_evaluation(
                ids[1], model.project, actor, snapshot, split, model.parent, model.base, enqueue
            )
        )
    return evaluations


@transaction.atomic
def store_report(*, model: RegisteredModel, report: dict[str, Any]) -> Evaluation | None:
    """Store a report that came with a model trained elsewhere, if it is about the model's snapshot. Safe to repeat.

    Its job has ended before it began. Raises Refusal wrong_evaluation for a report about other weights.
    """
    check_measured(report, model.version)
    snapshot = model.snapshot
    if snapshot is None or not is_about(report, snapshot):
        return None
    digest = hashlib.sha256(json.dumps(report, sort_keys=True).encode()).hexdigest()
    evaluation_id, now = uuid5(NAMESPACE_OID, f"{model.pk}:{digest}"), timezone.now()
    parameters = {"snapshot": snapshot.name, "model": model.slug, "split": report["split"], ELSEWHERE: True}
    about = {"kind": KIND, "queue": QUEUE, "project": model.project, "created_by": model.created_by}
    times = {"started_at": now, "ended_at": now}
    job, _created = Job.objects.get_or_create(
        id=evaluation_id, defaults={**about, **times, "state": JobState.DONE, "parameters": parameters}
    )
    values = {"project": model.project, "job": job, "model": model, "snapshot": snapshot}
    row, _created = Evaluation.objects.get_or_create(
        id=evaluation_id, defaults={**values, "split": report["split"], "report": report}
    )
    return row
