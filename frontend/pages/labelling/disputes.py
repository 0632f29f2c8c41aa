"""Disputes: dialogues on which annotators still disagree after seeing each other's answers. A trainer decides."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, cast
from uuid import uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.models import User
from annotation.labelling.models.labels import FinalLabel, LabelOrigin, Schema, Submission
from annotation.labelling.schema.paths import answer_at
from annotation.labelling.selectors.dialogue_labels import annotators_of
from annotation.labelling.selectors.disputes import (
    describe_disputes,
    dispute_for,
    disputes_for,
    next_dispute,
    recent_decisions,
    with_answers,
)
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.selectors.settings import labelling_project
from annotation.labelling.selectors.workbench import final_label_history, speakers_in
from annotation.labelling.services.final_answers import answered_paths
from annotation.labelling.services.resolution import decide_dispute, propose_decision
from annotation.labelling.services.shown_labels import record_shown_labels
from annotation.onboarding.models import Thread
from annotation.tasks.models.work import Task, TaskState
from annotation.tasks.services.reasons import MAX_REASON
from common.refusals import NotFound, Refusal
from dialogues.models import Dialogue
from dialogues.selectors import languages_of
from frontend.pages.labelling.disagreement import differences_in_words
from frontend.pages.labelling.question_form import posted_answers, question_form_data
from frontend.pages.requests import posted_uuid, signed_in
from frontend.ui.dialogues import openings_by_dialogue
from frontend.ui.filters import Filter, chosen_filters, filter_choices
from frontend.ui.labels import answer_in_words
from frontend.ui.paging import parse_number
from projects.models import Project
from projects.roles import Capability

PAGE_SIZE = 25
PERIODS = {  # days; below 0: longer ago
    "1": gettext_lazy("In the last 24 hours"),
    "7": gettext_lazy("In the last 7 days"),
    "30": gettext_lazy("In the last 30 days"),
    "-7": gettext_lazy("More than 7 days ago"),
    "-30": gettext_lazy("More than 30 days ago"),
}


@login_required
@never_cache
@require_safe
def disputes(request: HttpRequest, slug: str) -> HttpResponse:
    """The disputes that need a decision, and the latest decisions."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.DECIDE)
    filters = _filters(project)
    chosen = chosen_filters(request.GET, filters)
    page = Paginator(with_answers(_filtered(disputes_for(user, project), chosen)), PAGE_SIZE).get_page(
        parse_number(request.GET.get("page")) or 1
    )
    cases, decided = describe_disputes(list(page.object_list)), recent_decisions(project)
    record_shown_labels(
        person=user, tasks=[case.task.pk for case in cases] + [one.task_id for one in decided]
    )
    schema, language = project.labelling.schema, _language()
    by_key = load_schema(schema).by_key if schema else {}
    context = {
        "project": project,
        "title": _("Disputes"),
        "page": page,
        "filters": filter_choices(filters, chosen),
        "is_filtered": bool(chosen),
        "cases": [(case, differences_in_words(case.differing, by_key, language)) for case in cases],
        "decided": decided,
        "openings": openings_by_dialogue(
            [case.task.dialogue for case in cases if case.task.dialogue]
            + [one.dialogue for one in decided if one.dialogue]
        ),
    }
    return render(request, "labelling/disputes/list.html", context)


def _filters(project: Project) -> list[Filter]:
    """By language if there are several, by annotator, and by the date of the last answers."""
    languages, people = languages_of(project), annotators_of(project)
    filters = [Filter("language", gettext_lazy("Language"), gettext_lazy("Every language"), languages)]
    by_person = Filter("annotator", gettext_lazy("Annotator"), gettext_lazy("Every annotator"), people)
    by_date = Filter(
        "since", gettext_lazy("Last answers"), gettext_lazy("At any time"), list(PERIODS.items())
    )
    return [*(filters if len(languages) > 1 else []), by_person, by_date]


def _filtered(rows: QuerySet[Any], chosen: Mapping[str, str]) -> QuerySet[Task]:
    """rows: annotated with `since`."""
    if language := chosen.get("language"):
        rows = rows.filter(dialogue__language=language)
    if annotator := chosen.get("annotator"):
        live = Submission.objects.filter(task=OuterRef("pk"), annotator=int(annotator), superseded_at=None)
        rows = rows.filter(Exists(live))
    if since := chosen.get("since"):
        days = int(since)
        edge = timezone.now() - timedelta(days=abs(days))
        rows = rows.filter(since__lt=edge) if days < 0 else rows.filter(since__gte=edge)
    return rows


def _language() -> str:
    return "zh" if (get_language() or "").startswith("zh") else "en"


