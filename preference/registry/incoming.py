"""Folders of models that were trained elsewhere: what is in them, and what is refused.

Everything here is quick: names and sizes of files, and small JSON files. Nothing is hashed or loaded.
"""

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from django.utils.translation import gettext as _

from common.refusals import Invalid, Refusal
from common.storage.copies import delete_copies_below
from common.storage.shared_files import Beat, shared_models
from preference.registry.files import HEAD, models_root
from preference.registry.reports import is_report

INCOMING = "incoming"  # below MODELS_ROOT: what may be named over the API
MODEL, CONFIG, EXPLANATION = "model", "config.json", "training.json"
EVALUATION, CURVE = "evaluation.json", "progress.jsonl"
LARGEST_JSON = 8 << 20  # bytes; a report is some ten thousand
LONGEST_LINE = 64 << 10  # bytes of progress.jsonl
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TrainedFolder:
    """The folder of a finished training: DIR as named by --output, or DIR/model.

    model: the folder of the weights. files: its bytes by name. config: training.json. evaluation: the report beside the
    weights, {} without one. metrics: of the last step.
    """

    model: Path
    files: dict[str, int]
    config: Json
    evaluation: Json
    metrics: Json

    @property
    def bytes(self) -> int:
        return sum(self.files.values())

    @property
    def name(self) -> str:
        """ "run" of /data/run and of /data/run/model."""
        return self.model.parent.name if self.model.name == MODEL else self.model.name

    @property
    def data_sha256(self) -> str:
        return str(self.config["data"]["sha256"])

    @property
    def base(self) -> str:
        return str(self.config["base_model"]["name"])[:300]

    @property
    def base_hash(self) -> str:
        """Of the base's files, or the commit of a hub id; "unknown" for neither."""
        return str(self.config["base_model"].get("version", "unknown"))


def incoming_folder(name: str) -> Path:
    """The folder below MODELS_ROOT/incoming. Raises Invalid (folder) for any other path, and for links on the way."""
    folder = _place_of(name)
    if not folder.is_dir():
        raise Invalid(
            _("There is no folder “%(name)s” below MODELS_ROOT/incoming.") % {"name": name[:200]},
            _("Copy it there on the server, or correct the name."),
            field="folder",
        )
    return folder


def is_only_in_store(name: str) -> bool:
    """Whether the folder is in the object store, below models/incoming, and not on this host.

    Raises Invalid as incoming_folder.
    """
    if not shared_models().is_remote or Path(name).is_absolute():
        return False
    folder = _place_of(name)
    return not folder.is_dir() and any(True for _file in shared_models().stored_in(folder))


def fetch_incoming(name: str, beat: Beat) -> None:
    """Bring the files that only the object store has to this host, also the rest of those that were cut off."""
    if shared_models().is_remote and not Path(name).is_absolute():
        for stored in list(shared_models().stored_in(_place_of(name))):
            if not stored.path.exists():
                shared_models().fetch(stored.path, beat)


def remove_fetched_incoming(name: str) -> None:
    """Remove what fetch_incoming brought: the next model of this name may have other files of the same names."""
    if shared_models().is_remote and not Path(name).is_absolute():
        delete_copies_below(shared_models().root, _place_of(name))


def _place_of(name: str) -> Path:
    root = models_root() / INCOMING
    parts = PurePosixPath(name).parts
    names_below = bool(parts) and not name.startswith(("/", "~")) and ".." not in parts and "\0" not in name
    folder = root.joinpath(*parts) if names_below else root
    if not names_below or any(step.is_symlink() for step in _steps(root, folder)):
        raise Invalid(
            _("“%(name)s” does not name a folder below MODELS_ROOT/incoming.") % {"name": name[:200]},
            _("Copy the folder there and give its name, without .., links or a leading slash."),
            field="folder",
        )
    return folder


def _steps(root: Path, folder: Path) -> Iterator[Path]:
    """The folder and its parents below root."""
    return (path for path in (folder, *folder.parents) if path.is_relative_to(root) and path != root)


def read_trained_folder(folder: Path, evaluation: str = "") -> TrainedFolder:
    """What a joint training wrote. folder: absolute. evaluation: another file than evaluation.json in the folder.

    Raises Refusal no_model, links, no_lineage, wrong_kind, wrong_evaluation.
    """
    model = _model_folder(folder)
    files = list_files(model)
    if HEAD not in files:
        raise Refusal(
            "wrong_kind",
            _("The model in %(folder)s has no preference head (%(head)s).") % {"folder": model, "head": HEAD},
            _("Register what python -m preference.training.joint wrote, and copy the whole folder."),
        )
    return TrainedFolder(
        model=model,
        files=files,
        config=_read_lineage(model),
        evaluation=_read_evaluation(folder, evaluation),
        metrics=_last_step(folder / CURVE) or _last_step(model.parent / CURVE),
    )


