"""Statistics of a labelling project: each plot and table answers the question that is its title."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation.labelling.selectors.helpdesk import (
    labelled_dialogues,
    nugget_collection,
    nugget_question,
    scores_by_dialogue,
)
from annotation.labelling.selectors.ratings import RatedQuestion, rated_questions, rating_table
from annotation.labelling.selectors.statistics import LatestStatistics, check_labelling_protocol
from annotation.labelling.services.statistics import current_statistics, start_statistics
from common.refusals import Invalid
from frontend.charts.agreement import PER_QUESTION, WHOLE, WITH_NUGGETS, Told, confusion_answer, names_of
from frontend.charts.answer import Answer, as_file
from frontend.pages import signed_in
from frontend.ui.labels import in_language
from frontend.ui.paging import KeysetPage, keyset_page, number_in
from jobs.models import LIVE_STATES
from jobs.selectors import live_workers
from measures.pairs import confusion_between, confusion_of_pairs
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for

QUEUE = "default"
DIALOGUES_SHOWN = 25
TITLE = 60  # characters


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the address asks for: a question by name, and two raters of it, or None for all pairs."""

    question: str
    one: int | None
    other: int | None

    @property
    def query(self) -> str:
        """Of an address that asks for the same."""
        pair = {"one": self.one, "other": self.other} if self.one else {}
        return "?" + urlencode({"question": self.question, **pair})


def page(request: HttpRequest, project: Project) -> HttpResponse:
    """With `?part=job` only the running job; when it has ended the page is loaded anew."""
    latest = current_statistics(project=project)
    live = latest.job is not None and latest.job.state in LIVE_STATES
    context: dict[str, Any] = {
        "project": project,
        "title": _("Statistics"),
        "latest": latest,
        "job": latest.job if live or not latest.is_current else None,
        "live": live,
        "worker_alive": live_workers(QUEUE).exists(),
        "compute_id": uuid4(),
    }
    if request.GET.get("part") == "job":
        if not live:
            return HttpResponse(headers={"HX-Refresh": "true"})
        return render(request, "labelling/agreement/job.html", context)
    if latest.row:
        context |= _answers(request, project, latest)
    return render(request, "labelling/agreement/agreement.html", context)


def _answers(request: HttpRequest, project: Project, latest: LatestStatistics) -> dict[str, Any]:
    told = _told(project, latest)
    chosen = _chosen(request, told)
    context: dict[str, Any] = {"whole": [answer(told) for answer in WHOLE.values()], "chosen": chosen}
    if chosen.question:
        question = told.question(chosen.question)
        confusion = _confusion(project, told, chosen)
        context |= {
            "questions": _titles(project, told),
            "raters": [(one["id"], told.name(one["id"])) for one in question["people"]],
            "confusion": confusion,
            "heat": heat(confusion) if confusion else [],
            "per_question": [answer(told, question) for answer in PER_QUESTION.values()],
        }
    if told.numbers["uch"]:
        dialogues = keyset_page(labelled_dialogues(project), request.GET.get("before"), DIALOGUES_SHOWN)
        context |= {
            "nuggets": [answer(told) for answer in WITH_NUGGETS.values()],
            "dialogues": dialogues,
            "dialogue_rows": _dialogue_rows(project, told, dialogues),
        }
    return context


def _titles(project: Project, told: Told) -> list[tuple[str, str]]:
    """Every question with its name and its words: a schema's names alone say little."""
    words = {one.name: _in_words(one) for one in rated_questions(project)}
    names = [one["name"] for one in told.numbers["questions"]]
    return [(name, f"{name} · {words[name]}" if name in words else name) for name in names]


def _in_words(asked: RatedQuestion) -> str:
    said = Truncator(in_language(asked.question.text)).chars(TITLE)
    return f"{said} · {in_language(asked.option.text)}" if asked.option else said


def _told(project: Project, latest: LatestStatistics) -> Told:
    numbers = latest.row.numbers if latest.row else {}
    rated = {person["id"] for one in numbers["questions"] for person in one["people"]}
    return Told(project, numbers, names_of(rated | {one["id"] for one in numbers["people"]}))


def _chosen(request: HttpRequest, told: Told) -> Chosen:
    names = [one["name"] for one in told.numbers["questions"]]
    wanted = request.GET.get("question", "")
    name = wanted if wanted in names else (names[0] if names else "")
    raters = {one["id"] for one in told.question(name)["people"]} if name else set()
    one, other = (number_in(request.GET.get(key)) for key in ("one", "other"))
    if one in raters and other in raters and one != other:
        return Chosen(name, one, other)
    return Chosen(name, None, None)


def _confusion(project: Project, told: Told, chosen: Chosen) -> Answer | None:
    """Counted from the answers of today, for any two people, so that not every pair has to be stored."""
    asked = next((one for one in rated_questions(project) if one.name == chosen.question), None)
    if asked is None or not asked.categories:
        return None
    people = None if chosen.one is None or chosen.other is None else [chosen.one, chosen.other]
    table = rating_table(project, asked, people=people)
    ratings = table.ratings
    if people is None:
        counts = confusion_of_pairs(ratings.counts())
    elif set(people) <= set(ratings.raters):
        counts = confusion_between(ratings, people[0], people[1])
    else:
        return None
    return confusion_answer(told, asked, counts.tolist(), people)


def heat(confusion: Answer) -> list[dict[str, Any]]:
    """Rows of cells with their shade, 0 to 9: the share of the row's sum."""
    rows = []
    for name, *counts in confusion.rows:
        numbers = [int(count or 0) for count in counts]
        total = max(1, sum(numbers))
        rows.append({"name": name, "cells": [(n, min(9, 10 * n // total)) for n in numbers]})
    return rows


def _dialogue_rows(project: Project, told: Told, dialogues: KeysetPage[Any]) -> list[dict[str, Any]]:
    keys = sorted(dialogue.pk for dialogue in dialogues.rows)
    if not keys or nugget_question(project) is None:
        return []
    collection = nugget_collection(project, dialogues=keys)
    scored = scores_by_dialogue(
        collection, collection.score(patience=told.numbers["uch"]["L"], alpha=told.numbers["uch"]["alpha"])
    )
    return [{"pk": key, **one} for key, one in zip(keys, scored, strict=True)][::-1]


def download(request: HttpRequest, project: Project, name: str, suffix: str) -> HttpResponse:
    latest = current_statistics(project=project)
    if latest.row is None:
        raise Http404
    told = _told(project, latest)
    chosen = _chosen(request, told)
    answer: Answer | None = None
    if name in WHOLE:
        answer = WHOLE[name](told)
    elif name in WITH_NUGGETS and told.numbers["uch"]:
        answer = WITH_NUGGETS[name](told)
    elif chosen.question and name in PER_QUESTION:
        answer = PER_QUESTION[name](told, told.question(chosen.question))
    elif chosen.question and name == "confusion":
        answer = _confusion(project, told, chosen)
    if answer is None:
        raise Http404
    return as_file(answer, f"{project.slug}-{name}", suffix)


@require_POST
@login_required
def compute(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = project_for(user, slug, Capability.READ_STATISTICS)
    check_labelling_protocol(project)
    try:
        job_id = UUID(request.POST.get("id", ""))
    except ValueError as error:
        raise Invalid(_("The form is incomplete."), _("Reload the page and try again.")) from error
    start_statistics(job_id=job_id, project=project, actor=user)
    return redirect("statistics", slug)


urlpatterns = [path("p/<slug:slug>/statistics/compute/", compute, name="statistics_compute")]
