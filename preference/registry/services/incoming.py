"""Registering a model that was trained elsewhere, as a job; `runs.elsewhere_job` carries it out."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import Invalid
from common.storage.shared_files import shared_models
from jobs.models import Job
from jobs.services import start_job
from preference.child_process import QUEUE
from preference.data.models.snapshots import Snapshot
from preference.registry.disk_space import check_space
from preference.registry.incoming import (
    TrainedFolder,
    incoming_folder,
    is_only_in_store,
    read_trained_folder,
)
from preference.registry.models import RegisteredModel
from preference.registry.selectors.bases import resolve_base
from preference.registry.selectors.trained_models import REGISTRATION
from preference.registry.services.trained_models import check_name, check_note, check_trainable
from preference.registry.upload_pieces import uploaded_folder
from preference.registry.uploads import upload_for
from projects.locking import lock_project
from projects.models import Project

HASH_DIGITS = 12  # of a version


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a model that was trained elsewhere comes from, as far as this project knows it."""

    folder: TrainedFolder
    snapshot: Snapshot | None
    parent: RegisteredModel | None


def start_registration(
    *,
    registration_id: UUID,
    project: Project,
    actor: User | None,
    folder: str = "",
    upload: str = "",
    name: str = "",
    snapshot: str = "",
    parent: str = "",
    evaluation: str = "",
    note: str = "",
    enqueue: bool = True,
) -> Job:
    """Copy a trained model's folder below MODELS_ROOT and register it, in the background.

    The same registration_id again returns the first job; the same files again give the model that they gave before.
    folder: below MODELS_ROOT/incoming; for actor None, the command line, any absolute path. upload: instead of a
    folder, the id of an upload of the project with all its files. name: of the model; empty: after the folder.
    snapshot: id, empty: the project's snapshot with the data that training.json names, if there is one. parent: name of
    a registered model, empty: the project's model that was the base, if one was. evaluation: a report; empty:
    evaluation.json in the folder. Raises Invalid (folder, name, note, snapshot, parent, evaluation), NotFound (parent,
    upload), Refusal upload_gone, incomplete, no_authoring, no_model, links, no_lineage, wrong_kind, wrong_evaluation,
    disk_full, name_taken, id_in_use.
    """
    values = {
        "folder": folder, "upload": upload, "model": name, "snapshot": snapshot, "parent": parent,
        "evaluation": evaluation, "note": note,
    }  # fmt: skip
    parameters = {key: value for key, value in values.items() if value or key == "folder"}
    if not Job.objects.filter(pk=registration_id).exists():
        check_trainable(project)
        check_note(note)
        if name and not _may_be_repeated(project, name):
            check_name(name)
        _check_source(project, actor, parameters)
    with transaction.atomic():  # only now: the checks may wait for an object store
        lock_project(project.pk)
        return start_job(
            id=registration_id,
            kind=REGISTRATION,
            project=project,
            actor=actor,
            parameters=parameters,
            queue=QUEUE,
            enqueue=enqueue,
        )


def _check_source(project: Project, actor: User | None, chosen: Mapping[str, str]) -> None:
    """What can be said at once; what is only in an object store is looked at by the job's host."""
    if "upload" in chosen and shared_models().is_remote:
        source_folder(project, actor, chosen)
    elif "upload" in chosen or not is_only_in_store(chosen["folder"]):
        check_space(find_origin(project, actor, chosen).folder.bytes)


def _may_be_repeated(project: Project, name: str) -> bool:
    """Whether it names a model of the project that was trained elsewhere; the job finds out if it has these files."""
    return RegisteredModel.objects.filter(project=project, slug=name, training_run=None).exists()


def source_folder(project: Project, actor: User | None, chosen: Mapping[str, str]) -> Path:
    """Only the command line may name folders outside of MODELS_ROOT/incoming.

    Raises Invalid (folder), NotFound (upload), Refusal upload_gone, incomplete.
    """
    if upload := chosen.get("upload"):
        return uploaded_folder(upload_for(project, UUID(upload)))
    folder = chosen["folder"]
    if actor is None and Path(folder).is_absolute():
        return Path(folder)
    return incoming_folder(folder)


def find_origin(project: Project, actor: User | None, chosen: Mapping[str, str]) -> Origin:
    """chosen: parameters of the job. Raises Refusal as start_registration."""
    if actor is not None and "evaluation" in chosen:
        raise Invalid(
            _("The report comes with the folder."), _("Call it evaluation.json."), field="evaluation"
        )
    source = source_folder(project, actor, chosen)
    trained = read_trained_folder(source, chosen.get("evaluation", ""))
    return Origin(
        folder=trained,
        snapshot=_find_snapshot(project, trained, chosen.get("snapshot", "")),
        parent=_find_parent(project, actor, trained, chosen.get("parent", "")),
    )


def _find_snapshot(project: Project, trained: TrainedFolder, chosen: str) -> Snapshot | None:
    snapshots = Snapshot.objects.filter(project=project)
    if not chosen:
        return snapshots.filter(sha256=trained.data_sha256).exclude(sha256="").order_by("-created_at").first()
    snapshot = snapshots.filter(pk=chosen).first() if _is_uuid(chosen) else None
    if snapshot is None:
        raise Invalid(
            _("This project has no such snapshot."),
            _("Give the id of one of its snapshots."),
            field="snapshot",
        )
    if snapshot.sha256 != trained.data_sha256:
        raise Invalid(
            _(
                "The model was trained on other data (SHA-256 %(theirs)s) than the snapshot “%(name)s” (%(ours)s)."
            )
            % {
                "name": snapshot.name,
                "theirs": trained.data_sha256[:HASH_DIGITS],
                "ours": snapshot.sha256[:HASH_DIGITS],
            },
            _("Name another snapshot, or none."),
            field="snapshot",
        )
    return snapshot


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _find_parent(
    project: Project, actor: User | None, trained: TrainedFolder, chosen: str
) -> RegisteredModel | None:
    if not chosen:
        same = RegisteredModel.objects.filter(project=project, version__endswith=f"@{trained.base_hash}")
        return same.order_by("-created_at").first() if len(trained.base_hash) == HASH_DIGITS else None
    parent = resolve_base(actor, project, chosen).parent
    if parent is None:
        raise Invalid(
            _("There is no trained model “%(name)s”.") % {"name": chosen[:80]},
            _("Name a model of the page Models, or leave the parent out."),
            field="parent",
        )
    if not parent.version.endswith(f"@{trained.base_hash}"):
        raise Invalid(
            _("The model was not trained from “%(name)s”: its base has other weights.")
            % {"name": parent.slug},
            _("Name the model that it began from, or leave the parent out."),
            field="parent",
        )
    return parent
