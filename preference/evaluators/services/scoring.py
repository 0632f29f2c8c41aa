"""Starting scoring runs and storing their scores; `evaluators.job` carries them out."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any
from uuid import UUID

import numpy as np
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.labelling.models.labels import LabellingSettings
from common.idempotency import check_repeat
from common.refusals import Invalid, NotAllowed, Refusal
from dialogues.models import Utterance
from jobs.models import Job
from jobs.services import start_job
from measures.bootstrap import Floats
from preference.child_process import QUEUE
from preference.evaluators.catalogue import (
    KINDS,
    QUESTION,
    SERVER_KEY,
    Needs,
    Settings,
    check_server,
    parse_settings,
)
from preference.evaluators.models import EvaluatorName, Score, ScoringRun
from preference.evaluators.selectors.replies import reply_rows, targets_of
from preference.registry.files import check_files
from preference.registry.selectors.bases import BaseModel, resolve_base, wrong_kind
from preference.training.common.errors import TrainingError
from preference.training.common.judging.questions import questions_of
from projects.models import Project

KIND = "scoring"
STORED_AT_ONCE = 2000  # scores
BINS = 20
MOST_REASONS = 20


def start_scoring(
    *,
    run_id: UUID,
    project: Project,
    actor: User | None,
    evaluator: str,
    target: str = "",
    model: str = "",
    settings: Mapping[str, Any] | None = None,
    enqueue: bool = True,
) -> ScoringRun:
    """Score the project's replies in the background. The same id again returns the first run.

    target: empty for the project's usual one. model: name of a registered model, a folder or a hub id. settings: those
    that differ from the defaults. Raises Invalid (evaluator, target, model, settings), NotFound (model), NotAllowed
    (key of a server), Refusal wrong_kind (model), nothing_to_score, files_gone, id_in_use.
    """
    if evaluator not in EvaluatorName.values:
        raise Invalid(
            _("There is no evaluator “%(name)s”.") % {"name": evaluator[:40]},
            _("Choose one of: %(names)s.") % {"names": ", ".join(EvaluatorName.values)},
            field="evaluator",
        )
    chosen = parse_settings(evaluator, settings or {})
    chosen_target = _resolve_target(project, target)
    request = {"evaluator": evaluator, "target": chosen_target, "model": model, "settings": chosen}
    run = ScoringRun.objects.select_related("job", "project", "model").filter(pk=run_id).first()
    if run:
        check_repeat(run, project_id=project.pk)
        check_repeat(run.job.parameters, **request)
        return run
    base = _resolve_model(project, actor, evaluator, model)
    if KINDS[evaluator].needs == Needs.SERVER:
        _check_judge(project, actor, chosen)
    if next(reply_rows(project, chosen_target), None) is None:
        raise Refusal(
            "nothing_to_score",
            _("The project has no finished dialogue with a reply."),
            _("Import dialogues, or wait until some are finished."),
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
        return _store_run(job, project, actor, request, base)


def _store_run(
    job: Job, project: Project, actor: User | None, request: Mapping[str, Any], base: BaseModel | None
) -> ScoringRun:
    parent = base.parent if base else None
    run, _created = ScoringRun.objects.get_or_create(
        id=job.pk,
        defaults={
            "project": project,
            "job": job,
            "evaluator": request["evaluator"],
            "target": request["target"],
            "settings": request["settings"],
            "model": parent,
            "base": base.source if base and not parent else "",
            "created_by": actor,
        },
    )
    return run


def _resolve_target(project: Project, target: str) -> str:
    offered = targets_of(project)
    if not target:
        return offered[0].value
    if target not in offered:
        raise Invalid(
            _("“%(target)s” cannot be scored in this project.") % {"target": target[:40]},
            _("Choose one of: %(names)s.") % {"names": ", ".join(offered)},
            field="target",
        )
    return target


def _resolve_model(project: Project, actor: User | None, evaluator: str, model: str) -> BaseModel | None:
    """The model that the evaluator computes with; None if it needs none."""
    kind = KINDS[evaluator]
    needs_model = kind.needs == Needs.MODEL
    if needs_model != bool(model):
        message = _("This evaluator needs a model.") if needs_model else _("This evaluator uses no model.")
        raise Invalid(message, _("Name a trained model, or leave the field empty."), field="model")
    if not model:
        return None
    base = resolve_base(actor, project, model, kind.models)
    if base.parent:
        if base.parent.kind not in kind.models:  # the project's own model, whatever its kind
            raise wrong_kind(base.parent)
        check_files(base.parent)
    elif not kind.any_model:
        raise Invalid(
            _("“%(name)s” is not a trained model of this installation.") % {"name": model[:80]},
            _("Train an assessor on final labels first, then name it here."),
            field="model",
        )
    elif "," in base.source:  # it separates the settings of a specification
        raise Invalid(_("The name of the folder contains a comma."), _("Rename the folder."), field="model")
    return base


def _check_judge(project: Project, actor: User | None, settings: Settings) -> None:
    """Raise Invalid for a server or question that cannot be, and NotAllowed for a key that the person may not send.

    A key is sent to whatever address stands beside it, so only administrators pair the two.
    """
    check_server(settings)
    if settings[SERVER_KEY] and actor is not None and not actor.is_superuser:
        raise NotAllowed(
            _("Only administrators choose which server gets a key."),
            _("Ask an administrator of this installation, or use a server that needs no key."),
        )
    question = settings[QUESTION]
    if question and question not in judged_questions(project):
        raise Invalid(
            _("The schema has no question “%(key)s” that a judge can answer.") % {"key": question},
            _("Choose one of: %(names)s.") % {"names": ", ".join(judged_questions(project)) or "–"},
            field="settings",
        )


def judged_questions(project: Project) -> list[str]:
    """Keys of the questions of the project's schema that a judge can answer."""
    settings = LabellingSettings.objects.select_related("schema").filter(project=project).first()
    if settings is None or settings.schema is None:
        return []
    try:
        return [each.key for each in questions_of(settings.schema.content, "en", "schema")]
    except TrainingError:
        return []


