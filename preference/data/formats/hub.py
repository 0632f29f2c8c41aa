"""Pushing a snapshot to a Hub of data sets, with the project's token."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from common.refusals import Refusal
from dialogues.models import Split
from jobs.models import Job
from jobs.progress import Progress
from preference.data.formats.catalogue import FORMATS
from preference.data.formats.writing import write_export_file
from preference.data.models.exports import FileType, FormatName
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.frozen_dialogues import frozen_dialogues, verify_snapshot
from preference.data.selectors.hub_tokens import PushToken, TokenOwner, token_for_push
from projects.transitions import record

Pushed = dict[str, Any]


def run_push_job(job: Job, progress: Progress) -> Pushed:
    """Push the files of the snapshot, and its splits as Parquet for load_dataset().

    Running it again after a kill pushes again, and the Hub skips what it has.
    """
    snapshot = Snapshot.objects.select_related("project").get(pk=job.parameters["snapshot"])
    repo_id, private = job.parameters["repo_id"], job.parameters["private"]
    push_token, datasets = token_for_push(snapshot.project), _datasets()
    folder = verify_snapshot(snapshot, progress.beat)
    _record_use(snapshot, job, push_token)
    token = push_token.value
    progress.start(total=3, unit="files")
    with _refusals(repo_id, push_token), tempfile.TemporaryDirectory() as scratch:
        parts = _as_parquet(snapshot, Path(scratch))
        progress.report(1)
        _push_files(folder, repo_id, private=private, token=token, message=snapshot.name)
        progress.report(2)
        loaded = datasets.load_dataset("parquet", data_files=parts, cache_dir=scratch)
        commit = loaded.push_to_hub(repo_id, private=private, token=token, commit_message=snapshot.name)
    progress.report(3)
    return _remember(snapshot, commit, repo_id, private=private)


def _record_use(snapshot: Snapshot, job: Job, token: PushToken) -> None:
    """Before the Hub is contacted, so that a push that it refuses is in the project's history, too."""
    details = {"repository": job.parameters["repo_id"], "token": token.owner.value}
    record(snapshot, kind="hub_token_used", project=snapshot.project, actor=job.created_by, data=details)


def _datasets() -> Any:
    """The library `datasets`: heavy, and not in the image of the web server. Raises Refusal library_missing."""
    try:
        import datasets
    except ImportError as error:
        raise Refusal(
            "library_missing",
            _("This worker lacks the Python package “datasets”."),
            _("Install requirements.txt for it (requirements-web.txt is not enough), and start it again."),
        ) from error
    from huggingface_hub.utils.tqdm import disable_progress_bars

    datasets.disable_progress_bars()
    disable_progress_bars()
    return datasets


def _as_parquet(snapshot: Snapshot, folder: Path) -> dict[str, str]:
    """One file for every split that is not empty, by split."""
    paths = {}
    for split in Split.values:
        source = frozen_dialogues(snapshot, (split,))
        if source.count():
            path = folder / f"{split}.parquet"
            write_export_file(path, FORMATS[FormatName.DIAMANTE], source, file_type=FileType.PARQUET)
            paths[split] = str(path)
    return paths


def _push_files(folder: Path, repo_id: str, *, private: bool, token: str, message: str) -> None:
    """Called first, so that push_to_hub() adds the splits to our card."""
    from huggingface_hub import HfApi

    api = HfApi(token=token)
    api.create_repo(repo_id, repo_type="dataset", private=private, exist_ok=True)
    api.upload_folder(
        repo_id=repo_id, folder_path=folder, repo_type="dataset", commit_message=message, token=token
    )


@contextmanager
def _refusals(repo_id: str, push_token: PushToken) -> Iterator[None]:
    """Turn errors of the Hub or the network into Refusals, without the token in their text."""
    token = push_token.value
    import httpx2
    from huggingface_hub import errors

    try:
        yield
    except errors.HfHubHTTPError as error:
        text = str(error).replace(token, "…")
        raise _refused(repo_id, push_token.owner, error.response.status_code, text) from None
    except (httpx2.TransportError, errors.OfflineModeIsEnabled, ConnectionError) as error:
        raise Refusal(
            "hub_unreachable",
            _("The Hub cannot be reached: %(reason)s.") % {"reason": _first_line(error, token)},
            _("Check the worker's network, HF_ENDPOINT and HF_HUB_OFFLINE, then start it again."),
        ) from None
    except RuntimeError as error:  # an interrupted upload
        raise Refusal(
            "push_failed",
            _("The push was interrupted: %(reason)s") % {"reason": _first_line(error, token)},
            _("Start it again; the Hub keeps what it already received."),
        ) from None


def _refused(repo_id: str, owner: TokenOwner, status: int, text: str) -> Refusal:
    if status in (401, 403):
        return Refusal(
            "hub_refused",
            _("The Hub did not let this token write to %(repo)s (%(status)d).")
            % {"repo": repo_id, "status": status},
            _token_remedy(owner),
        )
    reason = text.strip().splitlines()[0][:200] if text.strip() else ""
    return Refusal(
        "hub_refused",
        _("The Hub answered %(status)d: %(reason)s") % {"status": status, "reason": reason},
        _("Try again later, or choose another repository."),
    )


def _token_remedy(owner: TokenOwner) -> str:
    if owner == TokenOwner.INSTALLATION:
        return _("Check that HF_TOKEN is valid and may write there, and that the owner's name is right.")
    return _(
        "Check the owner's name and that the project's Hub token may write there; "
        "a manager can replace it in the settings."
    )


def _first_line(error: Exception, token: str) -> str:
    lines = str(error).replace(token, "…").strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _remember(snapshot: Snapshot, commit: Any, repo_id: str, *, private: bool) -> Pushed:
    pushed = {
        "repo_id": repo_id,
        "url": str(commit.repo_url),
        "commit": commit.oid,
        "private": private,
        "at": timezone.now().isoformat(),
    }
    with transaction.atomic():  # two pushes may end at the same time
        row = Snapshot.objects.select_for_update(of=("self",)).get(pk=snapshot.pk)
        row.pushed = [*row.pushed, pushed]
        row.save(update_fields=["pushed"])
    return pushed
