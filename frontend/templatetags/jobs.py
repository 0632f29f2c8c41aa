"""Titles of jobs, and durations in words."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from frontend.ui.job_failures import describe_failure
from frontend.ui.units import keep_units
from jobs.models import Job
from preference.evaluators.models import EvaluatorName

register = template.Library()


def _title(named: str, unnamed: str, **name: object) -> str:
    """What the job is about by its name; `unnamed` if the job does not know it."""
    return named % name if all(name.values()) else unnamed


def _scoring_title(given: Mapping[str, Any]) -> str:
    evaluator = given.get("evaluator", "")
    known = evaluator in EvaluatorName.values
    name = EvaluatorName(evaluator).label if known else evaluator
    return _title(_("Scores: %(name)s"), _("Scores"), name=name)


TITLES: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "import": lambda given: _title(_("Import of %(name)s"), _("Import"), name=given.get("name")),
    "delete_dialogue": lambda given: _title(
        _("Looking for dialogue %(n)s in exports and snapshots"),
        _("Looking for a dialogue in exports and snapshots"),
        n=given.get("dialogue"),
    ),
    "delete_project": lambda given: _title(
        _("Deleting “%(name)s”"), _("Deleting a project"), name=given.get("title")
    ),
    "undo_import": lambda given: _title(
        _("Undoing the import of %(name)s"), _("Undoing an import"), name=given.get("name")
    ),
    "export": lambda given: _title(_("Export as %(format)s"), _("Export"), format=given.get("format")),
    "agreement": lambda given: _("Statistics"),
    "resolve_tasks": lambda given: _("Final labels of dialogues with enough answers"),
    "snapshot": lambda given: _title(_("Snapshot “%(name)s”"), _("Snapshot"), name=given.get("snapshot")),
    "push": lambda given: _title(_("Push to %(repo)s"), _("Push to the Hub"), repo=given.get("repo_id")),
    "training": lambda given: _title(
        _("Training on “%(name)s”"), pgettext("models", "Training"), name=given.get("snapshot")
    ),
    "collection": lambda given: _("Collection of dialogues"),
    "registration": lambda given: _title(
        _("Registering the model in %(folder)s"),
        _("Registering a model"),
        folder=Path(given.get("folder", "")).name,
    ),
    "evaluation": lambda given: _title(
        _("Evaluation of %(name)s"), _("Evaluation"), name=Path(given.get("model", "")).name
    ),
    "scoring": _scoring_title,
    "tagging": lambda given: _("Topics of the dialogues"),
    "meta_evaluation": lambda given: _("Evaluators compared with people"),
}


@register.filter
def job_title(job: Job) -> str:
    """ "Import of chats.jsonl", "Export as sft"; the kind itself for a kind of another release."""
    title = TITLES.get(job.kind)
    return title(job.parameters) if title else job.kind


@register.filter
def job_error(job: Job) -> str:
    """Why it failed, in the active language; empty if it did not."""
    return describe_failure(job).error


@register.filter
def duration(seconds: float) -> str:
    """ "40 s", "12 min", "3 h 5 min": as exact as somebody who waits needs it."""
    if seconds < 60:
        return keep_units(_("%(n)d s") % {"n": max(1, round(seconds))})
    hours, minutes = divmod(round(seconds / 60), 60)
    if not hours:
        return keep_units(_("%(n)d min") % {"n": minutes})
    if hours < 48:
        return keep_units(_("%(hours)d h %(minutes)d min") % {"hours": hours, "minutes": minutes})
    days = round(hours / 24)
    return ngettext("%(n)d day", "%(n)d days", days) % {"n": days}
