"""Reading trainings: the list of a project, a single one, its loss curve and its log."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import NotFound, Refusal
from preference.runs.files import CURVE, LOG, open_run_file
from preference.runs.models import TrainingRun
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

Line = dict[str, Any]
MOST_POINTS = 400
AVERAGED = ("loss", "nll", "ranking")


def runs_of(project: Project) -> QuerySet[TrainingRun]:
    """The project's trainings, the newest first, with job, snapshot, parent and model."""
    related = ("job", "project", "snapshot", "parent", "model", "created_by")
    return TrainingRun.objects.filter(project=project).select_related(*related).order_by("-created_at", "-id")


def run_for(user: User, run_id: UUID) -> TrainingRun:
    """The training, for members who may train."""
    related = ("job", "project", "snapshot__job", "parent", "model", "created_by")
    run = TrainingRun.objects.select_related(*related).filter(pk=run_id).first()
    if run is None or Capability.TRAIN not in capabilities_of(user, run.project):
        raise NotFound(_("There is no such training."), _("It may belong to a project that you have left."))
    return run


@dataclass(frozen=True, slots=True)
class HeldOutFigures:
    """What a joint training measured of the split valid: losses in nats, shares from 0 to 1."""

    loss: float
    nll: float
    ranking: float
    p_at_1: float
    pair_accuracy: float


@dataclass(frozen=True, slots=True)
class Point:
    """The mean over steps `first` to `step` of a training. Losses in nats; seconds since it began.

    loss = nll + ranking in a joint training; both are None in others. valid: the mean over the validations of these
    steps, None without any.
    """

    first: int
    step: int
    epoch: int
    loss: float
    nll: float | None
    ranking: float | None
    lr: float
    seconds: float
    valid: HeldOutFigures | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """points: oldest first. steps: total of the finished training, 0 while unknown. eta_seconds: time left."""

    points: tuple[Point, ...]
    steps: int
    eta_seconds: float | None


def curve_of(run: TrainingRun, *, after: int = 0, most: int = MOST_POINTS) -> Curve:
    """The loss of every step after `after`; of a long training means over equally many steps, at most `most` points."""
    lines = [line for line in _curve_lines(run) if line["step"] > after]
    if not lines:
        return Curve((), run.latest.get("steps", 0), run.latest.get("eta_seconds"))
    size = -(-len(lines) // most)
    points = tuple(_point(lines[start : start + size]) for start in range(0, len(lines), size))
    return Curve(points, lines[-1]["steps"], lines[-1].get("eta_seconds"))


def _curve_lines(run: TrainingRun) -> Iterator[Line]:
    file = open_run_file(run, CURVE)
    if file is not None:
        with file:
            yield from _lines(file)


def _lines(file: BinaryIO) -> Iterator[Line]:
    """The parsed complete lines; the last one may be half-written."""
    for line in file:
        if not line.endswith(b"\n"):
            return
        if parsed := line_of(line):
            yield parsed


def line_of_step(path: Path, step: int | None) -> Line:
    """The line of an optimiser step in a progress.jsonl; {} if it has none, or is missing."""
    if not path.is_file():
        return {}
    with path.open("rb") as file:
        return next((line for line in _lines(file) if line["step"] == step), {})


def line_of(text: str | bytes) -> Line:
    """The parsed line; {} if it is broken, as after a full disk, when half a line precedes the next one."""
    try:
        line = json.loads(text)
    except ValueError:
        return {}
    return line if isinstance(line, dict) else {}


def _point(lines: Sequence[Line]) -> Point:
    last = lines[-1]
    means: dict[str, Any] = {
        name: sum(line[name] for line in lines) / len(lines) if name in last else None for name in AVERAGED
    }
    newest = {name: last[name] for name in ("step", "epoch", "lr", "seconds")}
    return Point(first=lines[0]["step"], **newest, **means, valid=_mean_of_validations(lines))


def _mean_of_validations(lines: Sequence[Line]) -> HeldOutFigures | None:
    found = [line["valid"] for line in lines if "valid" in line]
    if not found:
        return None
    names = (field.name for field in fields(HeldOutFigures))
    return HeldOutFigures(**{name: sum(one[name] for one in found) / len(found) for name in names})


@dataclass(frozen=True, slots=True)
class Validation:
    """What was measured after a step."""

    step: int
    figures: HeldOutFigures


@dataclass(frozen=True, slots=True)
class RunCurve:
    """A training beside others. points: of the same steps as those of the others, by their last step.

    steps: made so far. loss: of the last step, in nats. validations: the oldest first.
    """

    run: TrainingRun
    points: dict[int, Point]
    steps: int
    loss: float
    validations: Sequence[Validation]

    @property
    def last(self) -> Validation | None:
        return self.validations[-1] if self.validations else None

    @property
    def lowest_loss(self) -> Validation | None:
        """The first validation with the lowest loss."""
        return min(self.validations, key=lambda one: one.figures.loss, default=None)

    @property
    def highest_p_at_1(self) -> Validation | None:
        """The first validation with the highest P@1."""
        return max(self.validations, key=lambda one: one.figures.p_at_1, default=None)


def curves_of(runs: Sequence[TrainingRun], *, most: int) -> tuple[list[int], list[RunCurve]]:
    """Several trainings over the same steps, as means over equally many steps: the last step of each point, and the
    trainings that have made a step, with their points by that step.

    At most `most` points. Trainings without files are left out.
    """
    lines = {run.pk: list(_curve_lines(run)) for run in runs if run.folder}
    longest = max((found[-1]["step"] for found in lines.values() if found), default=0)
    if not longest:
        return [], []
    size = -(-longest // most)
    ends = [min(end, longest) for end in range(size, longest + size, size)]
    return ends, [_run_curve(run, lines[run.pk], size, ends) for run in runs if lines.get(run.pk)]


def _run_curve(run: TrainingRun, lines: Sequence[Line], size: int, ends: Sequence[int]) -> RunCurve:
    groups = groupby(lines, key=lambda line: (line["step"] - 1) // size)
    points = {ends[number]: _point(list(group)) for number, group in groups}
    measured = [
        Validation(line["step"], figures) for line in lines if (figures := _mean_of_validations([line]))
    ]
    return RunCurve(run, points, lines[-1]["step"], lines[-1]["loss"], measured)


def log_of(run: TrainingRun) -> BinaryIO:
    """The trainer's log, to be closed by the caller. Raises Refusal file_gone."""
    file = open_run_file(run, LOG)
    if file is None:
        raise Refusal(
            "file_gone", _("This training has no log yet."), _("Try again when it is running."), status=410
        )
    return file
