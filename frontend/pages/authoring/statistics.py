"""Statistics of an authoring project: each plot answers the question that is its title."""

from collections.abc import Sequence
from datetime import date

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_safe

from annotation.authoring.selectors.settings import authoring_settings_of
from annotation.authoring.selectors.statistics import Actions, Person, Statistics
from dialogues.models import Action, Split
from frontend.charts import comparison, plots
from frontend.charts.answer import Answer, Cell, as_file
from frontend.charts.plots import Mark
from frontend.pages import signed_in
from frontend.pages.labelling import agreement
from generation.models import CandidateOrder
from generation.selectors import waiting_statistics
from measures.proportion import Proportion, proportion
from projects.models import Protocol
from projects.roles import Capability
from projects.selectors import project_for

UNITS = {"day": gettext_lazy("day"), "week": gettext_lazy("week"), "month": gettext_lazy("month")}


def action_names() -> list[str]:
    return [str(Action(action).label) for action in Action.values]


def table_one(numbers: Statistics) -> Answer:
    columns = numbers.table_one()
    names = {**{split.value: str(split.label) for split in Split}, "total": _("Total")}
    rows: list[list[Cell]] = [
        [_("Dialogues"), *(column.dialogues for column in columns)],
        [_("Utterances"), *(column.utterances for column in columns)],
        [
            _("Average utterance length (characters)"),
            *(_rounded(column.mean_length, 2) for column in columns),
        ],
        *(
            [f"{name} (%)", *(_percent(column.actions.share(action).share) for column in columns)]
            for action, name in zip(Action.values, action_names(), strict=True)
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


def actions_over_time(numbers: Statistics) -> Answer:
    course = numbers.actions_over_time()
    periods = course.with_gaps()
    series = [
        [_mark(_day(start), name, actions.share(action)) if actions else None for start, actions in periods]
        for action, name in zip(Action.values, action_names(), strict=True)
    ]
    unit, question = str(UNITS[course.unit]), _("Do people rewrite less over time?")
    svg = (
        plots.lines([_day(at) for at, _n in periods], series, x=unit, y="%", description=question)
        if periods
        else ""
    )
    counted = [(period.start.isoformat(), period.actions) for period in course.periods]
    return _actions("actions-over-time", question, unit, counted, svg, _("bands: 95 % intervals"))


def actions_by_annotator(numbers: Statistics) -> Answer:
    people = numbers.actions_by_annotator()
    names = labels_of([one.person for one in people])
    series = [
        [
            _mark(name, label, one.actions.share(action), of_whole=True)
            for name, one in zip(names, people, strict=True)
        ]
        for action, label in zip(Action.values, action_names(), strict=True)
    ]
    question = _("Does everybody use the candidates alike?")
    svg = plots.stacked_rows(names, series, x="%", description=question) if people else ""
    counted = [(name, one.actions) for name, one in zip(names, people, strict=True)]
    return _actions("actions-by-annotator", question, _("annotator"), counted, svg, _more(len(people)))


def _actions(
    name: str, question: str, key: str, counted: Sequence[tuple[str, Actions]], svg: str, remark: str
) -> Answer:
    total = sum(actions.total for _key, actions in counted)
    note = ngettext("n = %(n)d turn that had candidates", "n = %(n)d turns that had candidates", total) % {
        "n": total
    }
    rows: list[list[Cell]] = [
        [
            label,
            *(getattr(actions, action) for action in Action.values),
            actions.total,
            *(_percent(actions.share(action).share) for action in Action.values),
        ]
        for label, actions in counted
    ]
    head = [key, *action_names(), "n", *(f"{action} (%)" for action in action_names())]
    return Answer(name, question, " · ".join(filter(None, [note, remark])), head, rows, svg, action_names())


def edit_distances(numbers: Statistics) -> Answer:
    bars = numbers.edit_distances()
    total = sum(bar.count for bar in bars)
    labels = [str(bar.value) for bar in bars[:-1]] + [f"≥{bars[-1].value}"]
    marks = [Mark(bar.count, f"{label}: {bar.count}") for label, bar in zip(labels, bars, strict=True)]
    x, question = _("edit distance (characters)"), _("How much do people change when they revise?")
    svg = plots.columns(labels, marks, x=x, y=_("utterances"), description=question) if total else ""
    rows: list[list[Cell]] = [[label, bar.count] for label, bar in zip(labels, bars, strict=True)]
    return Answer(
        "edit-distance", question, _revised_words(total), [x, _("utterances")], rows if total else [], svg
    )


def _revised_words(n: int) -> str:
    return ngettext("n = %(n)d revised utterance", "n = %(n)d revised utterances", n) % {"n": n}


def places(numbers: Statistics) -> Answer:
    bars = numbers.places_chosen()
    total = sum(bar.count for bar in bars)
    shares = [proportion(bar.count, total) for bar in bars]
    labels = [str(bar.value) for bar in bars]
    is_random = numbers.project.authoring.candidate_order == CandidateOrder.RANDOM
    x = _("place in the list (the order is random)") if is_random else _("place in the list (best first)")
    question = _("Do people read all candidates?")
    marks = [_mark(label, "", share) for label, share in zip(labels, shares, strict=True)]
    alike = (100 / len(bars), _("if all were chosen alike"))
    svg = plots.columns(labels, marks, x=x, y="%", description=question, expected=alike) if total else ""
    note = ngettext("n = %(n)d chosen candidate", "n = %(n)d chosen candidates", total) % {"n": total}
    rows: list[list[Cell]] = [
        [label, one.count, _percent(one.share), _percent(one.low), _percent(one.high)]
        for label, one in zip(labels, shares, strict=True)
    ]
    head = [x, _("chosen"), "%", _("95 % from"), _("95 % to")]
    return Answer(
        "place", question, f"{note} · {_('lines: 95 % intervals')}", head, rows if total else [], svg
    )


def paces(numbers: Statistics) -> Answer:
    people = numbers.paces()
    names = labels_of([one.person for one in people])
    legend = [_("active, median"), _("idle, mean")]
    series = [
        [Mark(value, f"{name}: {legend[n]} {value:.1f} s") for name, value in zip(names, values, strict=True)]
        for n, values in enumerate([[one.active for one in people], [one.idle for one in people]])
    ]
    x, question = _("seconds per turn"), _("How long does a turn take?")
    svg = plots.rows(names, series, x=x, description=question) if people else ""
    rows: list[list[Cell]] = [
        [name, one.turns, round(one.active, 1), round(one.active_p90, 1), round(one.idle, 1)]
        for name, one in zip(names, people, strict=True)
    ]
    head = [
        _("annotator"),
        _("turns"),
        _("active, median (s)"),
        _("active, 90 % below (s)"),
        _("idle, mean (s)"),
    ]
    n = sum(one.turns for one in people)
    note = ngettext(
        "n = %(n)d turn. What a pause lasts beyond 30 s, and time in other tabs, counts as idle.",
        "n = %(n)d turns. What a pause lasts beyond 30 s, and time in other tabs, counts as idle.",
        n,
    ) % {"n": n}
    return Answer(
        "pace", question, " ".join(filter(None, [note, _more(len(people))])), head, rows, svg, legend
    )


def waits(numbers: Statistics) -> Answer:
    seen = waiting_statistics(numbers.project)
    rows: list[list[Cell]] = [
        [_("ready when the turn was sent (%)"), _percent(proportion(seen.ready, seen.turns).share)],
        [_("on the way when the turn was sent (%)"), _percent(proportion(seen.on_the_way, seen.turns).share)],
        [_("wait, median (s)"), _seconds(seen.p50_ms)],
        [_("wait, 95 % below (s)"), _seconds(seen.p95_ms)],
        [_("turns"), seen.turns],
        [_("sets made for drafts that changed"), seen.unseen],
    ]
    note = _(
        "From sending a turn to the first candidates of the next; 0 s when they were made while it was written."
    )
    head = ["", _("value")]
    return Answer("waiting", _("Do people wait for candidates?"), note, head, rows if seen.turns else [])


ANSWERS = {
    "table-1": table_one,
    "actions-over-time": actions_over_time,
    "actions-by-annotator": actions_by_annotator,
    "edit-distance": edit_distances,
    "place": places,
    "pace": paces,
    "waiting": waits,
    comparison.NAME: comparison.models,
}


def labels_of(people: Sequence[Person]) -> list[str]:
    """The shown names; with the sign-in name where two are called alike."""
    names = [str(person) for person in people]
    return [
        name if names.count(name) == 1 else f"{name} ({person.username})"
        for name, person in zip(names, people, strict=True)
    ]


def _mark(where: str, what: str, part: Proportion, *, of_whole: bool = False) -> Mark:
    """A share as a bar, in percent, or between 0 and 1 where the parts are drawn as a whole."""
    share, low, high = (value or 0.0 for value in (part.share, part.low, part.high))
    named = f"{where}: {what} " if what else f"{where}: "
    title = f"{named}{share * 100:.1f} % ({low * 100:.1f}–{high * 100:.1f}), n = {part.n}"
    return Mark(share, title) if of_whole else Mark(share * 100, title, (low * 100, high * 100))


def _day(at: date) -> str:
    return f"{at:%m-%d}"


def _more(people: int) -> str:
    hidden = people - plots.MOST_ROWS
    if hidden <= 0:
        return ""
    said = ngettext("%(n)d more person is in the table", "%(n)d more people are in the table", hidden)
    return said % {"n": hidden}


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _percent(share: float | None) -> float | None:
    return None if share is None else round(share * 100, 1)


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else round(milliseconds / 1000, 2)


@login_required
@require_safe
def statistics_page(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(signed_in(request), slug, Capability.READ_STATISTICS)
    if project.protocol == Protocol.LABELLING:
        return agreement.page(request, project)
    authoring_settings_of(project)  # other protocols have other numbers
    numbers = Statistics(project)
    first, *rest = (answer(numbers) for answer in ANSWERS.values())
    context = {"project": project, "title": _("Statistics"), "table_one": first, "answers": rest}
    return render(request, "authoring/statistics/statistics.html", context)


@login_required
@require_safe
def download(request: HttpRequest, slug: str, name: str, suffix: str) -> HttpResponse:
    project = project_for(signed_in(request), slug, Capability.READ_STATISTICS)
    if project.protocol == Protocol.LABELLING:
        return agreement.download(request, project, name, suffix)
    authoring_settings_of(project)
    if name not in ANSWERS:
        raise Http404
    return as_file(ANSWERS[name](Statistics(project)), f"{slug}-{name}", suffix)


urlpatterns = [
    path("p/<slug:slug>/statistics/", statistics_page, name="statistics"),
    path("p/<slug:slug>/statistics/<slug:name>.<str:suffix>", download, name="statistics_download"),
]
