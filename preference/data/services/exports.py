"""Starting exports and removing their files; `formats` writes them."""

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from assessment.sessions.models.runs import Run
from common.refusals import Invalid, Refusal
from common.storage.shared_files import shared_files
from dialogues.models import Split
from jobs.models import LIVE_STATES
from jobs.services import start_job
from measures.rated_dialogues import MAXIMUM
from preference.data.models.exports import Export, FileType, FormatName, LeadingTurns
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.formats import FROZEN, formats_for
from preference.data.selectors.frozen_dialogues import folder_of_snapshot
from preference.data.selectors.random_replies import DrawSettings
from preference.data.selectors.selection import Filters
from preference.data.storage import folder_of
from projects.models import Project
from projects.transitions import record

KIND = "export"
LARGEST = 2**53 - 1  # what every reader of JSON can hold


def check_format(project: Project, name: str, *, of_snapshot: bool = False) -> FormatName:
    """The format of that name. Raises Invalid if it does not exist or does not fit the project.

    of_snapshot: raise also if a snapshot cannot make it.
    """
    fitting = [str(name.value) for name in formats_for(project) if name in FROZEN or not of_snapshot]
    if name in fitting:
        return FormatName(name)
    template = _("There is no export format “%(name)s”.")
    if name in FormatName.values:
        template = _("The format “%(name)s” is not for a project of this kind.")
        if of_snapshot:
            template = _("The format “%(name)s” is not made from a snapshot.")
    raise Invalid(
        template % {"name": name[:40]},
        _("Choose one of: %(names)s.") % {"names": ", ".join(fitting)},
        field="format",
    )


def build_filters(
    splits: Sequence[str],
    include_unreviewed: bool,
    include_withheld: bool = False,
    *,
    run: int | None = None,
    least_score: float | None = None,
) -> Filters:
    """Filters with these splits, or all if none is named. run, least_score: see Filters.

    Raises Invalid for a split that does not exist and for a score outside 0-100.
    """
    if least_score is not None and not 0 <= least_score <= MAXIMUM:
        raise Invalid(_("The lowest mean rating must be a number from 0 to 100."), field="least_score")
    if unknown := set(splits) - set(Split.values):
        raise Invalid(
            _("There is no split “%(split)s”.") % {"split": min(unknown)[:40]},
            _("Choose among: %(splits)s.") % {"splits": ", ".join(Split.values)},
            field="splits",
        )
    chosen = tuple(split for split in Split.values if split in splits) or tuple(Split.values)
    return Filters(chosen, include_unreviewed, include_withheld, run, least_score)


def check_run(project: Project, format: str, run: int | None) -> None:
    """Raises Invalid for a run that the project does not have, and if a file of one run is wanted of several."""
    numbers = list(Run.objects.filter(project=project).order_by("number").values_list("number", flat=True))
    if run is None and (format != FormatName.ASSESSMENT or len(numbers) < 2):
        return
    if run in numbers:
        return
    message = (
        _("This project has no run %(number)d.") % {"number": run}
        if run is not None
        else _("A file of the format “assessment” holds one run.")
    )
    remedy = _("Choose one of: %(names)s.") % {"names": ", ".join(map(str, numbers))} if numbers else ""
    raise Invalid(message, remedy, field="run")


def check_file_type(name: str) -> FileType:
    """The file type of that name. Raises Invalid if it does not exist."""
    if name in FileType.values:
        return FileType(name)
    raise Invalid(
        _("There is no file type “%(name)s”.") % {"name": name[:40]},
        _("Choose one of: %(names)s.") % {"names": ", ".join(FileType.values)},
        field="file_type",
    )


def build_draw_settings(
    seed: int, epoch: int, random: bool = True, leading_assistant: str = LeadingTurns.KEEP
) -> DrawSettings:
    """How rows are made; see DrawSettings.

    Raises Invalid for numbers below 0 or beyond what every JSON reader can hold, and for what is not in LeadingTurns.
    """
    for field, value in (("seed", seed), ("epoch", epoch)):
        if not 0 <= value <= LARGEST:
            raise Invalid(
                _("%(value)d is not a valid %(field)s.") % {"value": value, "field": field},
                _("Use a whole number from 0 to %(largest)d.") % {"largest": LARGEST},
                field=field,
            )
    if leading_assistant not in LeadingTurns.values:
        raise Invalid(
            _("There is no such choice for leading turns: “%(name)s”.") % {"name": leading_assistant[:40]},
            _("Choose one of: %(names)s.") % {"names": ", ".join(LeadingTurns.values)},
            field="leading_assistant",
        )
    return DrawSettings(seed, epoch, random, str(leading_assistant))


