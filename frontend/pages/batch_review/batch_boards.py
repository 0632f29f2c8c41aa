"""Boards over a project's batches for who manages it: each plot answers the question that is its title."""

from collections.abc import Sequence

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from annotation.batch_review.selectors.boards import Boards
from annotation.labelling.selectors.settings import labelling_project
from annotation.tasks.models.rounds import RoundState
from frontend.charts import plots
from frontend.charts.answer import Answer, Cell, as_file
from frontend.charts.plots import Mark
from frontend.pages import signed_in
from measures.proportion import Proportion
from projects.roles import Capability


def states(boards: Boards) -> Answer:
    counts = boards.by_state()
    names = [str(RoundState(state).label) for state in counts]
    total = sum(counts.values())
    question = _("How far are the batches?")
    marks = [Mark(n, f"{name}: {n}") for name, n in zip(names, counts.values(), strict=True)]
    svg = plots.rows(names, [marks], x=_("batches"), description=question) if total else ""
    note = ngettext("n = %(n)d batch", "n = %(n)d batches", total) % {"n": total}
    rows: list[list[Cell]] = [[name, n] for name, n in zip(names, counts.values(), strict=True)]
    return Answer("states", question, note, [_("state"), _("batches")], rows if total else [], svg)


def rounds(boards: Boards) -> Answer:
    counts, more = boards.rounds_needed(), boards.share_with_several_rounds()
    question, x = _("How many rounds does a batch need?"), _("rounds until accepted")
    labels = [str(number) for number in counts]
    marks = [Mark(n, f"{label}: {n}") for label, n in zip(labels, counts.values(), strict=True)]
    svg = plots.columns(labels, marks, x=x, y=_("batches"), description=question) if counts else ""
    note = ngettext("n = %(n)d accepted batch", "n = %(n)d accepted batches", more.n) % {"n": more.n}
    if more.share is not None:
        note += " · " + _("more than one round: %(share)s") % {"share": _spelled(more)}
    rows: list[list[Cell]] = [
        [label, n, percent(n / more.n)] for label, n in zip(labels, counts.values(), strict=True)
    ]
    return Answer("rounds", question, note, [x, _("batches"), "%"], rows, svg)


def groups(boards: Boards) -> Answer:
    counted = boards.by_group()
    names = [name or _("Everybody") for name in counted]
    question = _("Whose batches are accepted?")
    marks = [mark(name, part) for name, part in zip(names, counted.values(), strict=True)]
    x = _("accepted rounds (%)")
    svg = plots.estimates(names, marks, x=x, description=question) if counted else ""
    return _shares(
        "groups", question, _("group"), names, list(counted.values()), svg, _("lines: 95 % intervals")
    )


def course(boards: Boards) -> Answer:
    unit, counted = boards.over_time()
    question = _("Are more batches accepted over time?")
    labels = [f"{at:%Y-%m}" if unit == "month" else f"{at:%m-%d}" for at, _part in counted]
    marks = [
        mark(label, part) if part.n else None for label, (_at, part) in zip(labels, counted, strict=True)
    ]
    x = _("month") if unit == "month" else _("week")
    svg = plots.lines(labels, [marks], x=x, y="%", description=question) if counted else ""
    days = [at.isoformat() for at, part in counted if part.n]
    return _shares(
        "course",
        question,
        x,
        days,
        [part for _at, part in counted if part.n],
        svg,
        _("bands: 95 % intervals"),
    )


def _shares(
    name: str,
    question: str,
    key: str,
    labels: Sequence[str],
    parts: Sequence[Proportion],
    svg: str,
    intervals: str,
) -> Answer:
    n = sum(part.n for part in parts)
    note = ngettext("n = %(n)d round with a verdict", "n = %(n)d rounds with a verdict", n) % {"n": n}
    rows: list[list[Cell]] = [
        [label, part.count, part.n, percent(part.share), percent(part.low), percent(part.high)]
        for label, part in zip(labels, parts, strict=True)
    ]
    head = [key, _("accepted"), _("rounds"), "%", _("95 % from"), _("95 % to")]
    return Answer(name, question, f"{note} · {intervals}", head, rows, svg)


def load(boards: Boards) -> Answer:
    people = boards.loads()
    names = [one.name for one in people]
    question, x = _("Who judges how much?"), _("dialogues judged")
    marks = [Mark(one.judged, f"{one.name}: {one.judged}") for one in people]
    svg = plots.rows(names, [marks], x=x, description=question) if people else ""
    rows: list[list[Cell]] = [
        [
            one.name,
            one.samples,
            one.judged,
            percent(one.wrong.share),
            percent(one.wrong.low),
            percent(one.wrong.high),
            round(one.seconds, 1),
        ]
        for one in people
    ]
    head = [
        _("controller"),
        _("samples"),
        x,
        _("corrected (%)"),
        _("95 % from"),
        _("95 % to"),
        _("active, mean (s)"),
    ]
    n = sum(one.judged for one in people)
    note = ngettext("n = %(n)d judgement", "n = %(n)d judgements", n) % {"n": n}
    return Answer("load", question, note, head, rows, svg)


ANSWERS = {"states": states, "rounds": rounds, "groups": groups, "course": course, "load": load}


def mark(where: str, part: Proportion) -> Mark:
    share, low, high = (100 * (value or 0.0) for value in (part.share, part.low, part.high))
    return Mark(share, f"{where}: {_spelled(part)}, n = {part.n}", (low, high))


def _spelled(part: Proportion) -> str:
    share, low, high = (100 * (value or 0.0) for value in (part.share, part.low, part.high))
    return f"{share:.1f} % ({low:.1f}–{high:.1f})"


def percent(share: float | None) -> float | None:
    return None if share is None else round(share * 100, 1)


@login_required
@require_safe
def boards_page(request: HttpRequest, slug: str) -> HttpResponse:
    project = labelling_project(signed_in(request), slug, Capability.READ_STATISTICS)
    boards = Boards(project)
    answers = [answer(boards) for answer in ANSWERS.values()]
    context = {"project": project, "title": _("Boards"), "answers": answers}
    return render(request, "batch_review/batches/boards.html", context)


@login_required
@require_safe
def download(request: HttpRequest, slug: str, name: str, suffix: str) -> HttpResponse:
    project = labelling_project(signed_in(request), slug, Capability.READ_STATISTICS)
    if name not in ANSWERS:
        raise Http404
    return as_file(ANSWERS[name](Boards(project)), f"{slug}-batches-{name}", suffix)


urlpatterns = [
    path("p/<slug:slug>/batches/boards/", boards_page, name="batch_boards"),
    path("p/<slug:slug>/batches/boards/<slug:name>.<str:suffix>", download, name="batch_boards_download"),
]
