"""Reading the dialogues of a snapshot, with the interface of a project's Selection."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from common.refusals import Refusal
from common.storage.copies import mark_of
from common.storage.shared_disk import remove_from_disk
from common.storage.shared_files import Beat, no_beat, shared_files
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.selection import READ_AT_ONCE, Filters, Preview
from preference.data.storage import snapshots_root
from projects.models import Project

DIALOGUES, FACTS, CARD = "dialogues.jsonl", "snapshot.json", "README.md"
FILES = (DIALOGUES, FACTS, CARD)
Row = dict[str, Any]


class SnapshotName(TypedDict):
    """Which snapshot a file was made from."""

    id: str
    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class FrozenDialogues:
    """The rows of a dialogues.jsonl in the chosen splits.

    filters: those of the snapshot, perhaps with fewer splits.
    """

    project: Project
    filters: Filters
    path: Path
    name: SnapshotName
    total: int
    left_out: Counter[str] = field(default_factory=Counter, compare=False)

    def count(self) -> int:
        return self.total

    def dialogue_count(self, page: Sequence[Any]) -> int:
        return len(page)

    def rows(self) -> Iterator[Row]:
        """One at a time, in the format `diamante`."""
        shared_files().fetch(self.path)
        with self.path.open(encoding="utf-8", newline="\n") as lines:
            for line in lines:
                row = json.loads(line)
                if row["split"] in self.filters.splits:
                    yield row

    def pages(self) -> Iterator[list[Row]]:
        page: list[Row] = []
        for row in self.rows():
            page.append(row)
            if len(page) == READ_AT_ONCE:
                yield page
                page = []
        if page:
            yield page


def frozen_dialogues(snapshot: Snapshot, splits: tuple[str, ...] | None = None) -> FrozenDialogues:
    """The dialogues of a snapshot in these splits, or in all. Raises Refusal not_ready or file_gone."""
    stored_filters = Filters.of(snapshot.filters)
    chosen = (
        stored_filters.splits
        if splits is None
        else tuple(split for split in stored_filters.splits if split in splits)
    )
    filters = Filters(chosen, stored_filters.include_unreviewed, stored_filters.include_withheld)
    return FrozenDialogues(
        snapshot.project,
        filters,
        folder_of_snapshot(snapshot) / DIALOGUES,
        {"id": str(snapshot.pk), "name": snapshot.name, "sha256": snapshot.sha256},
        preview_snapshot(snapshot, filters).leaving,
    )


def folder_of_snapshot(snapshot: Snapshot) -> Path:
    """Its folder, which holds all of FILES, on this host or in the store: see fetched_snapshot.

    Raises Refusal not_ready, file_gone or dialogues_deleted.
    """
    folder = snapshots_root() / snapshot.path
    if not snapshot.sha256:
        raise Refusal("not_ready", _("This snapshot is not finished."), _("Wait until its job is done."))
    if not snapshot.path or not shared_files().names_in(folder).issuperset(FILES):
        raise Refusal(
            "file_gone",
            _("The files of this snapshot were removed from the server."),
            _("Take a new snapshot."),
            status=410,
        )
    if snapshot.deleted:
        raise has_deleted(snapshot)
    return folder


def has_deleted(snapshot: Snapshot) -> Refusal:
    message = ngettext(
        "%(n)s dialogue of this snapshot was deleted since, so its files are closed.",
        "%(n)s dialogues of this snapshot were deleted since, so its files are closed.",
        len(snapshot.deleted),
    ) % {"n": intcomma(len(snapshot.deleted))}
    remedy = _("Take a new snapshot, and remove the files of this one.")
    return Refusal("dialogues_deleted", message, remedy, status=410)


def fetched_snapshot(snapshot: Snapshot, beat: Beat = no_beat) -> Path:
    """Its folder on this host. A copy from the store is compared with its SHA-256 once. Raises like verify_snapshot."""
    folder = folder_of_snapshot(snapshot)
    if not shared_files().is_remote:
        return folder
    mark = mark_of(folder)
    is_compared = mark.is_file() and mark.read_text() == snapshot.sha256
    if is_compared and all((folder / name).is_file() for name in FILES):
        shared_files().fetch(folder, beat)  # notes that it is used
        return folder
    mark.unlink(
        missing_ok=True
    )  # a process that is killed while it fetches leaves files that nobody compared
    return verify_snapshot(snapshot, beat)


def verify_snapshot(snapshot: Snapshot, beat: Beat = no_beat) -> Path:
    """Its folder on this host, after comparing the SHA-256 of every file. Reads all of it.

    Raises Refusal not_ready, file_gone, or damaged, which removes a copy: the store may be restored meanwhile.
    """
    folder, files = folder_of_snapshot(snapshot), shared_files()
    files.fetch(folder, beat)
    try:
        _compare(snapshot, folder, beat)
    except Refusal:
        if files.is_remote:
            mark_of(folder).unlink(missing_ok=True)
            remove_from_disk(folder)
        raise
    if files.is_remote:
        mark_of(folder).write_text(snapshot.sha256)
    return folder


def _compare(snapshot: Snapshot, folder: Path, beat: Beat) -> None:
    for name, sha256 in _expected(snapshot, folder).items():
        beat(0)
        if _sha256(folder / name) != sha256:
            raise _damaged(name)


def _expected(snapshot: Snapshot, folder: Path) -> dict[str, str]:
    """The SHA-256 of the files by name."""
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        return {name: file["sha256"] for name, file in facts["files"].items()} | {DIALOGUES: snapshot.sha256}
    except (ValueError, LookupError, TypeError, AttributeError):
        raise _damaged(FACTS) from None


def _damaged(name: str) -> Refusal:
    return Refusal(
        "damaged",
        _("%(file)s of this snapshot was changed or damaged: its SHA-256 differs.") % {"file": name},
        _("Restore it from a backup, or take a new snapshot."),
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def preview_snapshot(snapshot: Snapshot, filters: Filters) -> Preview:
    """How many of its dialogues are in the chosen splits."""
    columns = {column["split"]: column["dialogues"] for column in snapshot.card.get("splits", [])}
    leaving = sum(columns.get(split, 0) for split in filters.splits)
    return Preview(leaving=leaving, other_split=columns.get("total", 0) - leaving)
