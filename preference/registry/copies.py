"""This host's copies of models that an object store has.

A mark beside a folder names the SHA-256 that all its files had when they were published or fetched. A copy without it,
for example of a training that ended here without being registered, is not trusted.
"""

import fcntl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from django.utils.translation import gettext as _

from common.refusals import Refusal
from common.storage.copies import delete_unused_copies, is_partial, mark_of, mark_used
from common.storage.shared_disk import remove_from_disk
from common.storage.shared_files import Beat, no_beat, shared_models
from dialogues.services.uploads import is_full_disk
from preference.registry.disk_space import check_space, disk_full, has_space
from preference.registry.hashing import files_in, sha256_of_files
from preference.registry.removed_copies import remove_copies_of_removed_models

LOOK_EVERY: Final = 0.5  # seconds, while another process of this host fetches the same model


def missing_files(folder: Path, files: Mapping[str, int]) -> list[str]:
    """Those that are not on this host with the right size. files: bytes by name."""
    return [name for name, size in files.items() if not _is_there(folder / name, size)]


def _is_there(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


def missing_in_store(folder: Path, files: Mapping[str, int]) -> list[str]:
    """The same of the object store, in one request."""
    stored = {str(file.path.relative_to(folder)): file.bytes for file in shared_models().stored_in(folder)}
    return [name for name, size in files.items() if stored.get(name) != size]


def share(folder: Path, sha256: str, beat: Beat = no_beat) -> None:
    """Let every host have the model; this one has it already. sha256: of all files. Does nothing on one disk."""
    if shared_models().is_remote:
        shared_models().publish(folder, beat, leaves_copy=True)
        mark_of(folder).write_text(sha256)


def bring(folder: Path, files: Mapping[str, int], sha256: str, beat: Beat) -> None:
    """Fetch the files unless they are here, and compare them with the hash. Asks the store nothing if they are here.

    Does nothing if the store lacks them. Raises Refusal damaged, without the copy; disk_full.
    """
    if not _is_copy(folder, files, sha256):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder, beat):
            if not _is_copy(folder, files, sha256):
                _fetch(folder, files, sha256, beat)
    for name in files:
        mark_used(folder / name)


def _is_copy(folder: Path, files: Mapping[str, int], sha256: str) -> bool:
    mark = mark_of(folder)
    return mark.is_file() and mark.read_text() == sha256 and not missing_files(folder, files)


def _fetch(folder: Path, files: Mapping[str, int], sha256: str, beat: Beat) -> None:
    mark_of(folder).unlink(missing_ok=True)
    if not missing_files(folder, files):
        if _has_hash(folder, files, sha256, beat):  # made before the store was in use
            mark_of(folder).write_text(sha256)
            return
        if missing_in_store(folder, files):
            raise _damaged(folder)  # perhaps the only copy, so it stays
        remove_from_disk(folder)
    _download(folder, files, beat)
    if missing_files(folder, files):
        return
    _remove_partial(folder)
    if files_in(folder) != files or not _has_hash(folder, files, sha256, beat):
        remove_from_disk(folder)
        raise _damaged(folder)
    mark_of(folder).write_text(sha256)


def _download(folder: Path, files: Mapping[str, int], beat: Beat) -> None:
    remove_copies_of_removed_models(shared_models().root)
    size = sum(files[name] for name in missing_files(folder, files))
    if not has_space(size):  # sooner than once a day
        delete_unused_copies(shared_models().root)
    check_space(size)
    try:
        shared_models().fetch(folder, beat)
    except OSError as error:
        raise (disk_full(size) if is_full_disk(error) else error) from error


def _remove_partial(folder: Path) -> None:
    """Remove what a killed download left: it does not mean damage."""
    for path in folder.rglob(".*"):
        if is_partial(path):
            path.unlink(missing_ok=True)


def _has_hash(folder: Path, files: Mapping[str, int], sha256: str, beat: Beat) -> bool:
    """Models that were trained here were hashed in the order of paths, others in that of names; few have two orders."""
    orders = dict.fromkeys((tuple(sorted(files, key=Path)), tuple(sorted(files))))
    return any(
        sha256_of_files(folder, {name: files[name] for name in order}, beat) == sha256 for order in orders
    )


@contextmanager
def _alone(folder: Path, beat: Beat) -> Iterator[None]:
    """While another process of this host fetches the same folder, wait."""
    with folder.with_name(f".{folder.name}.lock").open("ab") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                beat(0)
                time.sleep(LOOK_EVERY)
            else:
                break
        yield


def _damaged(folder: Path) -> Refusal:
    name = folder.relative_to(shared_models().root)
    return Refusal(
        "damaged",
        _("The model %(folder)s was changed or damaged in the object store: its SHA-256 differs.")
        % {"folder": name},
        _("Restore it there from a backup, or train again."),
    )
