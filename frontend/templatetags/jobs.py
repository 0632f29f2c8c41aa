"""What a job is called."""

from django import template
from django.utils.translation import gettext as _

from jobs.models import Job

register = template.Library()


@register.filter
def job_title(job: Job) -> str:
    """ "Import of chats.jsonl", "Export as sft"; the kind itself for kinds that are not known here."""
    name, format = job.parameters.get("name"), job.parameters.get("format", "")
    if job.kind == "import":
        return _("Import of %(name)s") % {"name": name} if name else _("Import")
    if job.kind == "export":
        return _("Export as %(format)s") % {"format": format}
    if job.kind == "agreement":
        return _("Statistics")
    if job.kind == "snapshot":
        return _("Snapshot “%(name)s”") % {"name": name or ""}
    if job.kind == "push":
        return _("Push to %(repo)s") % {"repo": job.parameters.get("repo_id", "")}
    return job.kind