@transaction.atomic
def store_scores(*, run: ScoringRun, rows: Iterable[Mapping[str, Any]], description: dict[str, Any]) -> None:
    """Replace the scores of a run. rows: of the evaluator's output, each with its `dialogue`.

    A reply that was deleted since it was written for the evaluator is left out.
    """
    Score.objects.filter(run=run).delete()
    values: list[float] = []
    reasons: Counter[str] = Counter()
    unread = iter(rows)
    while page := list(islice(unread, STORED_AT_ONCE)):
        scores = list(_scores(run, page))
        Score.objects.bulk_create(scores)
        values += [score.value for score in scores if score.value is not None]
        reasons.update(score.reason for score in scores if score.value is None)
    run.scored, run.unscored = len(values), reasons.total()
    run.reasons = dict(reasons.most_common(MOST_REASONS))
    run.summary = summarize(np.array(values)) if values else {}
    run.description = description
    run.save(update_fields=["scored", "unscored", "reasons", "summary", "description"])


def _scores(run: ScoringRun, rows: Iterable[Mapping[str, Any]]) -> Iterator[Score]:
    parsed = [(*_parse_id(row["id"]), row) for row in rows]
    known = set(
        Utterance.objects.filter(id__any_of=list({pk for pk, _place, _row in parsed})).values_list(
            "pk", flat=True
        )
    )
    for utterance, place, row in parsed:
        if utterance in known:
            details = {
                key: value for key, value in row.items() if key not in ("id", "dialogue", "score", "reason")
            }
            yield Score(
                run=run,
                dialogue_id=row["dialogue"],
                utterance_id=utterance,
                place=place,
                value=row["score"],
                reason=row.get("reason", ""),
                details=details,
            )


def _parse_id(name: str) -> tuple[int, int | None]:
    utterance, _slash, place = name.partition("/")
    return int(utterance), int(place) if place else None


def summarize(values: Floats) -> dict[str, Any]:
    """Mean, standard deviation, ends and a histogram of scores. values: shape (scores,), at least one."""
    counts, edges = np.histogram(values, bins=BINS if values.min() < values.max() else 1)
    return {
        "mean": float(values.mean()),
        "sd": float(values.std(ddof=1)) if values.size > 1 else None,
        "low": float(values.min()),
        "high": float(values.max()),
        "histogram": [
            [float(edges[place]), float(edges[place + 1]), int(n)] for place, n in enumerate(counts)
        ],
    }
