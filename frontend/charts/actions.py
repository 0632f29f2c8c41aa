"""What authors do: the data in numbers, their actions, how they revise, and which candidates they choose."""

from collections.abc import Sequence
from datetime import date

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.authoring.selectors.statistics import Actions, Person, Statistics
from dialogues.models import Action, Split
from frontend.charts.chart import (
    LEAST_PERCENT,
    Cell,
    Chart,
    add_few,
    interval_head,
    is_few,
    round_value,
    rows_with_few,
    to_percent,
)
from generation.models import CandidateOrder
from measures.proportion import Proportion, proportion
from plots.columns import draw_columns
from plots.lines import draw_lines
from plots.marks import Mark
from plots.rows import MAX_ROWS, draw_stacked_rows

UNITS = {"day": gettext_lazy("day"), "week": gettext_lazy("week"), "month": gettext_lazy("month")}


def action_names() -> list[str]:
    return [str(Action(action).label) for action in Action.values]


def tabulate_data(statistics: Statistics) -> Chart:
    """Table 1 of the Diamante paper."""
    columns = statistics.table_one()
    names = {**{split.value: str(split.label) for split in Split}, "total": _("Total")}
    rows: list[list[Cell]] = [
        [_("Dialogues"), *(column.dialogues for column in columns)],
        [_("Utterances"), *(column.utterances for column in columns)],
        [
            _("Average utterance length (characters)"),
            *(round_value(column.mean_length, 2) for column in columns),
        ],
        *(
            [f"{name} (%)", *(to_percent(column.actions.share(action).share) for column in columns)]
            for action, name in zip(Action.values, action_names(), strict=True)
        ),
        [_("Utterances that had candidates"), *(column.actions.total for column in columns)],
    ]
    note = _(
        "Finished dialogues that no expert vetoed. Actions are shares of the utterances that had candidates."
    )
    if derived := columns[-1].derived:
        template = ngettext(
            "%(n)s action was derived from the texts when its file was imported.",
            "%(n)s actions were derived from the texts when their files were imported.",
            derived,
        )
        note = f"{note} {template % {'n': intcomma(derived)}}"
    head = ["", *(names[column.split] for column in columns)]
    return Chart("table-1", _("What is in the data?"), note, head, rows, has_units_by_row=True)


def draw_actions_over_time(statistics: Statistics) -> Chart:
    timeline = statistics.actions_over_time()
    periods = timeline.with_gaps()
    series = [
        [
            _percent_mark(_short_day(start), name, actions.share(action)) if actions else None
            for start, actions in periods
        ]
        for action, name in zip(Action.values, action_names(), strict=True)
    ]
    unit, title = str(UNITS[timeline.unit]), _("Do people rewrite less over time?")
    svg = ""
    if periods:
        labels = [_short_day(start) for start, _actions in periods]
        svg = draw_lines(labels, series, x=unit, y="%", description=title)
    rows = [(period.start.isoformat(), period.actions) for period in timeline.periods]
    return _actions_chart("actions-over-time", title, unit, rows, svg, _("bands: 95 % intervals"))


def draw_actions_by_annotator(statistics: Statistics) -> Chart:
    annotators = statistics.actions_by_annotator()
    names = unique_names([row.person for row in annotators])
    series = [
        [
            _share_mark(name, label, row.actions.share(action))
            for name, row in zip(names, annotators, strict=True)
        ]
        for action, label in zip(Action.values, action_names(), strict=True)
    ]
    title = _("Does everybody use the candidates alike?")
    svg = draw_stacked_rows(names, series, x="%", description=title) if annotators else ""
    rows = [(name, row.actions) for name, row in zip(names, annotators, strict=True)]
    remark = describe_hidden_rows(len(annotators))
    return _actions_chart("actions-by-annotator", title, _("annotator"), rows, svg, remark)


def _actions_chart(
    name: str, title: str, key: str, counts: Sequence[tuple[str, Actions]], svg: str, remark: str
) -> Chart:
    total = sum(actions.total for _key, actions in counts)
    note = ngettext("n = %(n)s turn that had candidates", "n = %(n)s turns that had candidates", total)
    rows: list[list[Cell]] = [
        [
            label,
            *(getattr(actions, action) for action in Action.values),
            actions.total,
            *(to_percent(actions.share(action).share) for action in Action.values),
        ]
        for label, actions in counts
    ]
    head = [key, *action_names(), "n", *(f"{action} (%)" for action in action_names())]
    faint = rows_with_few(rows, len(Action.values) + 1)
    notes = add_few(" · ".join(filter(None, [note % {"n": intcomma(total)}, remark])), faint)
    return Chart(name, title, notes, head, rows, svg, action_names(), faint=faint)


