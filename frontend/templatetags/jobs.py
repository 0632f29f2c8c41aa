"""Titles of jobs, and durations in words."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.models import Job
from preference.evaluators.models import EvaluatorName

register = template.Library()


def _import_title(parameters: Mapping[str, Any]) -> str:
    name = parameters.get("name")
    return _("Import of %(name)s") % {"name": name} if name else _("Import")


def _scoring_title(parameters: Mapping[str, Any]) -> str:
    evaluator = parameters.get("evaluator", "")
    known = evaluator in EvaluatorName.values
    return _("Scores: %(name)s") % {"name": EvaluatorName(evaluator).label if known else evaluator}


TITLES: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "import": _import_title,
    "delete_dialogue": lambda given: (
        _("Looking for dialogue %(n)s in exports and snapshots") % {"n": given.get("dialogue", "")}
    ),
    "delete_project": lambda given: _("Deleting “%(name)s”") % {"name": given.get("title", "")},
    "undo_import": lambda given: _("Undoing the import of %(name)s") % {"name": given.get("name", "")},
    "export": lambda given: _("Export as %(format)s") % {"format": given.get("format", "")},
    "agreement": lambda given: _("Statistics"),
    "resolve_tasks": lambda given: _("Final labels of dialogues with enough answers"),
    "snapshot": lambda given: _("Snapshot “%(name)s”") % {"name": given.get("snapshot", "")},
    "push": lambda given: _("Push to %(repo)s") % {"repo": given.get("repo_id", "")},
    "training": lambda given: _("Training on “%(name)s”") % {"name": given.get("snapshot", "")},
    "collection": lambda given: _("Collection of dialogues"),
    "registration": lambda given: (
        _("Registering the model in %(folder)s") % {"folder": Path(given.get("folder", "")).name}
    ),
    "evaluation": lambda given: _("Evaluation of %(name)s") % {"name": Path(given.get("model", "")).name},
    "scoring": _scoring_title,
    "tagging": lambda given: _("Topics of the dialogues"),
    "meta_evaluation": lambda given: _("Evaluators beside people"),
}


@register.filter
def job_title(job: Job) -> str:
    """ "Import of chats.jsonl", "Export as sft"; the kind itself for a kind of another release."""
    title = TITLES.get(job.kind)
    return title(job.parameters) if title else job.kind


@register.filter
def duration(seconds: float) -> str:
    """ "40 s", "12 min", "3 h 5 min": as exact as somebody who waits needs it."""
    if seconds < 60:
        return _("%(n)d s") % {"n": max(1, round(seconds))}
    hours, minutes = divmod(round(seconds / 60), 60)
    if not hours:
        return _("%(n)d min") % {"n": minutes}
    if hours < 48:
        return _("%(hours)d h %(minutes)d min") % {"hours": hours, "minutes": minutes}
    days = round(hours / 24)
    return ngettext("%(n)d day", "%(n)d days", days) % {"n": days}
