"""What evaluations say, as plots and tables: models side by side, and one model in full.

preference.training.joint.evaluation writes the reports. A missing figure leaves its place empty, for example the
preference figures of a model without a preference head.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from dialogues.models import Action
from frontend.charts import plots
from frontend.charts.answer import Answer, Cell
from frontend.charts.plots import Mark
from frontend.pages.learning.training_form import source_name
from preference.evaluation.models import Evaluation

Figures = Mapping[str, Any]
RANKED_BY: Final = {
    "preference": gettext_lazy("by preference score"),
    "generation": gettext_lazy("by generation probability"),
}
RANKINGS: Final = {"p_at_1": "P@1", "mrr": "MRR", "map": "MAP"}
PAIRS: Final[dict[str, str | Promise]] = {
    "human_model": gettext_lazy("human > model"),
    "human_random": gettext_lazy("human > random"),
    "model_random": gettext_lazy("model > random"),
}
PAIRED_BY: Final = {"preference": "pairs", "generation": "generation_pairs"}
BASELINES: Final = {
    "chance": gettext_lazy("at random"),
    "longest": gettext_lazy("the longest"),
    "shortest": gettext_lazy("the shortest"),
    "question": gettext_lazy("one that asks"),
    "improbable": gettext_lazy("the least probable"),
}
GROUPS: Final = {
    "by_domain": gettext_lazy("Where does it rank well, by domain?"),
    "by_language": gettext_lazy("Where does it rank well, by language?"),
    "by_action": gettext_lazy("Where does it rank well, by what people did?"),
}
DIGITS = 4


@dataclass(frozen=True, slots=True)
class Value:
    """A figure with its 95 % interval and what it rests on; of a report, so anything may be missing."""

    value: float
    low: float | None
    high: float | None
    n: int

    def __str__(self) -> str:
        return f"{self.value:.3f}"

    @property
    def interval(self) -> str:
        return "" if self.low is None or self.high is None else f"{self.low:.3f}–{self.high:.3f}"

    def mark(self, where: str) -> Mark:
        between = None if self.low is None or self.high is None else (self.low, self.high)
        said = f" ({self.interval})" if between else ""
        return Mark(self.value, f"{where}: {self}{said}, n = {self.n}", between)

    def cells(self) -> list[Cell]:
        rounded = [None if one is None else round(one, DIGITS) for one in (self.value, self.low, self.high)]
        return [*rounded, self.n]


def value(figures: Figures, *path: str) -> Value | None:
    """What a report says under these names; None where it says nothing."""
    found: Any = figures
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping) or found.get("value") is None:
        return None
    return Value(found["value"], found.get("low"), found.get("high"), found.get("n") or 0)


def overall(evaluation: Evaluation) -> Figures:
    found: Figures = evaluation.report.get("overall", {})
    return found


def name_of(evaluation: Evaluation) -> str:
    return evaluation.model.slug if evaluation.model else source_name(evaluation.base)


HEAD_CELLS: Final = (gettext_lazy("value"), gettext_lazy("95 % from"), gettext_lazy("95 % to"), "n")


def head_of(*first: str) -> list[str]:
    return [*first, *(str(name) for name in HEAD_CELLS)]


def _names(table: Mapping[str, str | Promise]) -> list[str]:
    return [str(name) for name in table.values()]


def _turns(n: int) -> str:
    return ngettext("n = %(n)d turn", "n = %(n)d turns", n) % {"n": n}


# ---- models side by side ---------------------------------------------------------------------------------------------


def measured(figures: Figures, by: str) -> list[tuple[str, Value | None]]:
    """Every measure by one of the two scores."""
    ranked = [(short, value(figures, by, key)) for key, short in RANKINGS.items()]
    return [*ranked, *((str(pair), value(figures, PAIRED_BY[by], key)) for key, pair in PAIRS.items())]


def likelihood(figures: Figures) -> tuple[str, Value | None]:
    return _("NLL (nats a token)"), value(figures, "nll")


def every_measure(figures: Figures) -> list[tuple[str, Value | None]]:
    both = [
        (f"{name}, {words}", one) for by, words in RANKED_BY.items() for name, one in measured(figures, by)
    ]
    return [*both, likelihood(figures)]


def matrix(rows: Sequence[Evaluation]) -> list[tuple[str, list[tuple[str, list[Value | None]]]]]:
    """Measures as rows, evaluations as columns, by what the measures rank by; without what nobody has."""
    groups = [(str(words), [measured(overall(row), by) for row in rows]) for by, words in RANKED_BY.items()]
    groups.append((_("likelihood"), [[likelihood(overall(row))] for row in rows]))
    made = [
        (words, [(one[0][0], [found for _name, found in one]) for one in zip(*columns, strict=True)])
        for words, columns in groups
    ]
    return [(words, [line for line in lines if any(line[1])]) for words, lines in made]


def comparison(rows: Sequence[Evaluation]) -> Answer:
    """Of evaluations on the same split of the same snapshot."""
    question = _("Which model ranks the human reply first?")
    names = [name_of(row) for row in rows]
    x = _("P@1: share of turns in which it does")
    svg = _dots(names, [overall(row) for row in rows], ("p_at_1",), x, question)
    cells: list[list[Cell]] = [
        [name, measure, *one.cells()]
        for name, row in zip(names, rows, strict=True)
        for measure, one in every_measure(overall(row))
        if one
    ]
    note = f"{_turns(max([row.report.get('n_turns') or 0 for row in rows] + [0]))} · {_('lines: 95 % intervals')}"
    return Answer("p-at-1", question, note, head_of(_("model"), _("measure")), cells, svg, _names(RANKED_BY))


def _dots(
    names: Sequence[str], figures: Sequence[Figures], path: tuple[str, ...], x: str, question: str
) -> str:
    """A dot by preference score and one by generation probability for every name; empty where there is none."""
    found = [[value(one, by, *path) for one in figures] for by in RANKED_BY]
    marks = [
        [one.mark(f"{name} {by}") if one else None for name, one in zip(names, series, strict=True)]
        for by, series in zip(RANKED_BY.values(), found, strict=True)
    ]
    if not any(one for series in found for one in series):
        return ""
    return plots.estimates(names, *marks, x=x, description=question)


# ---- one model in full -----------------------------------------------------------------------------------------------


def ranking(report: Figures) -> Answer:
    """P@1, MRR and MAP by both scores, their paired difference, and what needs no model at all."""
    figures, question = report.get("overall", {}), _("How high does it rank the human reply?")
    turned = [{by: value_of(figures, by, key) for by in RANKED_BY} for key in RANKINGS]
    svg = _dots(list(RANKINGS.values()), turned, (), _("from 0 to 1, 1: always first"), question)
    scores = {
        **RANKED_BY,
        "difference": _("difference"),
        "generation_sum": _("by probability of the whole reply"),
    }
    rows: list[list[Cell]] = [
        [f"{short}, {by}", *one.cells()]
        for name, by in scores.items()
        for key, short in RANKINGS.items()
        if (one := value(figures, name, key))
    ]
    rows += [
        [f"P@1, {name}", *one.cells()]
        for key, name in BASELINES.items()
        if (one := value(figures, "baselines", key))
    ]
    n = figures.get("n_turns") or 0
    return Answer("ranking", question, _intervals(n), head_of(_("measure")), rows, svg, _names(RANKED_BY))


def value_of(figures: Figures, *path: str) -> Any:
    """What the report has under these names, or nothing."""
    for name in path:
        figures = figures.get(name, {})
    return figures


def pairs(report: Figures) -> Answer:
    """How often the better of two replies is scored higher."""
    figures, question = report.get("overall", {}), _("Which of two replies does it prefer?")
    turned = [{by: value_of(figures, PAIRED_BY[by], key) for by in RANKED_BY} for key in PAIRS]
    svg = _dots(_names(PAIRS), turned, (), _("share of pairs in this order"), question)
    rows: list[list[Cell]] = [
        [f"{pair}, {by}", *one.cells()]
        for name, by in RANKED_BY.items()
        for key, pair in PAIRS.items()
        if (one := value(figures, PAIRED_BY[name], key))
    ]
    note = _("human: what was sent; model: another candidate; random: a reply of another dialogue")
    return Answer("pairs", question, note, head_of(_("pair")), rows, svg, _names(RANKED_BY))


def group(report: Figures, name: str) -> Answer:
    """P@1 by domain, language or action."""
    # The largest first again: the database keeps no order of names.
    ordered = sorted(report.get(name, {}).items(), key=lambda one: -(one[1].get("n_turns") or 0))
    groups, question = dict(ordered), str(GROUPS[name])
    names = [_group_name(name, key) for key in groups]
    svg = _dots(names, list(groups.values()), ("p_at_1",), "P@1", question)
    rows: list[list[Cell]] = [
        [f"{shown}, {by}", *one.cells()]
        for shown, figures in zip(names, groups.values(), strict=True)
        for of, by in RANKED_BY.items()
        if (one := value(figures, of, "p_at_1"))
    ]
    n = sum(figures.get("n_turns") or 0 for figures in groups.values())
    return Answer(
        name.replace("_", "-"), question, _intervals(n), head_of("P@1"), rows, svg, _names(RANKED_BY)
    )


def _group_name(name: str, key: str) -> str:
    if name == "by_action" and key in Action.values:
        return str(Action(key).label)
    return key or _("not stated")


def _intervals(n: int) -> str:
    return f"{_turns(n)} · {_('lines: 95 % intervals')}"


def answers_of(report: Figures) -> list[Answer]:
    """Everything that a report says; groups only where there is more than one."""
    groups = [group(report, name) for name in GROUPS if len(report.get(name, {})) > 1]
    return [ranking(report), pairs(report), *groups]
