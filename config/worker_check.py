"""What `doctor` says about workers: is each queue served, and do they share folders and release with the web server?"""

from collections.abc import Iterable
from typing import Final

from django.conf import settings
from django.utils.translation import gettext as _

from common.release import code_version
from config.findings import Finding
from jobs.folders import SHARED, FolderIds, differing_folders, folder_ids
from jobs.models import Worker
from jobs.selectors import live_workers

WORKER_COMMANDS: Final = {
    "default": "celery -A config worker -Q default --beat",
    "gpu": "celery -A config worker -Q gpu --pool solo",
    "chat": "celery -A config worker -Q chat,webhooks --pool threads --concurrency 64",
    "webhooks": "celery -A config worker -Q chat,webhooks --pool threads --concurrency 64",
    "training": "celery -A config worker -Q training --pool solo",
}


def workers() -> Iterable[Finding]:
    for queue, command in WORKER_COMMANDS.items():
        names = sorted(live_workers(queue).values_list("name", flat=True))
        if names:
            yield Finding(
                "ok",
                _("The queue {queue} is served by: {names}.").format(queue=queue, names=", ".join(names)),
            )
        else:
            yield Finding(
                "problem",
                _("No worker is alive for the queue {queue}.").format(queue=queue),
                _("Start one: {command}").format(command=command),
            )


def worker_folders() -> Iterable[Finding]:
    """Compare what each live worker reports with this process: the folders that it writes to, and its release."""
    ids, version = folder_ids(make=False), code_version()
    alive = list(live_workers().order_by("name"))
    problems = [problem for worker in alive for problem in _differences(worker, ids, version)]
    yield from problems
    if alive and not problems and ids.keys() == SHARED.keys():
        same = (
            _("Workers read the object store that is written here, and run the same release.")
            if settings.STORAGE
            else _("Workers read the same folders and run the same release.")
        )
        yield Finding("ok", same)


def _differences(worker: Worker, ids: FolderIds, version: str) -> Iterable[Finding]:
    differing = differing_folders(ids, worker.folders)
    if settings.STORAGE and not all(worker.folders.get(name) for name in SHARED):
        yield _unknown_store(worker)
    yield from _other_store(worker) if differing and settings.STORAGE else _other_folders(worker, differing)
    if worker.version != version:
        yield Finding(
            "problem",
            _("The worker {worker} runs another release ({other}) than is here ({own}).").format(
                worker=worker.name, other=worker.version[:12] or _("an older one"), own=version[:12]
            ),
            _("Run web server and workers from the same release, and restart them."),
        )


def _unknown_store(worker: Worker) -> Finding:
    return Finding(
        "warning",
        _("The worker {worker} has not reached its object store since it started.").format(
            worker=worker.name
        ),
        _("Run “manage.py doctor” on its host, which shows what is wrong."),
    )


def _other_store(worker: Worker) -> Iterable[Finding]:
    yield Finding(
        "problem",
        _("The worker {worker} does not read the object store that is written here.").format(
            worker=worker.name
        ),
        _("Give the web server and all workers the same STORAGE_URL, and restart them."),
    )


def _other_folders(worker: Worker, names: Iterable[str]) -> Iterable[Finding]:
    for name in names:
        yield Finding(
            "problem",
            _("The worker {worker} does not read the folder {folder} that is written here ({name}).").format(
                worker=worker.name, folder=getattr(settings, name), name=name
            ),
            _("Give the web server and all workers the same volume."),
        )