def snapshot_filters(snapshot: Snapshot, project: Project, splits: Sequence[str]) -> Filters:
    """The snapshot's own filters with the requested splits.

    Raises Invalid if the snapshot belongs to another project or has none of the splits, Refusal not_ready or file_gone.
    """
    if snapshot.project_id != project.pk:
        raise Invalid(_("There is no such snapshot in this project."), field="snapshot")
    folder_of_snapshot(snapshot)
    stored_filters, requested = Filters.of(snapshot.filters), build_filters(splits, False).splits
    chosen = tuple(split for split in stored_filters.splits if split in requested)
    if not chosen:
        raise Invalid(
            _("The snapshot has none of these splits."),
            _("Choose among: %(splits)s.") % {"splits": ", ".join(stored_filters.splits)},
            field="splits",
        )
    return Filters(chosen, stored_filters.include_unreviewed, stored_filters.include_withheld)


def start_export(
    *,
    export_id: UUID,
    project: Project,
    actor: User,
    format: str,
    splits: Sequence[str] = (),
    include_unreviewed: bool = False,
    include_withheld: bool = False,
    file_type: str = FileType.JSONL,
    snapshot: Snapshot | None = None,
    seed: int = 0,
    epoch: int = 0,
    random: bool = True,
    leading_assistant: str = LeadingTurns.KEEP,
    run: int | None = None,
    least_score: float | None = None,
) -> Export:
    """Export in the background. The same export_id again returns the first export.

    snapshot: export that frozen data set instead of the project as it is. seed, epoch, random,
    leading_assistant: see DrawSettings. run, least_score: see Filters. Raises Invalid (format, splits, file_type, seed,
    epoch, leading_assistant, snapshot, run, least_score),
    Refusal id_in_use if the id belongs to another request, not_ready or file_gone for the snapshot.
    """
    format_name = check_format(project, format, of_snapshot=snapshot is not None)
    check_run(project, format_name, run)
    filters = build_filters(splits, include_unreviewed, include_withheld, run=run, least_score=least_score)
    if snapshot is not None:
        filters = snapshot_filters(snapshot, project, splits)
    draws = build_draw_settings(seed, epoch, random, leading_assistant)
    parameters = {
        "format": format_name,
        "file_type": check_file_type(file_type),
        "snapshot": str(snapshot.pk) if snapshot else None,
        **draws.as_json(),
        **filters.as_json(),
    }
    about = {
        "project": project,
        "format": format_name,
        "file_type": file_type,
        "filters": filters.as_json(),
        "snapshot": snapshot,
        "draws": draws.as_json(),
    }
    with transaction.atomic():
        job = start_job(id=export_id, kind=KIND, project=project, actor=actor, parameters=parameters)
        exports = Export.objects.select_related("job", "project")
        return exports.get_or_create(id=export_id, defaults={**about, "job": job})[0]


def remove_file(*, export: Export, actor: User | None) -> Export:
    """Free the space of a finished export; its manifest stays readable. actor None: `clean`. Safe to repeat.

    Raises Refusal not_ready while it is written: cancel it first.
    """
    export = _forget_file(export.pk, actor)
    shared_files().remove(folder_of(export.pk))
    return export


@transaction.atomic
def _forget_file(export_id: UUID, actor: User | None) -> Export:
    export = Export.objects.select_for_update(of=("self",)).select_related("job", "project").get(pk=export_id)
    if export.job.state in LIVE_STATES:
        raise Refusal("not_ready", _("This export is still being written."), _("Stop it first."))
    if export.path:
        export.path = ""
        export.save(update_fields=["path"])
        record(export, kind="file_removed", project=export.project, actor=actor)
    return export