def draw_edit_distances(statistics: Statistics) -> Chart:
    bars = statistics.edit_distances()
    total = sum(bar.count for bar in bars)
    labels = [str(bar.value) for bar in bars[:-1]] + [f"≥{bars[-1].value}"]
    marks = [Mark(bar.count, f"{label}: {bar.count}") for label, bar in zip(labels, bars, strict=True)]
    x, y = _("edit distance (characters)"), _("utterances")
    title = _("How much do people change when they revise?")
    svg = draw_columns(labels, marks, x=x, y=y, description=title) if total else ""
    rows: list[list[Cell]] = [[label, bar.count] for label, bar in zip(labels, bars, strict=True)]
    note = ngettext("n = %(n)s revised utterance", "n = %(n)s revised utterances", total) % {
        "n": intcomma(total)
    }
    return Chart("edit-distance", title, note, [x, y], rows if total else [], svg)


def draw_chosen_places(statistics: Statistics) -> Chart:
    """How often the candidate at each place of the list is chosen."""
    bars = statistics.places_chosen()
    total = sum(bar.count for bar in bars)
    shares = [proportion(bar.count, total) for bar in bars]
    labels = [str(bar.value) for bar in bars]
    is_random = statistics.project.authoring.candidate_order == CandidateOrder.RANDOM
    x = _("place in the list (the order is random)") if is_random else _("place in the list (best first)")
    title = _("Do people read all candidates?")
    marks = [_percent_mark(label, "", share) for label, share in zip(labels, shares, strict=True)]
    expected = (100 / len(bars), _("if all were chosen equally often"))
    svg = draw_columns(labels, marks, x=x, y="%", description=title, expected=expected) if total else ""
    note = ngettext("n = %(n)s chosen candidate", "n = %(n)s chosen candidates", total) % {
        "n": intcomma(total)
    }
    rows: list[list[Cell]] = [
        [label, share.count, *(to_percent(value) for value in (share.share, share.low, share.high))]
        for label, share in zip(labels, shares, strict=True)
    ]
    head = [x, _("chosen"), "%", *interval_head()]
    shown = rows if total else []
    faint = range(len(shown)) if is_few(total) else ()
    note = add_few(f"{note} · {_('lines: 95 % intervals')}", faint)
    return Chart("place", title, note, head, shown, svg, faint=faint)


def unique_names(people: Sequence[Person]) -> list[str]:
    """Display names, with the sign-in name where two people share one."""
    names = [str(person) for person in people]
    return [
        name if names.count(name) == 1 else f"{name} ({person.username})"
        for name, person in zip(names, people, strict=True)
    ]


def describe_hidden_rows(people: int) -> str:
    """How many people the table has that the plot leaves out; empty if none."""
    hidden = people - MAX_ROWS
    if hidden <= 0:
        return ""
    words = ngettext("%(n)s more person is in the table", "%(n)s more people are in the table", hidden)
    return words % {"n": intcomma(hidden)}


def _percent_mark(label: str, name: str, part: Proportion) -> Mark:
    share, low, high = _values(part)
    title = _mark_title(label, name, part)
    return Mark(share * 100, title, (low * 100, high * 100), is_few(part.n), LEAST_PERCENT)


def _share_mark(label: str, name: str, part: Proportion) -> Mark:
    """A part of a stacked bar."""
    return Mark(_values(part)[0], _mark_title(label, name, part), is_faint=is_few(part.n))


def _mark_title(label: str, name: str, part: Proportion) -> str:
    share, low, high = _values(part)
    prefix = f"{label}: {name} " if name else f"{label}: "
    return f"{prefix}{share * 100:.1f} % ({low * 100:.1f}–{high * 100:.1f}), n = {part.n}"


def _values(part: Proportion) -> tuple[float, float, float]:
    return part.share or 0.0, part.low or 0.0, part.high or 0.0


def _short_day(day: date) -> str:
    return f"{day:%m-%d}"
