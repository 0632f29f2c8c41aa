"""Starting the training of an evaluator, and what its page shows beside those of every training."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from common.refusals import Refusal
from frontend.pages.learning.evaluator_form import FORMS, MODEL_NAMES, EvaluatorForm
from jobs.selectors import live_workers
from preference.child_process import QUEUE
from preference.data.models.snapshots import Snapshot
from preference.registry.models import ModelKind
from preference.runs.files import STATES, read_run_json
from preference.runs.models import TrainingRun
from preference.runs.services.trainings import start_training
from preference.runs.trainers import CLASSIFIERS, kinds_of_project
from projects.models import Project

TITLES = {
    ModelKind.PAIREVAL: gettext_lazy("Train PairEval"),
    ModelKind.ASSESSOR: gettext_lazy("Train an assessor"),
    ModelKind.TOPICS: gettext_lazy("Train a topic model"),
}


def chosen_kind(request: HttpRequest, project: Project) -> ModelKind:
    """The kind in the query, or the usual one of the project."""
    kinds = kinds_of_project(project)
    return next((kind for kind in kinds if kind == request.GET.get("kind")), kinds[0])


def kind_links(project: Project, current: str, page: str = "training_new") -> list[dict[str, Any]]:
    """Links to a page for every kind; [] if there is only one. page: the name of its URL."""
    kinds, url = kinds_of_project(project), reverse(page, args=[project.slug])
    if len(kinds) < 2:
        return []
    return [{"label": kind.label, "url": f"{url}?kind={kind}", "current": kind == current} for kind in kinds]


def evaluator_new(
    request: HttpRequest, user: User, project: Project, kind: ModelKind, snapshot: Snapshot | None
) -> HttpResponse:
    if request.method != "POST":
        form = FORMS[kind](user, project, snapshot=snapshot, model=request.GET.get("model"))
        return _render(request, project, form)
    form = FORMS[kind](user, project, request.POST)
    if not form.is_valid():
        return _render(request, project, form, status=422)
    try:
        run = start_training(run_id=form.cleaned_data["id"], project=project, actor=user, **form.choices())
    except Refusal as refusal:
        form.add_error(None, str(refusal))
        return _render(request, project, form, status=refusal.status)
    return redirect("training_run", project.slug, run.pk)


def _render(request: HttpRequest, project: Project, form: EvaluatorForm, status: int = 200) -> HttpResponse:
    context = {
        "project": project,
        "title": TITLES[form.kind],
        "form": form,
        "kind": form.kind,
        "kinds": kind_links(project, form.kind),
        "snapshots_url": reverse("snapshots", args=[project.slug]),
        "queue": QUEUE,
        "worker_alive": live_workers(QUEUE).exists(),
    }
    return render(request, "learning/training/new_evaluator.html", context, status=status)


def model_states(run: TrainingRun) -> list[dict[str, str]]:
    """Where the training of several models is: name and state of each; [] for a training of one model."""
    if run.kind not in CLASSIFIERS or not run.folder:
        return []
    words = {"waiting": _("waiting"), "training": _("training"), "done": _("done"), "failed": _("failed")}
    states = read_run_json(run, STATES)
    return [
        {"name": str(MODEL_NAMES.get(model, model)), "state": state, "words": words.get(state, state)}
        for model, state in states.items()
    ]
