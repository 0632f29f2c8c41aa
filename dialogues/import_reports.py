"""What an import reports: counts, refused rows, and why nothing was imported."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from common.refusals import Refusal
from dialogues.parsing.row_errors import RowError
from jobs.models import Job, JobState

MAX_REPORTED_ERRORS = 200


@dataclass(slots=True)
class Report:
    """Progress of an import, stored as the result of the job. errors: the first MAX_REPORTED_ERRORS refused rows.

    run: number of the run that the rows were stored in, if the format has runs. deleted: dialogues that a manager
    deleted earlier, which are left out. language_given: dialogues that got the language chosen for the import; None:
    not counted, as in imports of earlier releases. is_refused: nothing was imported because of what is in the file.
    unreadable: the error after which the file could not be read on.
    """

    dialogues: int = 0
    stored: int = 0
    already_there: int = 0
    utterances: int = 0
    refused: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)
    same_as: str | None = None
    run: int | None = None
    deleted: int = 0
    language_given: int | None = None
    is_refused: bool = False
    unreadable: dict[str, Any] | None = None

    def add_error(self, error: RowError) -> None:
        self.refused += 1
        if len(self.errors) < MAX_REPORTED_ERRORS:
            self.errors.append(_stored_error(error))


def refuse_unreadable_file(report: Report, error: RowError) -> Refusal:
    """The refusal of a file that cannot be read on after this error."""
    report.unreadable = _stored_error(error)
    return refuse_import(report)


def refuse_import(report: Report) -> Refusal:
    """The refusal of the whole import, with the report in its details."""
    report.is_refused = True
    cause, remedy = _why_refused(report)
    return Refusal("import_refused", cause, remedy, details=asdict(report))


def explain_failed_import(job: Job) -> tuple[str, str]:
    """Error and remedy of an import: in the active language if its file was refused, otherwise in the stored words.

    Imports of earlier releases keep the stored words.
    """
    if job.state == JobState.FAILED and job.result.get("is_refused"):
        known = {each.name for each in fields(Report)}
        return _why_refused(Report(**{name: job.result[name] for name in known & job.result.keys()}))
    return job.error, job.remedy


def _stored_error(error: RowError) -> dict[str, Any]:
    return {"line": error.line, "code": error.code, "params": dict(error.params)}


def _why_refused(report: Report) -> tuple[str, str]:
    """The cause and the remedy."""
    if report.unreadable:
        return _why_unreadable(RowError(**report.unreadable))
    if not report.refused:
        return _("The file holds no dialogue."), _("Check that it is the right file and format.")
    cause = ngettext(
        "Nothing was imported: %(n)s row is refused.",
        "Nothing was imported: %(n)s rows are refused.",
        report.refused,
    ) % {"n": intcomma(report.refused)}
    if report.dialogues:
        return cause, _("Correct the rows that are listed, or import again and skip them.")
    return cause, _("Correct the rows that are listed, and check that it is the right format.")


def _why_unreadable(error: RowError) -> tuple[str, str]:
    text = (
        _("Nothing was imported. Line %(line)s: %(reason)s")
        if error.has_line
        else _("Nothing was imported. %(reason)s")
    )
    return text % {"line": intcomma(error.line), "reason": error.reason}, error.remedy
