"""Why a job failed."""

from typing import NamedTuple

from django.utils.translation import gettext

from dialogues.import_reports import explain_failed_import
from dialogues.services.imports import KIND as IMPORT
from jobs.models import Job


class Failure(NamedTuple):
    """What went wrong, and what to do about it; both empty if nothing did."""

    error: str
    remedy: str


def describe_failure(job: Job) -> Failure:
    """Refused imports and fixed English sentences are in the active language, all else in the stored words."""
    error, remedy = explain_failed_import(job) if job.kind == IMPORT else (job.error, job.remedy)
    return Failure(error and gettext(error), remedy and gettext(remedy))
