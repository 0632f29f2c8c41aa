"""Statistics of an authoring project: each plot answers the question that is its title."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _

from annotation.selectors import statistics
from dialogues.models import Action, Split
from frontend import plots
from frontend.pages import signed_in
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A question with its numbers and, where a picture says more, a plot. n: what the numbers rest on."""

    name: str
    question: str
    note: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    svg: str = ""
    legend: Sequence[str] = ()


def action_names() -> list[str]:
    return [str(Action(action).label) for action in Action.values]


def table_one(project: Project) -> Answer:
    columns = statistics.table_one(project)
    names = {**{split.value: str(split.label) for split in Split}, "total": _("Total")}
    shares = [[column.actions.share(action) for action in Action.values] for column in columns]
    rows: list[list[Cell]] = [
        [_("Dialogues"), *(column.dialogues for column in columns)],
        [_("Utterances"), *(column.utterances for column in columns)],
        [_("Average utterance length (characters)"), *(_rounded(column.mean_length) for column in columns)],
        *(
            [f"{name} (%)", *(_percent(share[n]) for share in shares)]
            for n, name in enumerate(action_names())
        ),
        [_("Utterances that had candidates"), *(column.actions.total for column in columns)],
    ]
    return Answer(
        "table-1",
        _("What is in the data?"),
        _(
            "Finished dialogues that no expert vetoed. Actions are shares of the utterances that had candidates."
        ),
        ["", *(names[column.split] for column in columns)],
        rows,
    )


def actions_over_time(project: Project) -> Answer:
    days = statistics.actions_by_day(project)
    return _actions(
        "actions-by-day",
        _("Do people rewrite less over time?"),
        _("day"),
        [(day.key.isoformat(), day.actions) for day in days],
    )


def actions_by_annotator(project: Project) -> Answer:
    people = statistics.actions_by_annotator(project)
    rows = [(person.key, person.actions) for person in people]
    return _actions(
        "actions-by-annotator", _("Does everybody use the candidates alike?"), _("annotator"), rows
    )


def _actions(name: str, question: str, key: str, rows: list[tuple[str, statistics.Actions]]) -> Answer:
    counted = [(label, actions) for label, actions in rows if actions.total]
    total = sum(actions.total for _label, actions in counted)
    series = [
        (label, [actions.share(action) or 0.0 for _key, actions in counted])
        for action, label in zip(Action.values, action_names(), strict=True)
    ]
    svg = (
        plots.stacked_shares([label for label, _actions in counted], series, x=key, description=question)
        if total
        else ""
    )
    table: list[list[Cell]] = [
        [label, *(getattr(actions, action) for action in Action.values), actions.total]
        for label, actions in counted
    ]
    return Answer(
        name,
        question,
        _("Share of actions; n = %(n)d turns that had candidates") % {"n": total},
        [key, *action_names(), "n"],
        table,
        mark_safe(svg),  # noqa: S308 - drawn by us; matplotlib escapes the labels
        action_names(),
    )


def edit_distances(project: Project) -> Answer:
    values = statistics.edit_distances(project)
    labels = [str(bar.value) for bar in values[:-1]] + [f"≥{values[-1].value}"]
    return _histogram(
        "edit-distance",
        _("How much do people change when they revise?"),
        _("edit distance (characters)"),
        labels,
        values,
    )


def positions(project: Project) -> Answer:
    values = statistics.positions_chosen(project)
    return _histogram(
        "position",
        _("Do people read all candidates?"),
        _("displayed place of the chosen candidate (the order is random)"),
        [str(bar.value) for bar in values],
        values,
    )


def _histogram(name: str, question: str, x: str, labels: list[str], values: list[statistics.Bar]) -> Answer:
    total = sum(bar.count for bar in values)
    counts = [bar.count for bar in values]
    svg = plots.bars(labels, counts, x=x, y=_("utterances"), description=question) if total else ""
    return Answer(
        name,
        question,
        _("n = %(n)d utterances") % {"n": total},
        [x, _("utterances")],
        list(zip(labels, counts, strict=True)),
        mark_safe(svg),  # noqa: S308 - drawn by us
    )


def paces(project: Project) -> Answer:
    people = statistics.paces(project)
    rows: list[list[Cell]] = [
        [one.annotator, one.turns, round(one.active, 1), round(one.active_p90, 1), round(one.idle, 1)]
        for one in people
    ]
    return Answer(
        "pace",
        _("How long does a turn take?"),
        _("Seconds since the turn was shown. Time without any input for 30 s counts as idle."),
        [
            _("annotator"),
            _("turns"),
            _("active, median (s)"),
            _("active, 90 % below (s)"),
            _("idle, median (s)"),
        ],
        rows,
    )


ANSWERS = {
    "table-1": table_one,
    "actions-by-day": actions_over_time,
    "actions-by-annotator": actions_by_annotator,
    "edit-distance": edit_distances,
    "position": positions,
    "pace": paces,
}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _percent(share: float | None) -> float | None:
    return None if share is None else round(share * 100, 1)


@login_required
def statistics_page(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(signed_in(request), slug, Capability.READ_STATISTICS)
    first, *rest = (answer(project) for answer in ANSWERS.values())
    return render(
        request, "statistics/statistics.html", {"project": project, "table_one": first, "answers": rest}
    )


@login_required
def download(request: HttpRequest, slug: str, name: str, suffix: str) -> HttpResponse:
    project = project_for(signed_in(request), slug, Capability.READ_STATISTICS)
    if name not in ANSWERS:
        raise Http404
    answer = ANSWERS[name](project)
    if suffix == "svg" and answer.svg:
        return _file(f"{slug}-{name}.svg", "image/svg+xml", [plots.standalone(answer.svg)])
    if suffix != "csv":
        raise Http404
    response = _file(
        f"{slug}-{name}.csv", "text/csv; charset=utf-8", ["\ufeff"]
    )  # the mark makes Excel read UTF-8
    csv.writer(response).writerows([list(answer.head), *(_safe(row) for row in answer.rows)])
    return response


def _safe(row: Sequence[Cell]) -> list[Cell]:
    # A cell that begins like a formula would be run by a spreadsheet.
    return [f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@" and cell else cell for cell in row]


def _file(name: str, content_type: str, parts: Iterable[str]) -> HttpResponse:
    response = HttpResponse("".join(parts), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


urlpatterns = [
    path("p/<slug:slug>/statistics/", statistics_page, name="statistics"),
    path("p/<slug:slug>/statistics/<slug:name>.<str:suffix>", download, name="statistics-download"),
]
