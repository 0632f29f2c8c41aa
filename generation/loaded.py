"""The models that a worker process holds: few of them, since each takes memory until it goes."""

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from generation.models import BackendKind, CandidateRequest, Generator
from generation.protocol import Backend, BackendError, load_backend
from jobs import tasks as heartbeat

logger = logging.getLogger(__name__)

MAX_VERSION = 200  # characters; CandidateSet.model_version
LOCAL = {BackendKind.HF.value}  # what takes memory of the worker
SERVERS_OWN = ""  # the slug under which a worker reports the model that the settings name


@dataclass(slots=True, eq=False)
class Held:
    """A loaded model. wanted: the options that it was loaded with; users: who uses it at this moment."""

    backend: Backend
    wanted: str
    slug: str
    is_local: bool
    users: int = 0


# By generator, least recently used first.
_loaded: OrderedDict[int | None, Held] = OrderedDict()
_lock = threading.RLock()


def path_and_options(generator: Generator | None) -> tuple[str, dict[str, Any]]:
    """What `load_backend` takes; without a generator or a model in its options, the model that the settings name."""
    default = {"model": settings.GENERATION_MODEL, "threads": settings.GENERATION_THREADS or None}
    if generator is None:
        return BackendKind.HF.value, default
    if generator.backend == BackendKind.HF and "model" not in generator.options:
        return generator.backend, default | generator.options
    return generator.backend, generator.options


@contextmanager
def borrowed(generator: Generator | None) -> Iterator[Backend]:
    """The backend of a generator, loaded and tried out once and then kept; anew when its options changed.

    GENERATION_LOADED_MODELS local models are held at most; the least recently used goes, and never one that is
    borrowed. Raises BackendError where the model cannot be used; the next call tries again.
    """
    with _lock:
        held = _held(generator)
        held.users += 1
    try:
        yield held.backend
    finally:
        with _lock:
            held.users -= 1
            if held not in _loaded.values():  # its options changed meanwhile
                _close(held)


def _held(generator: Generator | None) -> Held:
    number = generator.pk if generator else None
    path, options = path_and_options(generator)
    wanted = json.dumps([path, options], sort_keys=True)
    if number in _loaded and _loaded[number].wanted != wanted:
        _let_go(number)
    if number not in _loaded:
        is_local = path in LOCAL
        if is_local:
            _make_room()
        backend = load_backend(path, options)
        backend.check()
        _loaded[number] = Held(backend, wanted, generator.slug if generator else SERVERS_OWN, is_local)
        _report()
    _loaded.move_to_end(number)
    return _loaded[number]


def _make_room() -> None:
    """Before loading: two models of a size that fits twice would otherwise be there three times."""
    local = [number for number, held in _loaded.items() if held.is_local]
    idle = [number for number in local if not _loaded[number].users]
    for number in idle[: max(0, len(local) + 1 - settings.GENERATION_LOADED_MODELS)]:
        logger.info("a model goes for another", extra={"model": _loaded[number].slug})
        _let_go(number)


def _let_go(number: int | None) -> None:
    held = _loaded.pop(number)
    _close(held)
    _report()


def _close(held: Held) -> None:
    if not held.users:
        held.backend.close()


def _report() -> None:
    """The next heartbeat tells the rest of the platform what this worker holds (see jobs.models.Worker)."""
    versions = {held.slug: version_of(held.backend) for held in _loaded.values()}
    heartbeat.details |= {"models": sorted(versions.values()), "generators": versions}


def version_of(backend: Backend) -> str:
    return backend.version[:MAX_VERSION]


def preload(generator_id: int | None) -> None:
    """Load a model before it is needed. Failures are logged; requests for its replies report the reason."""
    generator = Generator.objects.filter(pk=generator_id).first() if generator_id is not None else None
    if generator_id is not None and generator is None:
        return  # deleted meanwhile
    try:
        with borrowed(generator):
            pass
    except BackendError as error:
        logger.warning("the model cannot be used: %s", error)


def warm_up() -> None:
    """Load the model that was asked last, or both, so that the first annotator does not wait for it."""
    latest = CandidateRequest.objects.order_by("-created_at").first()
    preload(latest.generator_id if latest else None)
    if latest and latest.second_generator_id:
        preload(latest.second_generator_id)
