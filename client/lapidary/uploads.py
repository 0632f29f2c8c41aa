"""Sending the folder of a trained model in pieces, so that a lost connection costs one piece."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from lapidary.downloads import BLOCK, sha256_of
from lapidary.errors import LapidaryError, Problem
from lapidary.transport import Transport
from lapidary.work import bar

MODEL = "model"
BESIDE = ("training.json", "progress.jsonl", "evaluation.json")  # what belongs to a model beside its folder
EVALUATION = "evaluation.json"
# "unreadable": the line was too slow for a whole piece; what has arrived of it is kept.
PASSING = frozenset({"wrong_offset", "wrong_hash", "busy", "unreadable"})
MOST_FAILURES = 5  # of one file


class NotAModel(LapidaryError):
    """A folder without a saved model."""


@dataclass(frozen=True)
class ModelFolder:
    """What is sent of a folder. files: paths by the name under which they are sent, in the order of the names.

    prefix: of the names of the model's own files; the others lie beside it.
    """

    name: str
    prefix: str
    files: Mapping[str, Path]
    hashes: Mapping[str, str]

    @property
    def bytes(self) -> int:
        return sum(path.stat().st_size for path in self.files.values())

    def upload_id(self, project: str) -> str:
        """The same for the same files, so that pushing again goes on where it was cut off."""
        facts = [f"{name}:{self.hashes[name]}" for name in self.files]
        return str(uuid5(NAMESPACE_URL, "\n".join([project, self.name, *facts])))

    def sha256(self) -> str:
        """As the server computes it: of names, sizes and contents of the model's own files."""
        digest = hashlib.sha256()
        names = (name for name in self.files if name.startswith(self.prefix))
        own = {name.removeprefix(self.prefix): self.files[name] for name in names}
        for name in sorted(set(own) - {EVALUATION}):
            digest.update(f"{name}:{own[name].stat().st_size};".encode())
            with own[name].open("rb") as file:
                while block := file.read(BLOCK):
                    digest.update(block)
        return digest.hexdigest()


def read_model_folder(folder: Path) -> ModelFolder:
    """The folder that a training wrote (--output), or the folder `model` in it. Raises NotAModel."""
    folder = folder.resolve()
    prefix = "" if (folder / "config.json").is_file() else f"{MODEL}/"
    if not (folder / prefix / "config.json").is_file():
        raise NotAModel(
            f"{folder} has no config.json, and no folder model with one.",
            "Give the folder that the training wrote (--output).",
        )
    files = _files_in(folder / prefix, prefix)
    if f"{prefix}config.json" not in files:
        raise NotAModel(
            f"The files of {folder} are links, which are not followed.",
            "Copy them with what they lead to: cp -rL.",
        )
    if prefix:
        files |= {name: folder / name for name in BESIDE if (folder / name).is_file()}
    files = dict(sorted(files.items()))
    name = folder.parent.name if folder.name == MODEL else folder.name
    hashes = {each: sha256_of(path) for each, path in files.items()}
    return ModelFolder(_plain(name), prefix, files, hashes)


def _files_in(folder: Path, prefix: str) -> dict[str, Path]:
    """Without hidden files, and without links that lead elsewhere."""
    found = {}
    for path in folder.rglob("*"):
        inner = path.relative_to(folder)
        if path.is_file() and not path.is_symlink() and not any(part.startswith(".") for part in inner.parts):
            found[f"{prefix}{inner.as_posix()}"] = path
    return found


def _plain(name: str) -> str:
    """The name of a folder as the server takes it."""
    kept = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "_-.") else "-" for letter in name
    )
    return kept.strip("-.")[:100] or "model"


def upload(transport: Transport, project: str, folder: ModelFolder, *, progress: bool) -> str:
    """Send what the server does not have yet; returns the id of the complete upload."""
    upload_id = folder.upload_id(project)
    address = f"projects/{project}/model-uploads/"
    announced = [
        {"name": name, "size": path.stat().st_size, "sha256": folder.hashes[name]}
        for name, path in folder.files.items()
    ]
    body = {"id": upload_id, "name": folder.name, "files": announced}
    state = transport.post(address, body, repeatable=True)
    if state["is_complete"]:
        return upload_id
    with bar(f"push {folder.name}", folder.bytes, "bytes", shown=progress) as shown:
        for name, path in folder.files.items():
            file = _File(transport, f"{address}{upload_id}/", name, path, int(state["chunk_bytes"]))
            state = file.send(state, shown.update)
    return upload_id


class _File:
    """One file on its way. A piece whose answer was lost is noticed, because the server says how far the file is."""

    def __init__(self, transport: Transport, address: str, name: str, path: Path, chunk: int) -> None:
        self._transport, self._address, self._name, self._path, self._chunk = (
            transport,
            address,
            name,
            path,
            chunk,
        )

    def send(self, state: Mapping[str, Any], shown: Callable[[int], object]) -> Mapping[str, Any]:
        """state: of the upload, as the server returned it last. Returns the newest."""
        failures = 0
        shown(self._received(state))
        while self._name not in state["complete"]:
            before = self._received(state)
            try:
                state = self._put(before)
            except Problem as problem:
                failures += 1
                if problem.code not in PASSING or failures > MOST_FAILURES:
                    raise
                if problem.code == "busy":  # with an earlier piece of ours, whose answer was lost
                    self._transport.retries.wait(failures)
                state = self._transport.get(self._address)
                failures = 0 if self._received(state) > before else failures
            shown(self._received(state) - before)
        return state

    def _received(self, state: Mapping[str, Any]) -> int:
        return int(state["received"][self._name])

    def _put(self, offset: int) -> Any:
        def piece() -> bytes:
            with self._path.open("rb") as file:
                file.seek(offset)
                return file.read(self._chunk)

        address = f"{self._address}files/{self._name}/"
        return self._transport.send("PUT", address, params={"offset": offset}, content=piece)
