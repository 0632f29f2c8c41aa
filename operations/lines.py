"""What the commands print: sizes, and a line of progress every few seconds."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

LINE_EVERY = 5.0  # seconds


def human_size(number: int) -> str:
    """Bytes as people write them: 512 B, 1.4 MB."""
    size = float(number)
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TB"


@dataclass(slots=True)
class FileCounter:
    """Counts files and bytes, and writes a line at most every LINE_EVERY seconds."""

    write: Callable[[str], object]
    verb: str
    files: int = 0
    bytes: int = 0
    written_at: float = field(default_factory=time.monotonic)

    def add(self, size: int) -> None:
        self.files += 1
        self.bytes += size
        if time.monotonic() - self.written_at > LINE_EVERY:
            self.written_at = time.monotonic()
            self.write(self.text())

    def text(self) -> str:
        return f"{self.verb} {self.files} files ({human_size(self.bytes)})"