def _model_folder(folder: Path) -> Path:
    """DIR/model for a DIR that a training wrote. Raises Refusal no_model."""
    if not folder.is_dir():
        raise Refusal(
            "no_model", _("There is no folder %(folder)s.") % {"folder": folder}, _("Correct its path.")
        )
    model = folder if (folder / CONFIG).is_file() else folder / MODEL
    if model != folder and not model.is_dir() and (folder / "state.json").is_file():
        raise Refusal(
            "no_model",
            _("The training in %(folder)s has not finished: it has no model.") % {"folder": folder},
            _("Continue it there with --resume, then copy the folder again."),
        )
    if not (model / CONFIG).is_file():
        raise Refusal(
            "no_model",
            _("%(folder)s has no config.json, so it is not a saved model.") % {"folder": folder},
            _("Name the folder that the training wrote (--output), or the folder model in it."),
        )
    return model


def list_files(model: Path) -> dict[str, int]:
    """Bytes by name of what belongs to the model, in the order of the names; the evaluation is stored apart.

    Raises Refusal links for anything but plain files and folders, no_model without weights.
    """
    files = {name: size for name, size in sorted(_plain_files(model)) if name != EVALUATION}
    if not any(name.endswith(".safetensors") for name in files if name != HEAD):
        raise Refusal(
            "no_model",
            _("%(folder)s has no weights (*.safetensors).") % {"folder": model},
            _("Copy the whole folder; with git, run git lfs pull in it."),
        )
    return files


def _plain_files(model: Path) -> Iterator[tuple[str, int]]:
    for at, folders, names in os.walk(model):
        for name in (*folders, *names):
            path = Path(at, name)
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                yield str(path.relative_to(model)), status.st_size
            elif not stat.S_ISDIR(status.st_mode):
                raise Refusal(
                    "links",
                    _("%(file)s is a link or a device, not a file.") % {"file": path},
                    _("Copy the folder with its contents, for example with cp -rL, and register the copy."),
                )


def _read_lineage(model: Path) -> Json:
    """training.json. Raises Refusal no_lineage."""
    config = _read_json(model / EXPLANATION)
    if not _names_its_origin(config):
        raise Refusal(
            "no_lineage",
            _(
                "%(folder)s has no training.json of a joint training, so nobody could tell where it comes from."
            )
            % {"folder": model},
            _("Copy the whole folder that python -m preference.training.joint wrote."),
        )
    return config


def _names_its_origin(config: Json) -> bool:
    """Whether data, base model and recipe are there, in the form that the trainer writes."""
    data, base, recipe = (config.get(name) for name in ("data", "base_model", "recipe"))
    return (
        isinstance(data, dict)
        and isinstance(data.get("sha256"), str)
        and isinstance(base, dict)
        and isinstance(base.get("name"), str)
        and isinstance(recipe, dict)
    )


def _read_evaluation(folder: Path, named: str) -> Json:
    file = Path(named) if named else folder / EVALUATION
    if not named and not os.path.lexists(file):
        return {}
    report = {} if file.is_symlink() else _read_json(file)
    if not is_report(report):
        raise Refusal(
            "wrong_evaluation",
            _("%(file)s is not a report of an evaluation.") % {"file": file},
            _("Write it with python -m preference.training.joint.evaluation --output, or leave it out."),
        )
    return report


def _read_json(path: Path) -> Json:
    """The object in a JSON file; {} for anything that is not one, or that the database could not store."""
    try:
        if path.stat().st_size > LARGEST_JSON:
            return {}
        return _parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}


def _parse(text: str) -> Json:
    """Raises ValueError for broken JSON, and for NaN, NUL and lone surrogates, which PostgreSQL refuses."""
    value = json.loads(text, parse_constant=_refuse_constant)
    written = json.dumps(value, ensure_ascii=False)
    written.encode()
    if "\\u0000" in written:
        raise ValueError("NUL")
    return value if isinstance(value, dict) else {}


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _last_step(curve: Path) -> Json:
    """The last complete line of a progress.jsonl; {} if it has no such line, or is missing."""
    try:
        with curve.open("rb") as file:
            file.seek(-min(LONGEST_LINE, file.seek(0, os.SEEK_END)), os.SEEK_END)
            lines = file.read().decode(errors="replace").rpartition("\n")[0].splitlines()
    except OSError:
        return {}
    for line in reversed(lines):
        try:
            return {name: value for name, value in _parse(line).items() if isinstance(value, int | float)}
        except (ValueError, RecursionError):
            continue
    return {}
