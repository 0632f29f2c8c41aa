"""Store the rows that an import refused, so that they can be read and downloaded."""

from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from dialogues.models import RefusedRow
from dialogues.parsing.row_errors import RowError
from jobs.models import Job

MAX_ROWS = 100_000  # of one import; more only mean that it is the wrong file or format
BATCH = 1000


@dataclass(slots=True)
class RefusedRowWriter:
    """Writes the refused rows of a job in batches. On entry it deletes the rows of an interrupted attempt."""

    job: Job
    count: int = 0
    pending: list[RefusedRow] = field(default_factory=list)

    def __enter__(self) -> Self:
        RefusedRow.objects.filter(job=self.job).delete()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write()

    def add(self, error: RowError) -> None:
        """Add a row, unless there are MAX_ROWS already."""
        if self.count == MAX_ROWS:
            return
        self.count += 1
        self.pending.append(
            RefusedRow(job=self.job, line=error.line, code=error.code, params=dict(error.params))
        )
        if len(self.pending) == BATCH:
            self._write()

    def _write(self) -> None:
        RefusedRow.objects.bulk_create(self.pending)
        self.pending.clear()
