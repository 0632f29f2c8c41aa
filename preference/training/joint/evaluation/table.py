"""The report of an evaluation as a table for a terminal.

    human reply first, by                          MAP                     MRR                     P@1
    preference score              0.712 [0.689, 0.735]    …

Columns have fixed widths, so that two tables can be compared with diff.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Report = Mapping[str, Any]
RANKINGS = (
    ("preference", "preference score"),
    ("generation", "generation, per token"),
    ("generation_sum", "generation, summed"),
    ("difference", "preference - generation"),
)
PAIRS = (
    ("human_model", "human > model"),
    ("human_random", "human > random"),
    ("model_random", "model > random"),
)
GROUPS = (("by_domain", "domain"), ("by_language", "language"), ("by_action", "action"))
BASELINES = {
    "chance": "chance",
    "longest": "the longest",
    "shortest": "the shortest",
    "question": "one that asks",
    "improbable": "the least probable",
}
CONTROLS = {
    "lexical": "n-grams, no context",
    "over_lexical": "model - n-grams",
    "other_context": "contexts exchanged",
    "over_other_context": "model - exchanged",
}


def table(report: Report) -> str:
    """The whole table as text. report: as `command.evaluate` returns it."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    overall, model = report["overall"], report["model"]
    head = {"trained": "", "untrained": ", with an untrained head", None: ", which has no preference head"}
    yield f"{model['version']}{head[model['head']]}"
    yield f"split {report['split']}: {report['n_dialogues']} dialogues, {report['n_turns']} turns; [95 % interval]"
    yield ""
    yield f"{'human reply first, by':26}{'MAP':>24}{'MRR':>24}{'P@1':>24}"
    for key, name in RANKINGS:
        if key in overall:
            yield _ranking(name, overall[key])
    for key, name in CONTROLS.items():
        if key in report.get("controls", {}):
            yield _ranking(name, report["controls"][key])
    for key, name in BASELINES.items():
        yield f"{name:26}{'':48}{format_estimate(overall['baselines'][key]):>24}"
    yield ""
    yield from _pairs(overall)
    yield f"{'nats per token':26}{format_estimate(overall['nll']):>24}"
    yield f"{'perplexity':26}{format_estimate(overall['perplexity']):>24}"
    for key, name in GROUPS:
        yield from _group(report[key], name)
    for note in report.get("notes", []):
        yield f"\n{note}"


def _ranking(name: str, figures: Report) -> str:
    return f"{name:26}" + "".join(
        f"{format_estimate(figures[measure]):>24}" for measure in ("map", "mrr", "p_at_1")
    )


def _pairs(overall: Report) -> Iterator[str]:
    """Accuracy of each kind of pair; a column for preference only if the model has a head."""
    columns = [
        (key, name)
        for key, name in (("pairs", "preference"), ("generation_pairs", "generation"))
        if key in overall
    ]
    yield f"{'pairs in order, by':26}" + "".join(f"{name:>24}" for _, name in columns)
    for kind, name in PAIRS:
        yield f"{name:26}" + "".join(f"{format_estimate(overall[key][kind]):>24}" for key, _ in columns)


def _group(groups: Mapping[str, Report], name: str) -> Iterator[str]:
    """P@1 by the groups of one kind; more measures would not fit on a line."""
    kinds = [
        kind for kind in RANKINGS if kind[0] in next(iter(groups.values())) and kind[0] != "generation_sum"
    ]
    yield ""
    yield f"{'P@1 by ' + name:20}{'turns':>6}" + "".join(f"{title:>24}" for _, title in kinds)
    for group, figures in groups.items():
        columns = "".join(f"{format_estimate(figures[kind]['p_at_1']):>24}" for kind, _ in kinds)
        yield f"{group or 'none':20}{figures['n_turns']:>6}{columns}"


def format_estimate(estimate: Mapping[str, Any]) -> str:
    """`value [low, high]`; "-" if the figure is undefined, the value alone if it has no interval."""
    if estimate["value"] is None:
        return "-"
    value = f"{estimate['value']:.3f}"
    return value if estimate["low"] is None else f"{value} [{estimate['low']:.3f}, {estimate['high']:.3f}]"
