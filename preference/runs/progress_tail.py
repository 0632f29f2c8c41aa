"""Following the progress.jsonl of a training while it is written."""

from dataclasses import dataclass, field
from pathlib import Path

from preference.runs.selectors import Line, line_of


@dataclass(slots=True)
class ProgressTail:
    """The newest complete line of a progress.jsonl; every read continues where the last one stopped.

    A resumed training replaces the file, which is then read from the start.
    """

    path: Path
    newest: Line = field(default_factory=dict)
    _offset: int = 0
    _file: int = 0

    def read(self) -> Line:
        try:
            status = self.path.stat()
        except OSError:
            return self.newest
        if (status.st_ino, status.st_size >= self._offset) != (self._file, True):
            self._file, self._offset = status.st_ino, 0
        with self.path.open("rb") as file:
            file.seek(self._offset)
            complete, end, _rest = file.read().rpartition(b"\n")
        self._offset += len(complete) + len(end)
        self.newest = next(
            (line for text in reversed(complete.splitlines()) if (line := line_of(text))), self.newest
        )
        return self.newest
