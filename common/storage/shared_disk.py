"""A folder that all web servers and workers have mounted: the embedded default."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISREG
from uuid import uuid4

from django.core.files.storage import FileSystemStorage

from common.storage.shared_files import Beat, Opened, StoredFile, no_beat


class SharedDisk(FileSystemStorage):
    """What one process writes, every other one reads at once. See SharedFiles."""

    is_remote = False

    @property
    def root(self) -> Path:
        return Path(self.location)

    def publish(self, path: Path, beat: Beat = no_beat, *, leaves_copy: bool = False) -> None:
        return

    def hand_over(self, path: Path, beat: Beat = no_beat) -> None:
        return

    def fetch(self, path: Path, beat: Beat = no_beat) -> bool:
        return False

    def exists_anywhere(self, path: Path) -> bool:
        return path.is_file()

    def open_from(self, path: Path, begin: int = 0) -> Opened:
        stat = path.stat()
        if begin and begin >= stat.st_size:
            raise EOFError
        file = path.open("rb")
        file.seek(begin)
        return Opened(file, stat.st_size, f"{stat.st_mtime_ns:x}-{stat.st_size:x}")

    def read(self, path: Path) -> bytes:
        return path.read_bytes()

    def write(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f"{path.name}.{uuid4().hex}.new")
        try:
            new.write_bytes(content)
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)  # of a full disk

    def signed_url(self, path: Path, *, content_type: str, name: str = "") -> str:
        return ""

    def remove(self, path: Path, *, or_refuse: bool = False) -> None:
        remove_from_disk(path)

    def names_in(self, folder: Path) -> set[str]:
        return {path.name for path in folder.glob("*")}

    def stored_in(self, folder: Path) -> Iterator[StoredFile]:
        for path in sorted(folder.rglob("*")):
            try:
                stat = path.stat()
            except FileNotFoundError:  # renamed or deleted a moment ago, or a link to nothing
                continue
            if S_ISREG(stat.st_mode):
                yield StoredFile(path, stat.st_size, stat.st_mtime)


def remove_from_disk(path: Path) -> None:
    """A file or folder, also if it is read-only; does nothing if it does not exist."""
    if path.is_dir():
        path.chmod(0o700)
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
