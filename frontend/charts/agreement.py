"""Agreement of annotators: charts of the stored statistics of a labelling project."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

from accounts.models import User
from annotation.labelling.models.labels import LabelOrigin
from annotation.labelling.schema.questions import Kind
from annotation.labelling.selectors.ratings import RatedQuestion
from common.sentences import join_sentences
from frontend.charts.chart import Cell, Chart, add_few, interval_head, is_few, round_value, rows_with_few
from frontend.ui.labels import answer_in_words
from measures.proportion import proportion
from plots.lines import draw_lines
from plots.marks import Mark
from plots.rows import draw_estimates
from projects.models import Project

MEASURES: Final = {
    "percent": gettext_lazy("agreement (%)"),
    "fleiss_kappa": "Fleiss κ",
    "randolph_kappa": "Randolph κ",
    "krippendorff_alpha": "Krippendorff α",
    "icc": "ICC",
}
UNITS: Final = {"day": gettext_lazy("day"), "week": gettext_lazy("week"), "month": gettext_lazy("month")}


@dataclass(frozen=True, slots=True)
class StoredStatistics:
    """The stored numbers of a labelling project.

    names: display names by person id. titles: questions in words by name; files for programs have the names.
    """

    project: Project
    numbers: dict[str, Any]
    names: dict[int, str]
    titles: Mapping[str, str] = field(default_factory=dict)

    def name_of(self, person: int) -> str:
        return self.names.get(person, _("somebody who left"))

    def title_of(self, question: str) -> str:
        return self.titles.get(question, question)

    def question(self, name: str) -> dict[str, Any]:
        question: dict[str, Any] = next(row for row in self.numbers["questions"] if row["name"] == name)
        return question

    def in_schema_order(self, figures: Mapping[str, Any]) -> dict[str, Any]:
        """Sort figures by question as in the schema; JSON columns do not keep the order of keys."""
        order = [question["name"] for question in self.numbers["questions"]]
        return {name: figures[name] for name in sorted(figures, key=order.index)}


def names_by_person(people: Iterable[int]) -> dict[int, str]:
    """Display names by person id, with the sign-in name where two people share one."""
    rows = {row.pk: row for row in User.objects.filter(pk__in=people)}
    names = [row.shown_name for row in rows.values()]
    return {
        key: row.shown_name if names.count(row.shown_name) == 1 else f"{row.shown_name} ({row.username})"
        for key, row in rows.items()
    }


def tabulate_agreement(statistics: StoredStatistics) -> Chart:
    questions = statistics.numbers["questions"]
    measures = [key for key in MEASURES if any(key in question["measures"] for question in questions)]
    rows: list[list[Cell]] = [
        [
            statistics.title_of(question["name"]),
            *(
                format_estimate(question["measures"].get(key), 100 if key == "percent" else 1)
                for key in measures
            ),
            max((estimate["n"] for estimate in question["measures"].values()), default=0),
            question["raters"],
        ]
        for question in questions
    ]
    head = [_("question"), *(str(MEASURES[key]) for key in measures), "n", _("people")]
    note = _(
        "Independent answers only: nothing that somebody changed or confirmed after seeing others' answers or the "
        "final label. n: dialogues or utterances that at least two people answered; in brackets 95 % intervals; –: "
        "undefined, for example when everybody always answers the same."
    )
    faint = rows_with_few(rows, -2)
    return Chart("agreement", _("How far do people agree?"), add_few(note, faint), head, rows, faint=faint)


def draw_reliability(statistics: StoredStatistics) -> Chart:
    questions = statistics.numbers["questions"]
    titles = [statistics.title_of(question["name"]) for question in questions]
    estimates = [question["measures"]["krippendorff_alpha"] for question in questions]
    marks = [estimate_mark(name, value) for name, value in zip(titles, estimates, strict=True)]
    title = _("Which questions are answered reliably?")
    svg = draw_estimates(titles, marks, x="α", description=title) if any(marks) else ""
    rows: list[list[Cell]] = [
        [name, str(MEASURES[key]), *interval_cells(value, 4), value["n"]]
        for name, question in zip(titles, questions, strict=True)
        for key, value in question["measures"].items()
    ]
    head = [_("question"), _("measure"), _("value"), *interval_head(), "n"]
    note = _(
        "Krippendorff's α: 1 is full agreement, 0 is chance; ordinal for scales, interval for sliders, else nominal."
    )
    faint = rows_with_few(rows, -1)
    return Chart("reliability", title, add_few(note, faint), head, rows, svg, faint=faint)


def draw_final_labels(statistics: StoredStatistics) -> Chart:
    counted: dict[str, int] = statistics.numbers["finals"]["origins"]
    total = sum(counted.values())
    shares = {origin: proportion(n, total) for origin, n in counted.items() if n}
    names = {origin: str(LabelOrigin(origin).label) for origin in shares}
    marks = [
        estimate_mark(
            names[origin],
            {
                "value": part.share,
                "low": part.low,
                "high": part.high,
                "n": part.n,
            },
            100,
        )
        for origin, part in shares.items()
    ]
    title = _("How did the final labels come about?")
    svg = draw_estimates(list(names.values()), marks, x="%", description=title) if shares else ""
    rows: list[list[Cell]] = [
        [
            names[origin],
            part.count,
            *(round_value(bound, 1, 100) for bound in (part.share, part.low, part.high)),
        ]
        for origin, part in shares.items()
    ]
    waiting = statistics.numbers["finals"]
    note = _(
        "n = %(n)s final labels; %(open)s dialogues wait for more people, %(confirming)s for confirmation, "
        "%(disputed)s for a trainer"
    ) % {"n": intcomma(total), **{key: intcomma(waiting[key]) for key in ("open", "confirming", "disputed")}}
    head = [_("came about"), _("dialogues"), "%", *interval_head()]
    faint = range(len(rows)) if is_few(total) else ()
    return Chart("final-labels", title, add_few(note, faint), head, rows, svg, faint=faint)


def tabulate_work(statistics: StoredStatistics) -> Chart:
    people = statistics.numbers["people"]
    rows: list[list[Cell]] = []
    for person in people:
        part = proportion(person["equal"], person["compared"])
        rows.append(
            [
                statistics.name_of(person["id"]), person["dialogues"], person["revisions"],
                round_value(person["median_s"], 1),
                round_value(person["active_s"], 2, 1 / 3600), round_value(part.share, 1, 100), person["compared"],
            ]
        )  # fmt: skip
    head = [
        _("annotator"), _("dialogues"), _("revisions"), _("active, median (s)"), _("active, in all (h)"),
        _("same as the final label (%)"), _("answers compared"),
    ]  # fmt: skip
    note = _(
        "Independent answers against final labels that more than one person made. –: nothing to compare, or imported."
    )
    return Chart(
        "work", _("Who did how much, and how often does it match the final label?"), note, head, rows
    )


def draw_annotators(statistics: StoredStatistics, question: dict[str, Any]) -> Chart:
    """How often each annotator answers as the others do; for numbers, the bias of each."""
    people, scale = question["people"], question["scale"]
    names = [statistics.name_of(person["id"]) for person in people]
    head = [_("annotator"), "n", _("same as others (%)")]
    rows: list[list[Cell]] = [
        [name, person["n"], round_value(person["agrees"], 1, 100)]
        for name, person in zip(names, people, strict=True)
    ]
    if scale is None:
        marks = [
            Mark(
                person["agrees"] * 100,
                f"{name}: {person['agrees'] * 100:.1f} %, n = {person['pairs']}",
                is_faint=is_few(person["n"]),
            )
            if person["agrees"] is not None
            else None
            for name, person in zip(names, people, strict=True)
        ]
        title, x, note = (
            _("Does somebody answer differently?"),
            "%",
            _("Share of pairs with others' answers that are equal."),
        )
    else:
        head += [_("mean"), _("standard deviation"), _("bias"), *interval_head()]
        for row, person in zip(rows, people, strict=True):
            row += [
                round_value(person["mean"], 3),
                round_value(person["sd"], 3),
                *interval_cells(person["bias"], 3),
            ]
        marks = [estimate_mark(name, person["bias"]) for name, person in zip(names, people, strict=True)]
        title, x, note = _("Is somebody stricter than the others?"), _("bias"), _describe_scale(scale)
    svg = draw_estimates(names, marks, x=x, description=title) if any(marks) else ""
    faint = rows_with_few(rows, 1)
    return Chart("people", title, add_few(note, faint), head, rows, svg, faint=faint)


def _describe_scale(scale: dict[str, Any]) -> str:
    bias = _(
        "Bias: mean difference from the others on the same items. ICC of the answers %(raw)s, of z-scores %(z)s."
    )
    sentences = [
        bias % {"raw": format_estimate(scale["raw"]) or "–", "z": format_estimate(scale["z"]) or "–"}
    ]
    if scale["excluded"]:
        excluded = ngettext(
            "No variance: left out of z-scores, n = %(n)s person (%(ratings)s answers).",
            "No variance: left out of z-scores, n = %(n)s people (%(ratings)s answers).",
            scale["excluded"],
        )
        sentences.append(
            excluded % {"n": intcomma(scale["excluded"]), "ratings": intcomma(scale["left_out"])}
        )
    return join_sentences(sentences)


def draw_agreement_over_time(statistics: StoredStatistics, question: dict[str, Any]) -> Chart:
    periods, unit = question["course"], str(UNITS[question["unit"]])
    labels = [f"{date.fromisoformat(period['start']):%m-%d}" for period in periods]
    marks = [estimate_mark(label, period, 100) for label, period in zip(labels, periods, strict=True)]
    title = _("Does agreement drift?")
    svg = draw_lines(labels, [marks], x=unit, y="%", description=title) if any(marks) else ""
    rows: list[list[Cell]] = [
        [
            period["start"],
            *(round_value(period[key], 1, 100) for key in ("value", "low", "high")),
            period["n"],
        ]
        for period in periods
        if period["n"]
    ]
    note = _("Items count for the time of their last answer; the band is the 95 % interval.")
    faint = rows_with_few(rows, -1)
    head = [unit, "%", *interval_head(), "n"]
    return Chart("course", title, add_few(note, faint), head, rows, svg, faint=faint)


def tabulate_confusion(
    statistics: StoredStatistics,
    question: RatedQuestion,
    counts: Sequence[Sequence[int]],
    people: list[int] | None,
) -> Chart:
    """counts: rows are the first rater's answers, columns the second's.

    people: the ids of the two raters; None for all pairs, each counted both ways. Answers are in words, but steps of a
    scale are numbers in the columns.
    """
    values = [str(value) for value in question.categories]
    words = _answers_in_words(question) if statistics.titles else values
    columns = values if question.question.kind is Kind.SCALE else words
    total = sum(map(sum, counts))
    if people:
        corner = _("%(one)s ↓ · %(other)s →") % {
            "one": statistics.name_of(people[0]),
            "other": statistics.name_of(people[1]),
        }
        note = ngettext("n = %(n)s item that both answered", "n = %(n)s items that both answered", total) % {
            "n": intcomma(total)
        }
    else:
        corner, note = (
            _("one ↓ · another →"),
            _("n = %(n)s pairs of answers, each counted both ways") % {"n": intcomma(total)},
        )
    rows: list[list[Cell]] = [[name, *row] for name, row in zip(words, counts, strict=True)]
    return Chart(
        "confusion", _("What is mistaken for what?"), note, [corner, *columns], rows if total else []
    )


def _answers_in_words(question: RatedQuestion) -> list[str]:
    if question.option:
        return [_("not chosen"), pgettext("answer", "chosen")]
    return [answer_in_words(question.question, value) for value in question.categories]


CHARTS: Final[dict[str, Callable[[StoredStatistics], Chart]]] = {
    "agreement": tabulate_agreement,
    "reliability": draw_reliability,
    "final-labels": draw_final_labels,
    "work": tabulate_work,
}
QUESTION_CHARTS: Final[dict[str, Callable[[StoredStatistics, dict[str, Any]], Chart]]] = {
    "people": draw_annotators,
    "course": draw_agreement_over_time,
}


def estimate_mark(label: str, estimate: dict[str, Any], times: float = 1) -> Mark | None:
    if estimate["value"] is None:
        return None
    value: float = estimate["value"] * times
    is_faint = is_few(estimate["n"])
    if estimate["low"] is None:
        return Mark(value, f"{label}: {value:.2f}, n = {estimate['n']}", is_faint=is_faint)
    low, high = estimate["low"] * times, estimate["high"] * times
    title = f"{label}: {value:.2f} ({low:.2f}–{high:.2f}), n = {estimate['n']}"
    return Mark(value, title, (low, high), is_faint=is_faint)


def format_estimate(estimate: dict[str, Any] | None, times: float = 1) -> str | None:
    if estimate is None or estimate["value"] is None:
        return None
    digits = 1 if times == 100 else 3
    value = f"{estimate['value'] * times:.{digits}f}"
    if estimate["low"] is None:
        return value
    return f"{value} [{estimate['low'] * times:.{digits}f}, {estimate['high'] * times:.{digits}f}]"


def interval_cells(estimate: dict[str, Any], digits: int) -> list[Cell]:
    return [round_value(estimate[key], digits) for key in ("value", "low", "high")]
