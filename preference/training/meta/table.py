"""The report as tables for a terminal.

    correlation with people           scored                   Pearson                  Spearman        …
    likelihood                           360      0.112 [0.020, 0.201]      …

Columns have fixed widths, so that two tables can be compared with diff.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Figures = Mapping[str, Any]
MEASURES = ("pearson", "spearman", "kendall")
NAME = 32  # characters of the first column
MOST_REASONS = 3  # that are listed of one evaluator
MOST_PEOPLE = 12  # who are listed one by one; the JSON has all


def table(report: Figures) -> str:
    """The whole report as text."""
    return "\n".join(_lines(report))


def format_estimate(estimate: Figures) -> str:
    """`value [low, high]`; "-" if it is undefined, the value alone if it has no interval."""
    if estimate["value"] is None:
        return "-"
    value = f"{estimate['value']:.3f}"
    return value if estimate["low"] is None else f"{value} [{estimate['low']:.3f}, {estimate['high']:.3f}]"


def format_p(p: float | None) -> str:
    if p is None:
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def ordered(report: Figures) -> list[Figures]:
    """The evaluators from best to worst."""
    by_name = {figures["name"]: figures for figures in report["evaluators"]}
    return [by_name[name] for name in report["ranking"]]


def _lines(report: Figures) -> Iterator[str]:
    yield (
        f"{report['n_rows']} replies to {report['n_histories']} histories, {report['n_judged']} with a human score; "
        "[95 % interval]"
    )
    yield ""
    yield _row("correlation with people", "scored", *(name.capitalize() for name in MEASURES))
    for figures in ordered(report):
        yield _row(
            figures["name"], figures["n_scored"], *(format_estimate(figures[name]) for name in MEASURES)
        )
    for figures in ordered(report):
        yield from _reasons(figures)
    sections = (_differences, _people, _systems, _labels, _people_labels, _comparisons, _probes)
    for section in sections:
        lines = list(section(report))
        yield from ["", *lines] if lines else []
    for note in report["notes"]:
        yield f"\n{note}"


def _reasons(figures: Figures) -> Iterator[str]:
    """Why rows have no score, the most frequent reasons first."""
    reasons = list(figures["reasons"].items())
    for reason, count in reasons[:MOST_REASONS]:
        yield f"  {figures['name']}: {count} × {reason}"
    if others := sum(count for _reason, count in reasons[MOST_REASONS:]):
        yield f"  {figures['name']}: {others} × other reasons"


def _row(name: str, count: object, *cells: str) -> str:
    return f"{name[:NAME]:{NAME}}{count:>8}" + "".join(f"{cell:>26}" for cell in cells)


def _differences(report: Figures) -> Iterator[str]:
    rows = [
        row
        for row in report["differences"]
        if row["measure"] == report["ranked_by"] and row["difference"]["n"]
    ]
    if rows:
        yield _row(f"{report['ranked_by'].capitalize()}, paired", "n", "difference", "p", "p (Holm)")
    for row in rows:
        yield _row(
            f"{row['one']} - {row['other']}",
            row["difference"]["n"],
            format_estimate(row["difference"]),
            format_p(row["p"]),
            format_p(row["p_adjusted"]),
        )


def _people(report: Figures) -> Iterator[str]:
    people = report["people"]
    if people is None:
        return
    names = [name for name in MEASURES if name in people]
    yield _row("against the other people", "n", *(name.capitalize() for name in names))
    rows = [("a person", [people[name]["mean"] for name in names])]
    if len(people["people"]) <= MOST_PEOPLE:
        rows += [
            (f"  {person}", [people[name]["by_person"][person] for name in names])
            for person in people["people"]
        ]
    for name, estimates in rows:
        yield _row(name, estimates[0]["n"], *map(format_estimate, estimates))
    for evaluator in report["ranking"]:
        found = [people[name]["evaluators"][evaluator] for name in names]
        yield _row(
            f"{evaluator} - person",
            found[0]["difference"]["n"],
            *(format_estimate(each["difference"]) for each in found),
        )


def _systems(report: Figures) -> Iterator[str]:
    rows = [(figures["name"], figures["systems"]) for figures in ordered(report) if "systems" in figures]
    if rows:
        yield _row("over systems", "systems", *(name.capitalize() for name in MEASURES))
    for name, systems in rows:
        yield _row(name, len(systems["means"]), *(format_estimate(systems[measure]) for measure in MEASURES))


def _labels(report: Figures) -> Iterator[str]:
    for figures in ordered(report):
        labels = figures["labels"]
        if labels is None:
            continue
        yield _row(f"labels of {figures['name']}", "n", "kappa", "accuracy", "macro F1")
        cells = (format_estimate(labels[name]) for name in ("kappa", "accuracy", "f1"))
        yield _row("", labels["n"], *cells)
        yield _row("  class", "right", "false positives", "false negatives")
        for error in labels["errors"]:
            counts = (str(error["false_positives"]), str(error["false_negatives"]))
            yield _row(f"  {error['class']}", error["true_positives"], *counts)


def _people_labels(report: Figures) -> Iterator[str]:
    people = report["people_labels"]
    if people is None:
        return
    yield _row("labels of people", "n", "percent", "Krippendorff's alpha", "mean kappa of two")
    cells = (format_estimate(people["percent"]), format_estimate(people["krippendorff_alpha"]))
    yield _row("", people["percent"]["n"], *cells, _number(people["mean_kappa"]))
    for name, kappa in people["evaluators"].items():
        if kappa is not None:
            yield _row(f"  {name} with a person", "", "", "", _number(kappa))


def _comparisons(report: Figures) -> Iterator[str]:
    for figures in ordered(report):
        found = figures["comparisons"]
        if found is None:
            continue
        bias = format_estimate(found["position_bias"])
        yield f"{figures['name']}: position bias {bias}, mean gap {found['mean_gap']:.3f}"
        yield _row("  comparison examples", "subsets", "Pearson (lowest, highest)", "Spearman (…)")
        for row in found["examples"]:
            yield _row(
                f"  {row['k']}", row["subsets"], *(_span(row[name]) for name in ("pearson", "spearman"))
            )


def _probes(report: Figures) -> Iterator[str]:
    probes: Sequence[tuple[str, Figures]] = list(report.get("probes", {}).items())
    for name, found in probes:
        yield _row(f"spoiled replies: {name}", "n", "noticed", "drop of the score")
        for probe, figures in found.items():
            estimates = (figures["noticed"], figures["drop"])
            yield _row(f"  {probe}", figures["noticed"]["n"], *map(format_estimate, estimates))


def _span(values: Figures) -> str:
    if values["mean"] is None:
        return "-"
    return f"{values['mean']:.3f} ({values['low']:.3f}, {values['high']:.3f})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
