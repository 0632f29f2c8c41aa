"""The dialogues on which annotators disagree most, for trainers: to explain, to decide, or to make gold."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.labelling.schema.questions import Question
from annotation.labelling.selectors import disagreement as disagreement_selectors
from annotation.labelling.selectors.schemas import current_schema, load_schema
from annotation.labelling.selectors.settings import labelling_project
from annotation.labelling.services.shown_labels import record_shown_labels
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
def disagreement(request: HttpRequest, slug: str) -> HttpResponse:
    """`?question=` shows only disagreement about one question."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.DECIDE)
    row = current_schema(project)
    schema = load_schema(row) if row else None
    chosen = request.GET.get("question", "")
    after = request.GET.get("after", "")
    page = disagreement_selectors.most_disagreed(
        project, reader=user, question=chosen, after=after, names=True
    )
    record_shown_labels(person=user, tasks=[case.task.pk for case in page.cases])
    skipped = disagreement_selectors.most_skipped(project)
    language = "zh" if (get_language() or "").startswith("zh") else "en"
    by_key = schema.by_key if schema else {}
    cases = [_serialize_case(project, case, by_key, language) for case in page.cases]
    context = {
        "project": project,
        "title": _("Most disagreed"),
        "cases": cases,
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


def _serialize_case(
    project: Project,
    case: disagreement_selectors.DisagreementCase,
    by_key: Mapping[str, Question],
    language: str,
) -> dict[str, Any]:
    is_disputed = case.task.state == TaskState.DISPUTED
    dispute = reverse("dispute", args=[project.slug, case.task.pk]) if is_disputed else ""
    return {
        "case": case,
        "differing": differences_in_words(case.differing, by_key, language),
        "dispute": dispute,
    }


def differences_in_words(
    rows: Sequence[disagreement_selectors.DifferingQuestion], by_key: Mapping[str, Question], language: str
) -> list[dict[str, Any]]:
    """Questions and answers in words. Positions count from 1."""
    differing = []
    for one in rows:
        question = by_key.get(one.question)
        answers = [
            (answer_in_words(question, value) if question else str(value), n, ", ".join(names))
            for value, n, names in one.spread
        ]
        differing.append(
            {
                "question": getattr(question.text, language) if question else one.question,
                "position": None if one.position is None else one.position + 1,
                "spread": answers,
            }
        )
    return differing


urlpatterns = [path("p/<slug:slug>/disagreed/", disagreement, name="disagreement")]
