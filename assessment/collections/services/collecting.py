"""The job of a collection: has systems reply, several at once, and hands complete dialogues to the raters.

Safe to run again after a kill or a cancel: replies are stored as they come, and dialogues that are made stay.
"""

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from threading import Event
from typing import Any, Final

from django.db import connections
from django.utils.translation import get_language, override

from assessment.collections.models import CollectedDialogue, CollectedState, Collection, CollectionKind
from assessment.collections.services.conversations import StoppedEarly, continue_conversation
from assessment.collections.services.handing_over import hand_over
from generation.protocol import BackendError
from jobs.models import Job
from jobs.progress import Progress

AT_ONCE: Final = 8  # conversations
BEAT_SECONDS: Final = 1.0


def run_collection_job(job: Job, progress: Progress) -> dict[str, Any]:
    """Make every dialogue that is still missing, then plan all new ones for the raters. Returns the counts."""
    collection = Collection.objects.select_related("project__assessment", "target").get(job=job)
    # What failed before is tried again: that is why somebody started the job again.
    rows = CollectedDialogue.objects.filter(collection=collection)
    rows.filter(state=CollectedState.MISSING).update(state=CollectedState.PENDING, error="")
    progress.start(total=rows.count(), unit="dialogues")
    _make_all(collection, progress)
    planned = hand_over(collection)
    missing = rows.filter(state=CollectedState.MISSING).count()
    return {
        "dialogues": rows.filter(state=CollectedState.DONE).count(),
        "missing": missing,
        "planned": planned,
    }


def _make_all(collection: Collection, progress: Progress) -> None:
    rows = CollectedDialogue.objects.filter(collection=collection)
    pending = rows.filter(state=CollectedState.PENDING).order_by("number", "pk").values_list("pk", flat=True)
    waiting = iter(list(pending))
    done = rows.exclude(state=CollectedState.PENDING).count()
    stop = Event()
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="collection") as pool:
        running = _submit(pool, waiting, AT_ONCE, stop)
        try:
            while running:
                ended, running = wait(running, timeout=BEAT_SECONDS, return_when=FIRST_COMPLETED)
                for future in ended:
                    future.result()
                done += len(ended)
                running |= _submit(pool, waiting, len(ended), stop)
                progress.report(done)
                progress.stop_if_worker_ends()
        except BaseException:
            stop.set()  # conversations end after the reply that they wait for
            pool.shutdown(cancel_futures=True)
            raise


def _submit(pool: ThreadPoolExecutor, waiting: Iterator[int], count: int, stop: Event) -> set[Future[None]]:
    language = get_language()  # of the person who started the job; threads begin with the server's
    return {pool.submit(_make, key, stop, language) for key in islice(waiting, count)}


def _make(key: int, stop: Event, language: str | None) -> None:
    """Make one dialogue in a thread of the pool. A system that fails leaves it missing; nothing is substituted."""
    this_row = CollectedDialogue.objects.filter(pk=key)
    try:
        row = this_row.select_related(
            "collection__project__assessment", "collection__target", "system__generator", "draft__project"
        ).get()
        try:
            with override(language):
                _reply(row, stop)
        except StoppedEarly:
            return
        except BackendError as error:
            this_row.update(state=CollectedState.MISSING, error=str(error))
        else:
            this_row.update(state=CollectedState.DONE)
    finally:
        connections.close_all()  # this thread's own


def _reply(row: CollectedDialogue, stop: Event) -> None:
    """Have the system reply as often as the kind of the collection needs it."""
    match row.collection.kind:
        case CollectionKind.STATIC if row.system is not None:
            continue_conversation(row, row.system, replies=1, stop=stop)
        case CollectionKind.SELF_CHAT if row.system is not None:
            # A round is two utterances; the opening is the first one.
            continue_conversation(row, row.system, replies=2 * row.collection.rounds - 1, stop=stop)
