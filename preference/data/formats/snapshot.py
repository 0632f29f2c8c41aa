"""Writing a snapshot: the complete folder or nothing, read-only, with a hash."""

import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from common.release import code_version
from common.storage.shared_disk import remove_from_disk
from common.storage.shared_files import shared_files
from dialogues.models import Dialogue
from jobs.models import Job
from jobs.progress import JobLost, Progress
from preference.data.formats import card, diamante, labelled, labelled_card
from preference.data.formats.writing import HashingWriter, encode
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.frozen_dialogues import CARD, DIALOGUES, FACTS, fetched_snapshot
from preference.data.selectors.selection import Filters, Selection, default_language, select
from preference.data.services.snapshots import nothing_to_take
from preference.data.storage import snapshots_root
from projects.models import Project
from projects.models import Protocol as ProjectProtocol

Row = dict[str, Any]


class CardCounter(Protocol):
    """Counts rows for the card while they are written."""

    def add(self, dialogue: Dialogue, row: Mapping[str, Any]) -> None: ...

    def as_json(self, splits: Sequence[str]) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class FrozenFormat:
    """How the snapshots of one protocol are written.

    rows: of one page of dialogues. readme: the card as Markdown, from snapshot.json.
    """

    schema_version: str
    rows: Callable[[Selection, Sequence[Dialogue]], Iterator[tuple[Dialogue, Row]]]
    counter: Callable[[], CardCounter]
    readme: Callable[[Snapshot, Mapping[str, Any]], str]


def _authored_rows(selection: Selection, page: Sequence[Dialogue]) -> Iterator[tuple[Dialogue, Row]]:
    """Rows of `diamante` with language and domain, which trainers group by, even if they are unknown."""
    utterances, default = selection.utterances(page), default_language(selection.project)
    for dialogue in page:
        if dialogue.pk in utterances:
            groups = {"language": dialogue.language or default, "domain": dialogue.domain}
            yield dialogue, {**diamante.row(dialogue, utterances[dialogue.pk]), **groups}


AUTHORED = FrozenFormat(f"diamante/{diamante.VERSION}", _authored_rows, card.CardCounts, card.readme)
LABELLED = FrozenFormat(
    f"labelled/{labelled.VERSION}", labelled.rows, labelled_card.LabelledCardCounts, labelled_card.readme
)


def frozen_format(project: Project) -> FrozenFormat:
    return LABELLED if project.protocol == ProjectProtocol.LABELLING else AUTHORED


def run_snapshot_job(job: Job, progress: Progress) -> dict[str, Any]:
    """Write the folder of the job's snapshot; running it again after a kill rewrites it, unless it is finished."""
    snapshot = Snapshot.objects.select_related("project").get(job=job)
    if not snapshot.path:
        selection = select(snapshot.project, Filters.of(snapshot.filters))
        progress.start(total=selection.count(), unit="dialogues")
        facts = _freeze(snapshot, selection, progress)
        written = facts["files"][DIALOGUES]
        snapshot.path, snapshot.card = str(snapshot.pk), facts["card"]
        snapshot.bytes, snapshot.sha256 = written["bytes"], written["sha256"]
        snapshot.schema_version = facts["schema_version"]
        snapshot.save(update_fields=["path", "card", "bytes", "sha256", "schema_version"])
    return {
        "dialogues": snapshot.card["splits"][-1]["dialogues"],
        "bytes": snapshot.bytes,
        "sha256": snapshot.sha256,
    }


def _freeze(snapshot: Snapshot, selection: Selection, progress: Progress) -> dict[str, Any]:
    """Write the folder and rename it when all of it is on disk. Returns the content of snapshot.json."""
    root, name = snapshots_root(), str(snapshot.pk)
    root.mkdir(parents=True, exist_ok=True)
    for leftover in (root / name, *root.glob(f".{name}.*")):  # left by a killed worker
        remove_from_disk(leftover)
    partial = root / f".{name}.{uuid.uuid4().hex}"
    partial.mkdir()
    try:
        facts = _write(snapshot, selection, partial, progress)
        progress.heartbeat()
        for path in partial.iterdir():
            path.chmod(0o400)
        partial.rename(root / name)
        (root / name).chmod(0o500)
    finally:
        remove_from_disk(partial)
    publish_folder(root / name, progress)
    return facts


def publish_folder(folder: Path, progress: Progress) -> None:
    """Keep it on this host, where it is exported and trained on. If the store refuses it, nothing is kept."""
    written = folder.stat().st_ino
    try:
        shared_files().publish(folder, progress.beat, leaves_copy=True)
    except JobLost:
        # Another worker publishes the same names now, and perhaps its folder is here already.
        if folder.exists() and folder.stat().st_ino == written:
            remove_from_disk(folder)
        raise
    except BaseException:
        shared_files().remove(folder)
        raise


def _write(snapshot: Snapshot, selection: Selection, folder: Path, progress: Progress) -> dict[str, Any]:
    format = frozen_format(snapshot.project)
    with (folder / DIALOGUES).open("wb") as out:
        file, counts = HashingWriter(out), format.counter()
        _write_dialogues(format, selection, file, counts, progress)
        _to_disk(out)
    facts = {
        "id": str(snapshot.pk),
        "name": snapshot.name,
        "project": snapshot.project.slug,
        "schema_version": format.schema_version,
        "filters": snapshot.filters,
        "seed": snapshot.seed,
        "code_version": code_version(),
        "created_at": snapshot.created_at.isoformat(),
        "files": {DIALOGUES: {"bytes": file.bytes, "sha256": file.digest.hexdigest()}},
        "card": counts.as_json(selection.filters.splits),
    }
    with (folder / CARD).open("wb") as out:
        text = HashingWriter(out)
        text.put(format.readme(snapshot, facts).encode())
        _to_disk(out)
    facts["files"][CARD] = {"bytes": text.bytes, "sha256": text.digest.hexdigest()}
    with (folder / FACTS).open("wb") as out:
        out.write((json.dumps(facts, ensure_ascii=False, indent=2) + "\n").encode())
        _to_disk(out)
    return facts


def _write_dialogues(
    format: FrozenFormat, selection: Selection, file: HashingWriter, counts: CardCounter, progress: Progress
) -> None:
    done = 0
    for page in selection.pages():
        for dialogue, row in format.rows(selection, page):
            file.put(encode(row))
            counts.add(dialogue, row)
        done += len(page)
        progress.report(done)
    if not file.bytes:
        raise nothing_to_take(selection.project)


def _to_disk(out: IO[bytes]) -> None:
    out.flush()
    os.fsync(out.fileno())


def copy_snapshot(snapshot: Snapshot, folder: Path) -> None:
    """Copy its files, writable, into a new or empty folder. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(fetched_snapshot(snapshot).iterdir()):
        shutil.copyfile(path, folder / path.name)
