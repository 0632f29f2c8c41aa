"""Work that the server does in the background: jobs, imports, exports and snapshots, waited for with a bar."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from tqdm import tqdm

from lapidary.errors import WorkFailed, WorkTakesLonger
from lapidary.pages import Rows
from lapidary.rows import RefusedRow
from lapidary.transport import Transport

LIVE = frozenset({"queued", "running"})
FIRST_LOOK, LONGEST_LOOK = 0.1, 2.0  # seconds between two looks
WorkType = TypeVar("WorkType", bound="Work")


@contextmanager
def bar(title: str, total: int | None, unit: str, *, shown: bool, done: int = 0) -> Iterator[tqdm[Any]]:
    """A progress bar on standard error. unit: bytes are scaled."""
    scaled = unit == "bytes"
    name = "B" if scaled else f" {unit}"
    with tqdm(
        total=total, initial=done, desc=title, unit=name, unit_scale=scaled, disable=not shown, leave=False
    ) as progress:
        yield progress


class Work:
    """Something that goes on on the server. data: as it was at the last look."""

    kind = "job"
    address = "jobs"

    def __init__(self, transport: Transport, data: Mapping[str, Any]) -> None:
        self._transport = transport
        self.data = dict(data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.state}>"

    @property
    def id(self) -> str:
        return str(self.data["id"])

    @property
    def state(self) -> str:
        """queued, running, done, failed or cancelled."""
        return str(self.data["state"])

    @property
    def is_live(self) -> bool:
        return self.state in LIVE

    def refresh(self: WorkType) -> WorkType:
        """Look again."""
        self.data = self._transport.get(f"{self.address}/{self.id}/")
        return self

    def wait(self: WorkType, *, progress: bool = True, timeout: float | None = None) -> WorkType:
        """Return when it is done. progress: show a bar. timeout: seconds; it goes on on the server after that.

        Raises WorkFailed with the server's cause and remedy, WorkTakesLonger.
        """
        pause, deadline = FIRST_LOOK, None if timeout is None else time.monotonic() + timeout
        with bar(self.kind, self.data.get("total"), self._unit, shown=progress) as shown:
            while self.is_live:
                if deadline is not None and time.monotonic() > deadline:
                    raise WorkTakesLonger(
                        f"This {self.kind} is still {self.state}{self._hindrance()}.",
                        f"Wait for it again: it goes on. Its id is {self.id}.",
                    )
                self._transport.retries.sleep(pause)
                pause = min(pause * 1.5, LONGEST_LOOK)
                self.refresh()
                self._show(shown)
        if self.state != "done":
            raise self._failure()
        return self

    def cancel(self) -> None:
        """Stop it; one that runs stops at its next safe point. Safe to repeat."""
        self._transport.post(f"jobs/{self.id}/cancel/", {}, repeatable=True)
        self.refresh()

    def retry(self) -> None:
        """Put a failed or cancelled one back into the queue."""
        self._transport.post(f"jobs/{self.id}/retry/", {})
        self.refresh()

    @property
    def _unit(self) -> str:
        return str(self.data.get("unit", "dialogues"))

    def _show(self, shown: tqdm[Any]) -> None:
        shown.total = self.data.get("total") or shown.total
        shown.set_postfix_str(self._hindrance().strip(" ()"), refresh=False)
        shown.update(int(self.data.get("done") or 0) - shown.n)

    def _hindrance(self) -> str:
        waits_for = self.data.get("waits_for")
        return {"worker": " (no worker serves its queue)", "queue": " (Redis cannot be reached)"}.get(
            str(waits_for), ""
        )

    def _failure(self) -> WorkFailed:
        cause = self.data.get("error") or f"This {self.kind} was {self.state}."
        return WorkFailed(str(cause), str(self.data.get("remedy", "")), state=self.state, id=self.id)


class Job(Work):
    """Any job of a project."""

    @property
    def kind(self) -> str:  # type: ignore[override]
        return str(self.data.get("kind", "job"))

    @property
    def result(self) -> Mapping[str, Any]:
        """What it left, once it is done."""
        result: Mapping[str, Any] = self.data.get("result", {})
        return result


class Import(Work):
    """An import of dialogues."""

    kind = "import"
    address = "imports"

    @property
    def _unit(self) -> str:
        return "bytes"

    @property
    def stored(self) -> int:
        """Dialogues that are new."""
        return int(self.data["stored"])

    @property
    def already_there(self) -> int:
        return int(self.data["already_there"])

    @property
    def refused(self) -> int:
        """Rows that could not be read; see errors()."""
        return int(self.data["refused"])

    def errors(self) -> Iterator[RefusedRow]:
        """The refused rows, with line, reason and remedy."""
        return Rows(self._transport, f"imports/{self.id}/errors/", RefusedRow.read)
