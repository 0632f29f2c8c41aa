"""Exports and snapshots: files of training data, as tables if you like."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lapidary.downloads import download
from lapidary.errors import ExtraMissing, LapidaryError, NotReady
from lapidary.work import Work

if TYPE_CHECKING:
    import datasets
    import pandas

SNAPSHOT_FILES = ("dialogues.jsonl", "snapshot.json", "README.md")


class Export(Work):
    """An export of a project or a snapshot."""

    kind = "export"
    address = "exports"

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Rows, SHA-256, filters … of the file. Raises NotReady before it is done."""
        manifest = self.data.get("manifest")
        if not manifest:
            raise NotReady(409, "not_ready", "This export is not finished.", "Call wait() first.", {})
        return dict(manifest)

    @property
    def suffix(self) -> str:
        return str(self.data["file_type"])

    def download(self, path: str | Path, *, progress: bool = True) -> Path:
        """Download the file; after a lost connection, also of an earlier call, only the rest of it."""
        address, sha256 = f"exports/{self.id}/file/", str(self.manifest["sha256"])
        return download(self._transport, address, Path(path), sha256=sha256, progress=progress)

    def to_dataset(self) -> datasets.Dataset:
        """The rows as a datasets.Dataset. Needs lapidary[data]."""
        return self._read("datasets")

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame. Needs lapidary[data]."""
        return self._read("pandas")

    def _read(self, package: str) -> Any:
        module = _import(package)
        with tempfile.TemporaryDirectory() as folder:
            path = self.download(Path(folder) / f"rows.{self.suffix}", progress=False)
            return _frame(module, path) if package == "pandas" else _dataset(module, path)


def _frame(pandas_module: Any, path: Path) -> Any:
    if path.suffix == ".parquet":
        return pandas_module.read_parquet(path)
    # read_json would turn an id such as "007" into a number.
    return pandas_module.DataFrame(_columns(path))


def _dataset(datasets_module: Any, path: Path) -> Any:
    """In memory, because the file goes; without a cache that would be shared between exports."""
    if path.suffix == ".parquet":
        import pyarrow.parquet

        return datasets_module.Dataset(pyarrow.parquet.read_table(path))
    # from_list would drop what the first row does not have.
    return datasets_module.Dataset.from_dict(_columns(path))


def _columns(path: Path) -> dict[str, list[Any]]:
    """The columns of JSON Lines; None where a row has no value."""
    with path.open(encoding="utf-8", newline="\n") as lines:
        rows = [json.loads(line) for line in lines]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _import(package: str) -> Any:
    try:
        return __import__(package)
    except ImportError as error:
        raise ExtraMissing(
            f"The package {package} is not installed.", 'Install it: pip install "lapidary[data]".'
        ) from error


class SnapshotChanged(LapidaryError):
    """A snapshot that cannot be pulled: its files are closed or were removed."""


class Snapshot(Work):
    """A frozen data set."""

    kind = "snapshot"
    address = "snapshots"

    @property
    def name(self) -> str:
        return str(self.data["name"])

    @property
    def sha256(self) -> str:
        """Of dialogues.jsonl; empty before it is done."""
        return str(self.data["sha256"])

    @property
    def card(self) -> Mapping[str, Any] | None:
        """Statistics; None before it is done."""
        if self.data.get("card") is None and self.state == "done":
            self.refresh()
        card: Mapping[str, Any] | None = self.data.get("card")
        return card

    def pull(self, folder: str | Path, *, progress: bool = True) -> Path:
        """Download its files into a folder, as the trainers read it, and check them. Safe to repeat.

        What is there already is kept; after a lost connection only the rest is loaded. Raises SnapshotChanged if
        dialogues of it were deleted or its files were removed.
        """
        if not self.data.get("has_files"):
            self.refresh()
        self._check_files()
        for name in SNAPSHOT_FILES:
            address, sha256 = (
                f"snapshots/{self.id}/files/{name}/",
                self.sha256 if name == SNAPSHOT_FILES[0] else "",
            )
            download(self._transport, address, Path(folder) / name, sha256=sha256, progress=progress)
        return Path(folder)

    def _check_files(self) -> None:
        if self.state != "done":
            raise NotReady(409, "not_ready", "This snapshot is not finished.", "Call wait() first.", {})
        if deleted := self.data.get("deleted_dialogues"):
            raise SnapshotChanged(
                f"{deleted} dialogues of the snapshot “{self.name}” were deleted since.",
                "Take a new snapshot.",
            )
        if not self.data.get("has_files"):
            raise SnapshotChanged(
                f"The files of the snapshot “{self.name}” were removed.", "Take a new snapshot."
            )
