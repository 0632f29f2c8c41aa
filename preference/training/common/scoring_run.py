"""Scoring a file of replies, or labelling one of dialogues: batches, progress, and going on after a stop.

OUTPUT             one row per item, in the order of the input, appended batch by batch
OUTPUT.run.json    evaluator and data, by which a resumed run is compared with the first
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import Evaluator, ReplyScore, ReplyToScore
from preference.training.common.json_lines import Row
from preference.training.common.messages import gettext as _
from preference.training.common.progress import read_lines, replace_json

Item = TypeVar("Item", contravariant=True)
BATCH = 64  # replies between two writes; an evaluator divides them further by what fits into memory


def score_in_batches(
    evaluator: Evaluator,
    replies: Sequence[ReplyToScore],
    *,
    batch: int = BATCH,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[ReplyScore]:
    """Scores of all replies, in their order. progress: called with (scored, all) before and after every batch."""
    scores: list[ReplyScore] = []
    progress(0, len(replies))
    for start in range(0, len(replies), batch):
        scores += evaluator.score(replies[start : start + batch])
        progress(len(scores), len(replies))
    return scores


class OutputRow(Protocol):
    """A score, a label: whatever becomes a row of the output."""

    def as_row(self) -> Row: ...


class Scorer(Protocol[Item]):
    """An evaluator of replies, or of anything else."""

    def score(self, items: Sequence[Item], /) -> Sequence[OutputRow]:
        """One row for each item, in their order."""
        ...

    def describe(self) -> dict[str, Any]: ...


def score_to_file(
    evaluator: Scorer[Item],
    replies: Sequence[Item],
    output: Path,
    *,
    data_sha256: str,
    resume: bool = False,
    batch: int = BATCH,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Write one row per reply to `output`.

    resume: keep the rows that an earlier run of the same evaluator and data wrote, and score the rest. Raises
    TrainingError if `output` exists and resume is false, or if it belongs to another evaluator or other data.
    """
    manifest = {"evaluator": evaluator.describe(), "data_sha256": data_sha256}
    run_file = output.with_name(f"{output.name}.run.json")
    done = _claim(output, run_file, manifest, resume=resume)
    progress(done, len(replies))
    try:
        with output.open("a", encoding="utf-8") as file:
            for start in range(done, len(replies), batch):
                scores = evaluator.score(replies[start : start + batch])
                file.writelines(json.dumps(score.as_row(), ensure_ascii=False) + "\n" for score in scores)
                file.flush()
                progress(start + len(scores), len(replies))
    except OSError as error:
        raise _unwritable(output, error) from error


def _claim(output: Path, run_file: Path, manifest: Mapping[str, Any], *, resume: bool) -> int:
    """Prepare the output file. Returns how many of its rows are kept."""
    try:
        if output.exists() and not resume:
            raise TrainingError(
                _("%(file)s exists already.") % {"file": output},
                _("Continue it with --resume, or name another file."),
            )
        if output.exists():
            if not run_file.exists() or _read_json(run_file) != json.loads(json.dumps(manifest)):
                raise TrainingError(
                    _("%(file)s was written by another evaluator, or for other data.") % {"file": output},
                    _("Use the same evaluator and data, or name another file."),
                )
            return _drop_cut_line(output)
        output.parent.mkdir(parents=True, exist_ok=True)
        replace_json(run_file, dict(manifest))
        output.write_text("", encoding="utf-8")
    except OSError as error:
        raise _unwritable(output, error) from error
    return 0


def _read_json(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def _drop_cut_line(output: Path) -> int:
    """Remove a last line that a kill cut short. Returns the number of whole lines."""
    rows = read_lines(output)
    output.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return len(rows)


def _unwritable(output: Path, error: OSError) -> TrainingError:
    return TrainingError(
        _("%(file)s cannot be written: %(reason)s.") % {"file": output, "reason": error.strerror},
        _("Name another file with --output."),
    )
