"""The questions that a labelling project's statistics answer, from the stored numbers."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

from accounts.models import User
from annotation.labelling.models.labels import LabelOrigin
from annotation.labelling.selectors.ratings import RatedQuestion
from frontend.charts import plots
from frontend.charts.answer import Answer, Cell
from frontend.charts.plots import Mark
from measures.proportion import proportion
from projects.models import Project

MEASURES: Final = {
    "percent": gettext_lazy("agreement (%)"),
    "fleiss_kappa": "Fleiss κ",
    "randolph_kappa": "Randolph κ",
    "krippendorff_alpha": "Krippendorff α",
    "icc": "ICC",
}
UNITS: Final = {"day": gettext_lazy("day"), "week": gettext_lazy("week"), "month": gettext_lazy("month")}
MOST_SERIES: Final = 6


@dataclass(frozen=True, slots=True)
class Told:
    """The stored numbers, and what their people are called."""

    project: Project
    numbers: dict[str, Any]
    names: dict[int, str]

    def name(self, person: int) -> str:
        return self.names.get(person, _("somebody who left"))

    def question(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = next(one for one in self.numbers["questions"] if one["name"] == name)
        return found

    def in_order(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """By question, as the schema asks them: the database keeps no order of keys."""
        asked = [one["name"] for one in self.numbers["questions"]]
        return {name: found[name] for name in sorted(found, key=asked.index)}


def names_of(people: Collection[int]) -> dict[int, str]:
    """Shown names; with the sign-in name where two are called alike."""
    rows = {row.pk: row for row in User.objects.filter(pk__in=people)}
    shown = [row.shown_name for row in rows.values()]
    return {
        key: row.shown_name if shown.count(row.shown_name) == 1 else f"{row.shown_name} ({row.username})"
        for key, row in rows.items()
    }


def agreement_table(told: Told) -> Answer:
    questions = told.numbers["questions"]
    shown = [key for key in MEASURES if any(key in one["measures"] for one in questions)]
    rows: list[list[Cell]] = [
        [
            one["name"],
            *(_estimate(one["measures"].get(key), 100 if key == "percent" else 1) for key in shown),
            max((found["n"] for found in one["measures"].values()), default=0),
            one["raters"],
        ]
        for one in questions
    ]
    head = [_("question"), *(str(MEASURES[key]) for key in shown), "n", _("people")]
    note = _(
        "Independent answers only: nothing that somebody changed or confirmed after seeing others' answers or the "
        "final label. n: dialogues or utterances that at least two people answered; in brackets 95 % intervals; –: "
        "undefined, for example when everybody always answers the same."
    )
    return Answer("agreement", _("How far do people agree?"), note, head, rows)


def reliability(told: Told) -> Answer:
    questions = told.numbers["questions"]
    found = [one["measures"]["krippendorff_alpha"] for one in questions]
    marks = [_mark(one["name"], value) for one, value in zip(questions, found, strict=True)]
    question = _("Which questions are answered reliably?")
    svg = (
        plots.estimates([one["name"] for one in questions], marks, x="α", description=question)
        if any(marks)
        else ""
    )
    rows: list[list[Cell]] = [
        [one["name"], str(MEASURES[key]), *_cells(value, 4), value["n"]]
        for one in questions
        for key, value in one["measures"].items()
    ]
    head = [_("question"), _("measure"), _("value"), _("95 % from"), _("95 % to"), "n"]
    note = _(
        "Krippendorff's α: 1 is full agreement, 0 is chance; ordinal for scales, interval for sliders, else nominal."
    )
    return Answer("reliability", question, note, head, rows, svg)


def finals(told: Told) -> Answer:
    counted: dict[str, int] = told.numbers["finals"]["origins"]
    total = sum(counted.values())
    shares = {origin: proportion(n, total) for origin, n in counted.items() if n}
    names = {origin: str(LabelOrigin(origin).label) for origin in shares}
    marks = [
        _mark(
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
    question = _("How did the final labels come about?")
    svg = plots.estimates(list(names.values()), marks, x="%", description=question) if shares else ""
    rows: list[list[Cell]] = [
        [names[origin], part.count, *(_rounded(one, 1, 100) for one in (part.share, part.low, part.high))]
        for origin, part in shares.items()
    ]
    waiting = told.numbers["finals"]
    note = _(
        "n = %(n)d final labels; %(open)d dialogues wait for more people, %(confirming)d for confirmation, "
        "%(disputed)d for a trainer"
    ) % {"n": total, **{key: waiting[key] for key in ("open", "confirming", "disputed")}}
    head = [_("came about"), _("dialogues"), "%", _("95 % from"), _("95 % to")]
    return Answer("final-labels", question, note, head, rows, svg)


def work(told: Told) -> Answer:
    people = told.numbers["people"]
    rows: list[list[Cell]] = []
    for one in people:
        part = proportion(one["equal"], one["compared"])
        rows.append(
            [
                told.name(one["id"]), one["dialogues"], one["revisions"], _rounded(one["median_s"], 1),
                _rounded(one["active_s"], 2, 1 / 3600), _rounded(part.share, 1, 100), one["compared"],
            ]
        )  # fmt: skip
    head = [
        _("annotator"), _("dialogues"), _("revisions"), _("active, median (s)"), _("active, in all (h)"),
        _("as the final label (%)"), _("answers compared"),
    ]  # fmt: skip
    note = _(
        "Independent answers against final labels that more than one person made. –: nothing to compare, or imported."
    )
    return Answer("work", _("Who did how much, and how well does it last?"), note, head, rows)


def people_of(told: Told, question: dict[str, Any]) -> Answer:
    """Bias for numbers, agreement with the others for every question."""
    people, scale = question["people"], question["scale"]
    names = [told.name(one["id"]) for one in people]
    head = [_("annotator"), "n", _("as others (%)")]
    rows: list[list[Cell]] = [
        [name, one["n"], _rounded(one["agrees"], 1, 100)] for name, one in zip(names, people, strict=True)
    ]
    if scale is None:
        marks = [
            Mark(one["agrees"] * 100, f"{name}: {one['agrees'] * 100:.1f} %, n = {one['pairs']}")
            if one["agrees"] is not None
            else None
            for name, one in zip(names, people, strict=True)
        ]
        title, x, note = (
            _("Does somebody answer differently?"),
            "%",
            _("Share of pairs with others' answers that are equal."),
        )
    else:
        head += [_("mean"), _("standard deviation"), _("bias"), _("95 % from"), _("95 % to")]
        for row, one in zip(rows, people, strict=True):
            row += [_rounded(one["mean"], 3), _rounded(one["sd"], 3), *_cells(one["bias"], 3)]
        marks = [_mark(name, one["bias"]) for name, one in zip(names, people, strict=True)]
        title, x, note = _("Is somebody stricter than the others?"), _("bias"), _scale_words(scale)
    svg = plots.estimates(names, marks, x=x, description=title) if any(marks) else ""
    return Answer("people", title, note, head, rows, svg)


def _scale_words(scale: dict[str, Any]) -> str:
    said = _(
        "Bias: mean difference from the others on the same items. ICC of the answers %(raw)s, of z-scores %(z)s."
    )
    words = [said % {"raw": _estimate(scale["raw"]) or "–", "z": _estimate(scale["z"]) or "–"}]
    if scale["excluded"]:
        left = ngettext(
            "No variance: left out of z-scores, n = %(n)d person (%(ratings)d answers).",
            "No variance: left out of z-scores, n = %(n)d people (%(ratings)d answers).",
            scale["excluded"],
        )
        words.append(left % {"n": scale["excluded"], "ratings": scale["left_out"]})
    return " ".join(words)


def course(told: Told, question: dict[str, Any]) -> Answer:
    periods, unit = question["course"], str(UNITS[question["unit"]])
    labels = [f"{date.fromisoformat(one['start']):%m-%d}" for one in periods]
    marks = [_mark(label, one, 100) for label, one in zip(labels, periods, strict=True)]
    title = _("Does agreement drift?")
    svg = plots.lines(labels, [marks], x=unit, y="%", description=title) if any(marks) else ""
    rows: list[list[Cell]] = [
        [one["start"], *(_rounded(one[key], 1, 100) for key in ("value", "low", "high")), one["n"]]
        for one in periods
        if one["n"]
    ]
    note = _("Items count for the time of their last answer; the band is the 95 % interval.")
    return Answer("course", title, note, [unit, "%", _("95 % from"), _("95 % to"), "n"], rows, svg)


def confusion_answer(
    told: Told, asked: RatedQuestion, counts: Sequence[Sequence[int]], people: list[int] | None
) -> Answer:
    """counts: rows of the first rater, columns of the second; of all pairs, each counted both ways."""
    values = [str(value) for value in asked.categories]
    total = sum(map(sum, counts))
    if people:
        corner = _("%(one)s ↓ · %(other)s →") % {
            "one": told.name(people[0]),
            "other": told.name(people[1]),
        }
        note = ngettext("n = %(n)d item that both answered", "n = %(n)d items that both answered", total) % {
            "n": total
        }
    else:
        corner, note = (
            _("one ↓ · another →"),
            _("n = %(n)d pairs of answers, each counted both ways") % {"n": total},
        )
    rows: list[list[Cell]] = [[value, *row] for value, row in zip(values, counts, strict=True)]
    return Answer(
        "confusion", _("What is mistaken for what?"), note, [corner, *values], rows if total else []
    )


# ---- nuggets -----------------------------------------------------------------------------------------------------


def distribution(told: Told) -> Answer:
    uch = told.numbers["uch"]
    width = uch["bins"]["width"]
    labels = [f"{n * width:g}" for n in range(len(uch["bins"]["auch"]))]
    legend = ["AUCH", "CUCH"]
    series: list[list[Mark | None]] = [
        [
            Mark(n, f"{name} ≥ {label}: {n}")
            for label, n in zip(labels, uch["bins"][name.lower()], strict=True)
        ]
        for name in legend
    ]
    title, x = _("What are the dialogues worth?"), _("UCH, from")
    svg = plots.lines(labels, series, x=x, y=_("dialogues"), description=title) if uch["dialogues"] else ""
    rows: list[list[Cell]] = [
        [label, auch, cuch]
        for label, auch, cuch in zip(labels, uch["bins"]["auch"], uch["bins"]["cuch"], strict=True)
    ]
    note = _(
        "n = %(n)d dialogues, L = %(L)d characters, α = 0.5. Means: AUCH %(auch)s, CUCH %(cuch)s. %(spare)d goal "
        "nuggets after a side's first add nothing (%(with_spare)d dialogues); no type has a majority for %(tied)d "
        "utterances (%(with_ties)d dialogues): they are no nuggets in CUCH."
    ) % {
        "n": uch["dialogues"], "L": uch["L"], "auch": _number(uch["auch"]), "cuch": _number(uch["cuch"]),
        "spare": uch["spare"]["nuggets"], "with_spare": uch["spare"]["dialogues"],
        "tied": uch["ties"]["utterances"], "with_ties": uch["ties"]["dialogues"],
    }  # fmt: skip
    return Answer("uch", title, note, [x, *legend], rows if uch["dialogues"] else [], svg, legend)


def tau_table(told: Told) -> Answer:
    found = told.in_order(told.numbers["uch"]["tau"])
    rows: list[list[Cell]] = [
        [name, _estimate(both["auch"]), _estimate(both["cuch"]), both["auch"]["n"]]
        for name, both in found.items()
    ]
    note = _(
        "Kendall's τ of UCH and the mean z-score of the ratings of a dialogue (Table 4 of the DCH paper), with "
        "95 % intervals."
    )
    head = [_("question"), _("τ with AUCH"), _("τ with CUCH"), "n"]
    return Answer("tau", _("Does UCH predict people's ratings?"), note, head, rows)


def by_patience(told: Told) -> Answer:
    title, x = _("How much patience do ratings show?"), _("L (characters)")
    note = _(
        "τ of AUCH with the ratings at every L (Figure 4); the right end takes dialogues as sets of nuggets."
    )
    return _sweep(told, "by_patience", title, x, note)


def by_alpha(told: Told) -> Answer:
    title, x = (
        _("Whose nuggets matter more?"),
        pgettext("weight of the helpdesk", "α (0: customer, 1: helpdesk)"),
    )
    return _sweep(told, "by_alpha", title, x, _("τ of AUCH with the ratings at every α (Figure 5)."))


def _sweep(told: Told, key: str, title: str, x: str, note: str) -> Answer:
    found: dict[str, list[dict[str, Any]]] = told.in_order(told.numbers["uch"][key])
    labels = [f"{point['x']:g}" for point in next(iter(found.values()), [])]
    drawn = list(found)[:MOST_SERIES]
    series = [
        [_mark(f"{name}, {label}", point) for label, point in zip(labels, found[name], strict=True)]
        for name in drawn
    ]
    known = any(mark for one in series for mark in one)
    svg = plots.lines(labels, series, x=x, y="τ", description=title) if known else ""
    rows: list[list[Cell]] = [
        [name, point["x"], *_cells(point, 4), point["n"]]
        for name, points in found.items()
        for point in points
    ]
    head = [_("question"), x, "τ", _("95 % from"), _("95 % to"), "n"]
    return Answer(key.replace("_", "-"), title, note, head, rows if known else [], svg, drawn)


WHOLE: Final[dict[str, Callable[[Told], Answer]]] = {
    "agreement": agreement_table,
    "reliability": reliability,
    "final-labels": finals,
    "work": work,
}
PER_QUESTION: Final[dict[str, Callable[[Told, dict[str, Any]], Answer]]] = {
    "people": people_of,
    "course": course,
}
WITH_NUGGETS: Final[dict[str, Callable[[Told], Answer]]] = {
    "uch": distribution,
    "tau": tau_table,
    "by-patience": by_patience,
    "by-alpha": by_alpha,
}


def _mark(label: str, found: dict[str, Any], times: float = 1) -> Mark | None:
    if found["value"] is None:
        return None
    value: float = found["value"] * times
    if found["low"] is None:
        return Mark(value, f"{label}: {value:.2f}, n = {found['n']}")
    low, high = found["low"] * times, found["high"] * times
    return Mark(value, f"{label}: {value:.2f} ({low:.2f}–{high:.2f}), n = {found['n']}", (low, high))


def _estimate(found: dict[str, Any] | None, times: float = 1) -> str | None:
    if found is None or found["value"] is None:
        return None
    digits = 1 if times == 100 else 3
    value = f"{found['value'] * times:.{digits}f}"
    if found["low"] is None:
        return value
    return f"{value} [{found['low'] * times:.{digits}f}, {found['high'] * times:.{digits}f}]"


def _cells(found: dict[str, Any], digits: int) -> list[Cell]:
    return [_rounded(found[key], digits) for key in ("value", "low", "high")]


def _rounded(value: float | None, digits: int, times: float = 1) -> float | None:
    return None if value is None else round(value * times, digits)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
