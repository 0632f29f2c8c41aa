"""Starting exports, and removing their files. What an export does is in preference.exports."""

import shutil
from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.errors import Invalid, Refusal
from accounts.models import User
from dialogues.models import Split
from jobs.models import LIVE_STATES
from jobs.services import start_job
from preference.models import Export, Shape
from preference.selectors.selection import Filters
from preference.selectors.shapes import shapes_for
from preference.storage import folder_of
from projects.models import Project
from projects.transitions import record

KIND = "export"


def checked_shape(project: Project, name: str) -> Shape:
    """Raises Invalid for a format that does not exist, or that a project of this protocol has no data for."""
    fitting = [str(shape.value) for shape in shapes_for(project)]
    if name in fitting:
        return Shape(name)
    said = _("There is no export format “%(name)s”.")
    if name in Shape.values:
        said = _("The format “%(name)s” is not for a project of this kind.")
    raise Invalid(
        said % {"name": name[:40]},
        _("Choose one of: %(names)s.") % {"names": ", ".join(fitting)},
        field="format",
    )


def checked_filters(
    splits: Sequence[str], include_unreviewed: bool, include_withheld: bool = False
) -> Filters:
    """No split named means all of them. Raises Invalid for one that does not exist."""
    if unknown := set(splits) - set(Split.values):
        raise Invalid(
            _("There is no split “%(split)s”.") % {"split": min(unknown)[:40]},
            _("Choose among: %(splits)s.") % {"splits": ", ".join(Split.values)},
            field="splits",
        )
    chosen = tuple(split for split in Split.values if split in splits) or tuple(Split.values)
    return Filters(chosen, include_unreviewed, include_withheld)


@transaction.atomic
def start_export(
    *,
    export_id: UUID,
    project: Project,
    actor: User,
    format: str,
    splits: Sequence[str] = (),
    include_unreviewed: bool = False,
    include_withheld: bool = False,
) -> Export:
    """Export in the background. The same export_id again returns the first export.

    Raises Invalid (format, splits), Refusal submission_used when the id is that of something else.
    """
    shape = checked_shape(project, format)
    filters = checked_filters(splits, include_unreviewed, include_withheld).as_json()
    job = start_job(
        id=export_id, kind=KIND, project=project, actor=actor, parameters={"format": shape, **filters}
    )
    if job.kind != KIND or job.project_id != project.pk:
        raise Refusal(
            "submission_used", _("This submission was used for something else."), _("Reload and try again.")
        )
    about = {"project": project, "job": job, "format": shape, "filters": filters}
    return Export.objects.select_related("job", "project").get_or_create(id=export_id, defaults=about)[0]


@transaction.atomic
def remove_file(*, export: Export, actor: User) -> Export:
    """Free the space of a finished export; its manifest stays readable. Safe to repeat.

    Raises Refusal not_ready while it is written: cancel it first.
    """
    export = Export.objects.select_for_update(of=("self",)).select_related("job", "project").get(pk=export.pk)
    if export.job.state in LIVE_STATES:
        raise Refusal("not_ready", _("This export is still being written."), _("Stop it first."))
    if export.path:
        export.path = ""
        export.save(update_fields=["path"])
        record(export, kind="file_removed", project=export.project, actor=actor)
    shutil.rmtree(folder_of(export.pk), ignore_errors=True)
    return export
