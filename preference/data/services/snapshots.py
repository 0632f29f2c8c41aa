"""Taking snapshots, removing their files, pushing them to a Hub."""

import re
from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from common.storage.shared_files import shared_files
from jobs.models import LIVE_STATES, Job
from jobs.services import start_job
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.frozen_dialogues import folder_of_snapshot
from preference.data.selectors.hub_tokens import check_token_exists
from preference.data.selectors.selection import Filters
from preference.data.selectors.snapshots import FROZEN_PROTOCOLS, preview_snapshot_of
from preference.data.services.exports import build_draw_settings, build_filters
from preference.data.storage import snapshots_root
from projects.models import Project, Protocol
from projects.transitions import record

KIND, PUSH = "snapshot", "push"
NAME_CHARS = 120
# owner/name, of letters, digits, - _ and . as a Hub takes them
REPOSITORY = re.compile(r"[A-Za-z0-9](?:[\w.-]{0,94}\w)?/[A-Za-z0-9](?:[\w.-]{0,94}\w)?", re.ASCII)


@transaction.atomic
def take_snapshot(
    *,
    snapshot_id: UUID,
    project: Project,
    actor: User | None,
    name: str = "",
    splits: Sequence[str] = (),
    include_unreviewed: bool = False,
    seed: int = 0,
    enqueue: bool = True,
) -> Snapshot:
    """Freeze the dialogues of a project, in labelling with their final labels, in the background.

    The same snapshot_id again returns the first snapshot. Raises Invalid (name, splits, seed, include_unreviewed),
    Refusal wrong_protocol, nothing_to_take, or id_in_use if the id belongs to another request.
    """
    filters, seed = build_filters(splits, include_unreviewed), build_draw_settings(seed, 0).seed
    if (snapshot := Snapshot.objects.filter(pk=snapshot_id).first()) is not None:
        name_sent = (
            {"name": _clean_name(name, project)} if name.strip() else {}
        )  # the default has the time in it
        check_repeat(snapshot, project_id=project.pk, filters=filters.as_json(), seed=seed, **name_sent)
        return snapshot
    _check_choices(project, filters)
    name = _clean_name(name, project)
    if not preview_snapshot_of(project, filters).leaving:
        raise nothing_to_take(project)
    parameters = {"snapshot": name, "seed": seed, **filters.as_json()}
    job = start_job(
        id=snapshot_id, kind=KIND, project=project, actor=actor, parameters=parameters, enqueue=enqueue
    )
    values = {
        "project": project,
        "job": job,
        "name": name,
        "filters": filters.as_json(),
        "seed": seed,
        "created_by": actor,
    }
    return Snapshot.objects.select_related("job", "project").get_or_create(id=snapshot_id, defaults=values)[0]


def _check_choices(project: Project, filters: Filters) -> None:
    if project.protocol not in FROZEN_PROTOCOLS:
        raise Refusal(
            "wrong_protocol",
            _("Only dialogues that were written with candidates, or labelled, can be frozen."),
            _("Export the conversations of this study instead."),
        )
    if filters.include_unreviewed and project.protocol == Protocol.LABELLING:
        raise Invalid(
            _("In a labelling project only final labels are frozen."),
            _("Leave this choice out."),
            field="include_unreviewed",
        )


def _clean_name(name: str, project: Project) -> str:
    called = " ".join(name.split()) or f"{project.slug} {timezone.localtime():%Y-%m-%d %H:%M}"
    if len(called) > NAME_CHARS or not called.isprintable():
        raise Invalid(
            _("This name is not valid."),
            _("Use up to %(n)d printable characters.") % {"n": NAME_CHARS},
            field="name",
        )
    return called


def nothing_to_take(project: Project) -> Refusal:
    message = _("No dialogue matches these choices, so there is nothing to freeze.")
    remedy = _(
        "Have dialogues finished and passed by the experts, or include those that nobody has judged yet."
    )
    if project.protocol == Protocol.LABELLING:
        message = _("No dialogue in these splits has a final label yet, so there is nothing to freeze.")
        remedy = _("Have dialogues labelled by enough people; where there are batches, have one accepted.")
    return Refusal("nothing_to_take", message, remedy)


@transaction.atomic
def remove_snapshot_files(*, snapshot: Snapshot, actor: User) -> Snapshot:
    """Free the space of a snapshot; its card stays. Safe to repeat.

    Raises Refusal not_ready while it is written, in_use if a model was trained or evaluated on it, unless a
    dialogue of it was deleted.
    """
    snapshot = (
        Snapshot.objects.select_for_update(of=("self",)).select_related("job", "project").get(pk=snapshot.pk)
    )
    if snapshot.job.state in LIVE_STATES:
        raise Refusal("not_ready", _("This snapshot is still being written."), _("Stop it first."))
    if is_in_use(snapshot) and not snapshot.deleted:
        raise Refusal(
            "in_use",
            _("A model was trained or evaluated on this snapshot."),
            _("Its files are kept so that it remains clear what the model learned from."),
        )
    if snapshot.path:
        folder = snapshots_root() / snapshot.path
        snapshot.path = ""
        snapshot.save(update_fields=["path"])
        record(snapshot, kind="files_removed", project=snapshot.project, actor=actor)
        transaction.on_commit(lambda: shared_files().remove(folder))
    return snapshot


def is_in_use(snapshot: Snapshot) -> bool:
    """Whether a training, a model or an evaluation rests on it."""
    return any(rows.exists() for rows in (snapshot.training_runs, snapshot.models, snapshot.evaluations))


def push_snapshot(
    *, push_id: UUID, snapshot: Snapshot, actor: User | None, repo_id: str, private: bool = True
) -> Job:
    """Push a snapshot to a Hub in the background, with the project's token.

    The same push_id again returns the first job. Raises Invalid (repo_id), Refusal not_ready, file_gone or no_token, or
    id_in_use if the id belongs to another request.
    """
    if not REPOSITORY.fullmatch(repo_id) or "--" in repo_id or ".." in repo_id:
        raise Invalid(
            _("“%(name)s” is not a repository name.") % {"name": repo_id[:100]},
            _("Write owner/name, with letters, digits, “-”, “_” and “.” only."),
            field="repo_id",
        )
    folder_of_snapshot(snapshot)
    if not Job.objects.filter(pk=push_id).exists():
        check_token_exists(snapshot.project)
    parameters = {"snapshot": str(snapshot.pk), "repo_id": repo_id, "private": private}
    return start_job(id=push_id, kind=PUSH, project=snapshot.project, actor=actor, parameters=parameters)
