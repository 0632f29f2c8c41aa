"""Statistics of a labelling project: each plot and table answers the question that is its title."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.models import User
from annotation.labelling.selectors.helpdesk import (
    labelled_dialogues,
    nugget_collection,
    nugget_question,
    scores_by_dialogue,
)
from annotation.labelling.selectors.ratings import rated_questions, rating_table
from annotation.labelling.selectors.statistics import LatestStatistics, check_labelling_protocol
from annotation.labelling.services.statistics import current_statistics, start_statistics
from annotation.tasks.selectors.forecast import forecast_of
from common.refusals import Invalid
from frontend.charts import helpdesk
from frontend.charts.agreement import (
    CHARTS,
    QUESTION_CHARTS,
    StoredStatistics,
    names_by_person,
    tabulate_confusion,
)
from frontend.charts.chart import Chart
from frontend.charts.files import chart_file
from frontend.pages.requests import signed_in
from frontend.ui.paging import KeysetPage, keyset_page, parse_number
from frontend.ui.questions import rated_titles
from jobs.models import LIVE_STATES
from jobs.selectors import live_workers
from measures.pairs import confusion_between, confusion_of_pairs
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for

QUEUE = "default"
DIALOGUES_SHOWN = 25


@dataclass(frozen=True, slots=True)
class ConfusionQuery:
    """What the URL selects: a question by name, and two of its raters, or None for all pairs."""

    question: str
    one: int | None
    other: int | None

    @property
    def query(self) -> str:
        """The query string that selects the same."""
        pair = {"one": self.one, "other": self.other} if self.one else {}
        return "?" + urlencode({"question": self.question, **pair})


def render_page(request: HttpRequest, project: Project) -> HttpResponse:
    """With `?part=job` only the running job, which htmx polls; reloads the page when the job has ended."""
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
    context["forecast"] = forecast_of(project)
    if latest.row:
        context |= _build_charts(request, project, latest)
    return render(request, "labelling/agreement/agreement.html", context)


def _build_charts(request: HttpRequest, project: Project, latest: LatestStatistics) -> dict[str, Any]:
    statistics = _load_statistics(project, latest, titles=rated_titles(project))
    chosen = _chosen(request, statistics)
    context: dict[str, Any] = {"whole": [draw(statistics) for draw in CHARTS.values()], "chosen": chosen}
    if chosen.question:
        question, questions = statistics.question(chosen.question), statistics.numbers["questions"]
        confusion = _confusion(project, statistics, chosen)
        context |= {
            "questions": [(one["name"], statistics.title_of(one["name"])) for one in questions],
            "raters": [(one["id"], statistics.name_of(one["id"])) for one in question["people"]],
            "confusion": confusion,
            "heat": shade_rows(confusion) if confusion else [],
            "per_question": [draw(statistics, question) for draw in QUESTION_CHARTS.values()],
        }
    if statistics.numbers["uch"]:
        dialogues = keyset_page(labelled_dialogues(project), request.GET.get("before"), DIALOGUES_SHOWN)
        context |= {
            "nuggets": [draw(statistics) for draw in helpdesk.CHARTS.values()],
            "dialogues": dialogues,
            "dialogue_rows": _dialogue_rows(project, statistics, dialogues),
        }
    return context


def _load_statistics(
    project: Project, latest: LatestStatistics, *, titles: Mapping[str, str]
) -> StoredStatistics:
    numbers = latest.row.numbers if latest.row else {}
    rated = {person["id"] for one in numbers["questions"] for person in one["people"]}
    names = names_by_person(rated | {one["id"] for one in numbers["people"]})
    return StoredStatistics(project, numbers, names, titles)


def _chosen(request: HttpRequest, statistics: StoredStatistics) -> ConfusionQuery:
    names = [one["name"] for one in statistics.numbers["questions"]]
    wanted = request.GET.get("question", "")
    name = wanted if wanted in names else (names[0] if names else "")
    raters = {one["id"] for one in statistics.question(name)["people"]} if name else set()
    one, other = (parse_number(request.GET.get(key)) for key in ("one", "other"))
    if one in raters and other in raters and one != other:
        return ConfusionQuery(name, one, other)
    return ConfusionQuery(name, None, None)


def _confusion(project: Project, statistics: StoredStatistics, chosen: ConfusionQuery) -> Chart | None:
    """Counted from the current answers, so that the job does not have to store every pair of people."""
    question = next((one for one in rated_questions(project) if one.name == chosen.question), None)
    if question is None or not question.categories:
        return None
    people = None if chosen.one is None or chosen.other is None else [chosen.one, chosen.other]
    table = rating_table(project, question, people=people)
    ratings = table.ratings
    if people is None:
        counts = confusion_of_pairs(ratings.counts())
    elif set(people) <= set(ratings.raters):
        counts = confusion_between(ratings, people[0], people[1])
    else:
        return None
    return tabulate_confusion(statistics, question, counts.tolist(), people)


def shade_rows(confusion: Chart) -> list[dict[str, Any]]:
    """Rows of (count, shade), the shade from 0 to 9 by the share of the row's sum."""
    rows = []
    for name, *counts in confusion.rows:
        numbers = [int(count or 0) for count in counts]
        total = max(1, sum(numbers))
        rows.append({"name": name, "cells": [(n, min(9, 10 * n // total)) for n in numbers]})
    return rows


def _dialogue_rows(
    project: Project, statistics: StoredStatistics, dialogues: KeysetPage[Any]
) -> list[dict[str, Any]]:
    keys = sorted(dialogue.pk for dialogue in dialogues.rows)
    if not keys or nugget_question(project) is None:
        return []
    collection = nugget_collection(project, dialogues=keys)
    scored = scores_by_dialogue(
        collection,
        collection.score(patience=statistics.numbers["uch"]["L"], alpha=statistics.numbers["uch"]["alpha"]),
    )
    names = _names_by_username({one["annotator"] for row in scored for one in row["annotators"]})
    for row in scored:
        row["annotators"] = [{**one, "annotator": names[one["annotator"]]} for one in row["annotators"]]
    return [{"pk": key, **one} for key, one in zip(keys, scored, strict=True)][::-1]


def _names_by_username(usernames: Collection[str]) -> dict[str, str]:
    people = dict(User.objects.filter(username__in=usernames).values_list("username", "pk"))
    names = names_by_person(people.values())
    return {username: names[key] for username, key in people.items()}


def download_chart(request: HttpRequest, project: Project, name: str, suffix: str) -> HttpResponse:
    latest = current_statistics(project=project)
    if latest.row is None:
        raise Http404
    titles = rated_titles(project) if suffix == "svg" else {}  # tables have the keys, for programs
    statistics = _load_statistics(project, latest, titles=titles)
    chosen = _chosen(request, statistics)
    chart: Chart | None = None
    if name in CHARTS:
        chart = CHARTS[name](statistics)
    elif name in helpdesk.CHARTS and statistics.numbers["uch"]:
        chart = helpdesk.CHARTS[name](statistics)
    elif chosen.question and name in QUESTION_CHARTS:
        chart = QUESTION_CHARTS[name](statistics, statistics.question(chosen.question))
    elif chosen.question and name == "confusion":
        chart = _confusion(project, statistics, chosen)
    if chart is None:
        raise Http404
    return chart_file(chart, f"{project.slug}-{name}", suffix)


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