@login_required
@never_cache
def dispute(request: HttpRequest, slug: str, task_id: int) -> HttpResponse:
    """One dispute with everybody's answers; `?again=1` reopens the form of a decided one."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.DECIDE)
    task = dispute_for(user, project, task_id)
    if task is None:
        raise NotFound(_("There is no such dispute."), _("Go back to the list."))
    record_shown_labels(person=user, tasks=[task.pk])
    if request.method != "POST":
        return _show(request, user, task)
    try:
        decide_dispute(
            trainer=user,
            task_id=task_id,
            decision_id=posted_uuid(request, "id"),
            answers=posted_answers(request),
            reason=request.POST.get("reason", ""),
            replaces=parse_number(request.POST.get("replaces")),
        )
    except Refusal as refusal:
        return _show(request, user, dispute_for(user, project, task_id) or task, refusal)
    messages.success(request, _("Dialogue %(n)d is decided.") % {"n": task.dialogue_id})
    following = next_dispute(user, project, task)
    return redirect("dispute", slug, following.pk) if following else redirect("disputes", slug)


def _show(request: HttpRequest, user: User, task: Task, refusal: Refusal | None = None) -> HttpResponse:
    """refusal: why the decision was not stored; its answers and reason stay on the page."""
    project = task.project
    row = project.labelling.schema
    final = FinalLabel.objects.filter(task=task, superseded_at=None).select_related("decided_by").first()
    is_decided = final is not None and final.origin == LabelOrigin.DECIDED
    if row is None or (task.state != TaskState.DISPUTED and not is_decided):
        messages.info(request, str(refusal) if refusal else _("This dialogue is not disputed."))
        return redirect("disputes", project.slug)
    answered: list[Submission] = task.answered  # type: ignore[attr-defined]  # prefetched
    is_own = any(one.annotator_id == user.pk for one in answered)
    is_reopened = is_decided and (refusal is not None or "again" in request.GET)
    is_open = not is_own and (is_reopened or not is_decided)
    data = _form_data(request, task, row, final, is_open=is_open, keeps_sent=refusal is not None)
    context = {
        "project": project,
        "dialogue": task.dialogue,
        "answered": answered,
        "decision": final,
        "is_own": is_own,
        "is_open": is_open,
        "is_reopened": is_reopened,
        "is_overtaken": refusal is not None and refusal.code == "already_decided",
        "is_older": any(one.schema_id != row.pk for one in answered),
        "data": data,
        "differing": len(data["differences"]),
        "refusal": refusal,
        **_form_and_links(request, user, task),
    }
    return render(
        request, "labelling/disputes/dispute.html", context, status=refusal.status if refusal else 200
    )


def _form_and_links(request: HttpRequest, user: User, task: Task) -> dict[str, Any]:
    """The fields of the form, and what the page links to."""
    return {
        "history": [one for one in final_label_history(task) if one.superseded_at and one.reason],
        "next": next_dispute(user, task.project, task),
        "threads": Thread.objects.filter(dialogue=task.dialogue_id).count(),
        "reason": request.POST.get("reason", ""),
        "longest": MAX_REASON,
        "decision_id": request.POST.get("id") or uuid4(),
    }


def _form_data(
    request: HttpRequest,
    task: Task,
    row: Schema,
    final: FinalLabel | None,
    *,
    is_open: bool,
    keeps_sent: bool,
) -> dict[str, Any]:
    """The initial data of the script. keeps_sent: show the posted answers instead of the agreed ones."""
    speakers, dialogue = speakers_in(task.dialogue_id), cast(Dialogue, task.dialogue)
    answered: list[Submission] = task.answered  # type: ignore[attr-defined]  # prefetched
    given = [one.answers for one in answered]
    proposal = propose_decision(task.project.labelling, load_schema(row), speakers, given)
    answers = posted_answers(request) if keeps_sent else final.answers if final else proposal.answers
    newest = max((one.stored_at.timestamp() for one in answered), default=0)
    data = question_form_data(row, dialogue, answers, is_open=is_open)
    return data | {
        "differences": proposal.undecided,
        "spread": _spread(answered),
        # A later dispute about the same dialogue must not restore this draft.
        "kept": f"dispute-{task.pk}-{final.pk if final else 0}-{newest}",
    }


def _spread(answered: Sequence[Submission]) -> dict[str, list[dict[str, Any]]]:
    """Who answered what, by path of the questions that differ: [{"words", "by", "value"}], most frequent first."""
    rows_by_path = (
        (path, _count_answers(path, answered))
        for path in answered_paths([], [one.answers for one in answered])
    )
    return {path: rows for path, rows in rows_by_path if len(rows) > 1}


def _count_answers(path: str, answered: Sequence[Submission]) -> list[dict[str, Any]]:
    names: dict[str, list[str]] = defaultdict(list)
    answers: dict[str, dict[str, Any]] = {}
    for one in answered:
        value = answer_at(one.answers, path)
        question = load_schema(one.schema).by_key.get(path.rpartition("/")[2])
        words = answer_in_words(question, value) if question else str(value)
        names[repr(value)].append(one.annotator.shown_name)
        answers[repr(value)] = {"words": words, "value": value}
    ordered = sorted(answers, key=lambda key: -len(names[key]))
    return [answers[key] | {"by": ", ".join(names[key])} for key in ordered]


urlpatterns = [
    path("p/<slug:slug>/disputes/", disputes, name="disputes"),
    path("p/<slug:slug>/disputes/<int:task_id>/", dispute, name="dispute"),
]
