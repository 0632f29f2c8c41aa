"""The report of a comparison as a table for a terminal, with the columns of Diamante's Table 5."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from preference.training.joint.evaluation.table import format_estimate

Report = Mapping[str, Any]
RANKINGS = {
    "joint_preference": "joint training, by preference",
    "joint_generation": "joint training, by generation",
    "generation_alone": "without joint training",
    "untrained_head": "untrained, by a new head",
    "untrained_generation": "untrained, by generation",
    "lexical": "n-grams, no context",
    "other_contexts": "joint, contexts exchanged",
}
WIDTH = 34


def table(report: Report) -> str:
    """The whole table as text. report: as `command.compare` returns it."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    seeds = ", ".join(map(str, report["seeds"]))
    size = f"{report['n_dialogues']} dialogues, {report['n_turns']} turns"
    yield f"split {report['split']}: {size}; mean of seeds {seeds}"
    yield ""
    yield f"{'human reply first':{WIDTH}}{'MAP':>25}{'MRR':>25}{'P@1':>25}  {'P@1 of the seeds'}"
    for key, name in RANKINGS.items():
        if key in report["rankings"]:
            figures = report["rankings"][key]
            yield f"{_measures(name, figures)}  {_range(figures['p_at_1_by_seed'])}"
    yield f"{'chance':{WIDTH}}{'':50}{format_estimate(report['chance']):>25}"
    yield ""
    for key, figures in report["differences"].items():
        _one, other = (RANKINGS[name] for name in key.split("-"))
        yield _measures(f"- {other}", figures)
    yield ""
    yield f"The lines that begin with “-”: {RANKINGS['joint_preference']}, minus that ranking, paired by turn."


def _measures(name: str, figures: Report) -> str:
    return f"{name:{WIDTH}}" + "".join(
        f"{format_estimate(figures[measure]):>25}" for measure in ("map", "mrr", "p_at_1")
    )


def _range(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{min(known):.3f} to {max(known):.3f}" if len(known) > 1 else ""
