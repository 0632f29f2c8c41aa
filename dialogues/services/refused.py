"""Keeping the rows that an import refused, so that all of them can be read and downloaded."""

from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from dialogues.models import RefusedRow
from dialogues.parsing import RowError
from jobs.models import Job

ROWS_KEPT = 100_000  # of one import; more only say that it is the wrong file or format
BATCH = 1000


@dataclass(slots=True)
class RefusedRows:
    """The refused rows of a job. Entered, it forgets those of an interrupted attempt; left, it has written the rest."""

    job: Job
    kept: int = 0
    waiting: list[RefusedRow] = field(default_factory=list)

    def __enter__(self) -> Self:
        RefusedRow.objects.filter(job=self.job).delete()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write()

    def add(self, error: RowError) -> None:
        """Keep one more, unless there are ROWS_KEPT."""
        if self.kept == ROWS_KEPT:
            return
        self.kept += 1
        self.waiting.append(
            RefusedRow(job=self.job, line=error.line, code=error.code, params=dict(error.params))
        )
        if len(self.waiting) == BATCH:
            self._write()

    def _write(self) -> None:
        RefusedRow.objects.bulk_create(self.waiting)
        self.waiting.clear()
