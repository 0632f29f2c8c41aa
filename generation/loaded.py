"""The models that a worker process keeps loaded: only a few, because each takes memory until it is unloaded."""

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.utils import translation

from common.refusals import Refusal
from generation.models import BackendKind, CandidateRequest, Generator
from generation.protocol import Backend, BackendError, load_backend
from jobs import tasks as heartbeat

logger = logging.getLogger(__name__)

MAX_VERSION = 200  # characters; CandidateSet.model_version
LOCAL = {BackendKind.HF.value}  # backends that take the worker's own memory
DEFAULT_MODEL = ""  # the slug under which a worker reports the model that the settings name


@dataclass(slots=True, eq=False)
class LoadedModel:
    """A loaded model. load_key: path and options that it was loaded with; users: how many callers use it now."""

    backend: Backend
    load_key: str
    slug: str
    is_local: bool
    users: int = 0


# Of higher apps that store models: the folder of a generator's model on this host, fetched if it is missing; None for a
# generator of others. They raise Refusal.
FOLDERS: list[Callable[[Generator], Path | None]] = []

# By generator, least recently used first.
_loaded: OrderedDict[int | None, LoadedModel] = OrderedDict()
_lock = threading.RLock()


def path_and_options(generator: Generator | None) -> tuple[str, dict[str, Any]]:
    """What the generator says; GENERATION_MODEL if there is no generator or its options name no model."""
    default = {
        "model": settings.GENERATION_MODEL,
        "threads": settings.GENERATION_THREADS or None,
        "max_utterances": settings.GENERATION_UTTERANCES or None,
    }
    if generator is None:
        return BackendKind.HF.value, default
    if generator.backend == BackendKind.HF and "model" not in generator.options:
        return generator.backend, default | generator.options
    return generator.backend, generator.options


def arguments_on_this_host(generator: Generator | None) -> tuple[str, dict[str, Any]]:
    """Arguments of `load_backend`. The folder of a trained model is fetched, to a path that may differ between hosts.

    Raises BackendError if it cannot be fetched.
    """
    path, options = path_and_options(generator)
    if generator is None or path not in LOCAL:
        return path, options
    try:
        # English, like what backends say: `selectors.translate_sentences` translates it for the reader.
        with translation.override(None):
            folder = next((folder for find in FOLDERS if (folder := find(generator))), None)
    except Refusal as refusal:
        passing = refusal.code == "storage_away"
        raise BackendError(str(refusal.message), str(refusal.remedy), retryable=passing) from refusal
    return path, options | ({"model": str(folder)} if folder else {})


@contextmanager
def use_backend(generator: Generator | None) -> Iterator[Backend]:
    """The backend of a generator: loaded and checked at the first use, kept, and loaded again if its options change.

    At most GENERATION_LOADED_MODELS local models are kept; the least recently used one is unloaded, but never one in
    use. Raises BackendError if the model cannot be used; the next call tries again.
    """
    with _lock:
        loaded = _load_once(generator)
        loaded.users += 1
    try:
        yield loaded.backend
    finally:
        with _lock:
            loaded.users -= 1
            if loaded not in _loaded.values():  # unloaded while it was in use, because its options changed
                _close(loaded)


def _load_once(generator: Generator | None) -> LoadedModel:
    number = generator.pk if generator else None
    path, options = path_and_options(generator)
    load_key = json.dumps([path, options], sort_keys=True)
    if number in _loaded and _loaded[number].load_key != load_key:
        _unload(number)
    if number not in _loaded:
        is_local = path in LOCAL
        if is_local:
            _make_room()
        backend = load_backend(*arguments_on_this_host(generator))
        backend.check()
        _loaded[number] = LoadedModel(
            backend, load_key, generator.slug if generator else DEFAULT_MODEL, is_local
        )
        _report_models()
    _loaded.move_to_end(number)
    return _loaded[number]


def _make_room() -> None:
    """Unload idle models before loading another: afterwards memory would hold one model too many for a moment."""
    local = [number for number, loaded in _loaded.items() if loaded.is_local]
    idle = [number for number in local if not _loaded[number].users]
    for number in idle[: max(0, len(local) + 1 - settings.GENERATION_LOADED_MODELS)]:
        logger.info("unloading a model to make room", extra={"model": _loaded[number].slug})
        _unload(number)


def _unload(number: int | None) -> None:
    loaded = _loaded.pop(number)
    _close(loaded)
    _report_models()


def _close(loaded: LoadedModel) -> None:
    if not loaded.users:
        loaded.backend.close()


def _report_models() -> None:
    """Put the loaded models into the next heartbeat, for the rest of the platform (see jobs.models.Worker)."""
    versions = {loaded.slug: version_of(loaded.backend) for loaded in _loaded.values()}
    heartbeat.details |= {"models": sorted(versions.values()), "generators": versions}


def _report_failure(generator: Generator | None, error: BackendError) -> None:
    """Put it into the next heartbeat, for whoever waits for the model (`selectors.failures_to_load`)."""
    failure = {"id": uuid4().hex, "cause": error.cause, "remedy": error.remedy}
    slug = generator.slug if generator else DEFAULT_MODEL
    heartbeat.details["failures"] = {slug: failure}  # the latest alone: the list must not grow


def version_of(backend: Backend) -> str:
    return backend.version[:MAX_VERSION]


def preload(generator_id: int | None) -> None:
    """Load a model before it is needed. Failures are logged and in the worker's heartbeat."""
    generator = Generator.objects.filter(pk=generator_id).first() if generator_id is not None else None
    if generator_id is not None and generator is None:
        return  # deleted since the message was sent
    try:
        with use_backend(generator):
            pass
    except BackendError as error:
        logger.warning("the model cannot be used: %s", error)
        _report_failure(generator, error)


def warm_up() -> None:
    """Load the models of the latest request, so that the first annotator does not wait for them."""
    latest = CandidateRequest.objects.order_by("-created_at").first()
    preload(latest.generator_id if latest else None)
    if latest and latest.second_generator_id:
        preload(latest.second_generator_id)
