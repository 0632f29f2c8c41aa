"""Downloads that go on where the connection was lost, and are checked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import httpx

from lapidary.errors import FileDamaged, Problem
from lapidary.transport import Transport
from lapidary.work import bar

BLOCK = 1 << 20  # bytes
PASSING = frozenset({416, 429, 502, 503, 504})  # statuses after which it is tried again


def download(
    transport: Transport, address: str, target: Path, *, sha256: str = "", progress: bool = True
) -> Path:
    """Download into the file `target`, unless it has this SHA-256 already.

    What has arrived waits beside it as NAME.part, also for a later call. The file gets its name once it is whole.
    Raises FileDamaged, ConnectionLost, and what the server refuses.
    """
    if sha256 and target.is_file() and sha256_of(target) == sha256:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    part = _Part(target)
    with bar(target.name, None, "bytes", shown=progress, done=part.size) as shown:
        failures = 0
        while True:
            before = part.size
            try:
                part.receive(transport, address, shown.update)
                break
            except Problem as problem:
                failures += 1
                if problem.status not in PASSING or failures >= transport.retries.tries:
                    raise
                transport.retries.wait(failures, asked=problem.retry_after)
            except httpx.TransportError as error:
                failures = 1 if part.size > before else failures + 1
                if failures >= transport.retries.tries:
                    raise transport.lost(error, failures) from error
                transport.retries.wait(failures)
    return part.finish(sha256)


class _Part:
    """What has arrived of a file, and the ETag of the file that it belongs to."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._path = target.with_name(f"{target.name}.part")
        self._tag_path = target.with_name(f"{target.name}.part-etag")

    @property
    def size(self) -> int:
        return self._path.stat().st_size if self._path.exists() and self._tag else 0

    @property
    def _tag(self) -> str:
        return self._tag_path.read_text(encoding="ascii") if self._tag_path.exists() else ""

    def receive(self, transport: Transport, address: str, arrived: Callable[[int], object]) -> None:
        """The rest of the file; all of it if the server has another one now."""
        resumed = {"Range": f"bytes={self.size}-", "If-Range": self._tag} if self.size else {}
        try:
            with transport.stream(address, resumed) as response:
                goes_on = response.status_code == httpx.codes.PARTIAL_CONTENT
                with self._path.open("ab" if goes_on else "wb") as file:
                    if not goes_on:  # only now: the bytes of another file are gone
                        self._tag_path.write_text(response.headers.get("ETag", ""), encoding="ascii")
                    for block in response.iter_raw(BLOCK):
                        file.write(block)
                        arrived(len(block))
        except Problem as problem:
            if problem.status != httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise
            if problem.facts.get("size") != self.size:  # the file is another one now
                self._path.unlink(missing_ok=True)
                raise

    def finish(self, sha256: str) -> Path:
        found = sha256_of(self._path) if sha256 else ""
        self._tag_path.unlink(missing_ok=True)
        if found != sha256:
            self._path.unlink()
            raise FileDamaged(
                f"What was downloaded as {self._target.name} has the SHA-256 {found}, not {sha256}.",
                "Download it again; if that does not help, ask whoever runs the server.",
            )
        return self._path.replace(self._target)


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
