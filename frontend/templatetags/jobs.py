"""Titles of jobs, and durations in words."""

from pathlib import Path

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from jobs.models import Job
from preference.evaluators.models import EvaluatorName

register = template.Library()


@register.filter
def job_title(job: Job) -> str:
    """ "Import of chats.jsonl", "Export as sft"; the kind itself for a kind of another release."""
    name, format = job.parameters.get("name"), job.parameters.get("format", "")
    if job.kind == "import":
        return _("Import of %(name)s") % {"name": name} if name else _("Import")
    if job.kind == "export":
        return _("Export as %(format)s") % {"format": format}
    if job.kind == "agreement":
        return _("Statistics")
    if job.kind == "snapshot":
        return _("Snapshot “%(name)s”") % {"name": job.parameters.get("snapshot", "")}
    if job.kind == "push":
        return _("Push to %(repo)s") % {"repo": job.parameters.get("repo_id", "")}
    if job.kind == "training":
        return _("Training on “%(name)s”") % {"name": job.parameters.get("snapshot", "")}
    if job.kind == "collection":
        return _("Collection of dialogues")
    if job.kind == "evaluation":
        return _("Evaluation of %(name)s") % {"name": Path(job.parameters.get("model", "")).name}
    if job.kind == "scoring":
        evaluator = job.parameters.get("evaluator", "")
        name = EvaluatorName(evaluator).label if evaluator in EvaluatorName.values else evaluator
        return _("Scores: %(name)s") % {"name": name}
    if job.kind == "meta_evaluation":
        return _("Evaluators beside people")
    return job.kind


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
