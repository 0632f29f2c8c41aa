"""What people disagree on most: for trainers, who explain, decide, and turn such dialogues into gold."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, path, reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.labelling.schema.questions import Question
from annotation.labelling.selectors import disagreement as selectors
from annotation.labelling.selectors.schemas import current_schema, load_schema
from annotation.labelling.selectors.settings import labelling_project
from annotation.tasks.models.work import TaskState
from dialogues.models import Dialogue
from frontend.pages.requests import signed_in
from frontend.ui.dialogues import openings_by_dialogue
from frontend.ui.labels import answer_in_words
from projects.models import Project
from projects.roles import Capability


@login_required
@never_cache
@require_safe
def disagreed(request: HttpRequest, slug: str) -> HttpResponse:
    """The most disagreed dialogues, which questions differ there, and how the answers spread."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.DECIDE)
    row = current_schema(project)
    schema = load_schema(row) if row else None
    chosen = request.GET.get("question", "")
    after = request.GET.get("after", "")
    page = selectors.most_disagreed(project, reader=user, question=chosen, after=after, names=True)
    skipped = selectors.most_skipped(project)
    language = "zh" if (get_language() or "").startswith("zh") else "en"
    by_key = schema.by_key if schema else {}
    shown = [_spelled(project, case, by_key, language) for case in page.cases]
    context = {
        "project": project,
        "title": _("Most disagreed"),
        "cases": shown,
        "after": page.after,
        "chosen": chosen,
        "questions": [(one.key, getattr(one.text, language)) for one in by_key.values() if one.agree],
        "skipped": skipped if not after else [],
        "openings": openings_by_dialogue(
            [case.task.dialogue for case in page.cases if case.task.dialogue]
            + list(Dialogue.objects.filter(pk__in=[one for _task, _n, one in skipped]))
        ),
    }
    return render(request, "labelling/disagreement.html", context)


def _spelled(
    project: Project, case: selectors.DisagreementCase, by_key: Mapping[str, Question], language: str
) -> dict[str, Any]:
    dispute = _dispute_url(project, case.task.pk) if case.task.state == TaskState.DISPUTED else ""
    return {"case": case, "differing": spelled_out(case.differing, by_key, language), "dispute": dispute}


def spelled_out(
    rows: Sequence[selectors.DifferingQuestion], by_key: Mapping[str, Question], language: str
) -> list[dict[str, Any]]:
    """Questions and answers in words. position: counted from 1."""
    differing = []
    for one in rows:
        question = by_key.get(one.question)
        said = [
            (answer_in_words(question, value) if question else str(value), n, ", ".join(names))
            for value, n, names in one.spread
        ]
        differing.append(
            {
                "question": getattr(question.text, language) if question else one.question,
                "position": None if one.position is None else one.position + 1,
                "spread": said,
            }
        )
    return differing


def _dispute_url(project: Project, task_id: int) -> str:
    """Empty for an installation without the page."""
    try:
        return reverse("dispute", args=[project.slug, task_id])
    except NoReverseMatch:
        return ""


urlpatterns = [path("p/<slug:slug>/disagreed/", disagreed, name="disagreement")]
