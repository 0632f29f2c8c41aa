"""Reading trainings: a project's list, one of them with its loss curve, what a new one may begin from."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.errors import NotFound, Refusal
from accounts.models import User
from annotation.models import AuthoringSettings
from dialogues.models import Split
from generation.models import BackendKind
from preference.model_files import CURVE, LOG, folder_of_run
from preference.models import RegisteredModel, Snapshot, TrainingRun
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


def held_out(snapshot: Snapshot) -> str:
    """The split that a model trained on it is evaluated on; empty where nothing was held out."""
    # Dialogues without candidates give nothing to rank.
    counts = {one["split"]: one.get("replies", one["dialogues"]) for one in snapshot.card.get("splits", [])}
    return next((split for split in (Split.TEST.value, Split.VALID.value) if counts.get(split)), "")


@dataclass(frozen=True, slots=True)
class Point:
    """The mean over steps `first` to `step` of a training. loss = nll + ranking, in nats; seconds since it began."""

    first: int
    step: int
    epoch: int
    loss: float
    nll: float
    ranking: float
    lr: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Curve:
    """steps: that the training will have made in the end; 0 while that is not known."""

    points: tuple[Point, ...]
    steps: int
    eta_seconds: float | None


def curve_of(run: TrainingRun, *, after: int = 0, most: int = MOST_POINTS) -> Curve:
    """The loss of every step after `after`; of a long training means over equally many steps, at most `most` points."""
    lines = [line for line in _lines(folder_of_run(run) / CURVE) if line["step"] > after]
    if not lines:
        return Curve((), run.latest.get("steps", 0), run.latest.get("eta_seconds"))
    size = -(-len(lines) // most)
    points = tuple(_point(lines[start : start + size]) for start in range(0, len(lines), size))
    return Curve(points, lines[-1]["steps"], lines[-1].get("eta_seconds"))


def _lines(path: Path) -> Iterator[Line]:
    """Whole lines; the last one may be half-written."""
    if not path.is_file():
        return
    with path.open(encoding="utf-8") as file:
        for line in file:
            if not line.endswith("\n"):
                return
            if told := line_of(line):
                yield told


def line_of(text: str | bytes) -> Line:
    """Empty where it cannot be read: after a while with a full disk, half of a line stands before the next one."""
    try:
        line = json.loads(text)
    except ValueError:
        return {}
    return line if isinstance(line, dict) else {}


def _point(lines: Sequence[Line]) -> Point:
    last = lines[-1]
    means = {name: sum(line[name] for line in lines) / len(lines) for name in AVERAGED}
    about = {name: last[name] for name in ("step", "epoch", "lr", "seconds")}
    return Point(first=lines[0]["step"], **about, **means)


def log_of(run: TrainingRun) -> Path:
    """What the trainer wrote for people. Raises Refusal file_gone."""
    path = folder_of_run(run) / LOG
    if not path.is_file():
        raise Refusal(
            "file_gone", _("This training has no log yet."), _("Look again once it runs."), status=410
        )
    return path


@dataclass(frozen=True, slots=True)
class Base:
    """What a training begins from: a registered model, or a folder or hub id.

    source: the folder or hub id, in the first case that at the beginning of the parent's lineage.
    """

    parent: RegisteredModel | None
    source: str

    @property
    def name(self) -> str:
        return self.parent.slug if self.parent else self.source


def base_of_project(project: Project) -> Base | None:
    """The model that writes the project's candidates, where it is a local one."""
    authoring = AuthoringSettings.objects.select_related("generator").filter(project=project).first()
    if authoring is None:
        return None
    generator = authoring.generator
    if generator is None:
        return Base(None, settings.GENERATION_MODEL)
    if generator.backend != BackendKind.HF:
        return None
    parent = RegisteredModel.objects.filter(generator=generator).first()
    return Base(
        parent, parent.base if parent else str(generator.options.get("model", settings.GENERATION_MODEL))
    )


def bases_for(user: User, project: Project) -> list[Base]:
    """What the person may begin a training from, the project's own model first. Administrators may name any other."""
    own = base_of_project(project)
    trained = RegisteredModel.objects.filter(project=project).exclude(folder="")
    listed = [Base(None, name) for name in (settings.GENERATION_MODEL, *settings.TRAINING_BASE_MODELS)]
    found: dict[str, Base] = {}
    for base in [*([own] if own else []), *(Base(model, model.base) for model in trained), *listed]:
        found.setdefault(base.name, base)
    return list(found.values())


def base_named(user: User | None, project: Project, name: str) -> Base:
    """What a training that names its beginning so begins from; empty: the project's own model.

    Raises Refusal no_base, and NotFound for what this person may not name. user None: the command line.
    """
    if not name:
        return _own_base(project)
    model = RegisteredModel.objects.select_related("project").filter(slug=name).first()
    if model and (user is None or Capability.TRAIN in capabilities_of(user, model.project)):
        return Base(model, model.base)
    own = base_of_project(project)
    if own and name == own.name:  # perhaps a trained model of a project that this person is not in
        return own
    listed = (settings.GENERATION_MODEL, *settings.TRAINING_BASE_MODELS)
    if user is None or user.is_superuser or name in listed:
        return Base(None, name)
    raise NotFound(
        _("There is no model “%(name)s” that you may train from.") % {"name": name[:80]},
        _("Choose a trained one, or ask an administrator to add it to TRAINING_BASE_MODELS."),
    )


def _own_base(project: Project) -> Base:
    own = base_of_project(project)
    if own is None:
        raise Refusal(
            "no_base",
            _("The project's candidates do not come from a local model, so there is none to train."),
            _("Name the model to begin from."),
        )
    return own
