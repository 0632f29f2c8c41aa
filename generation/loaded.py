"""The models that a worker process holds."""

import json
import logging
from typing import Any

from django.conf import settings

from generation.models import BackendKind, CandidateRequest, Generator
from generation.protocol import Backend, BackendError, load_backend
from jobs import tasks as heartbeat

logger = logging.getLogger(__name__)

MAX_VERSION = 200  # characters; CandidateSet.model_version
# By generator: the options that it was loaded with, and what was loaded.
_loaded: dict[int | None, tuple[str, Backend]] = {}


def path_and_options(generator: Generator | None) -> tuple[str, dict[str, Any]]:
    """What `load_backend` takes; without a generator or a model in its options, the model that the settings name."""
    default = {"model": settings.GENERATION_MODEL, "threads": settings.GENERATION_THREADS or None}
    if generator is None:
        return BackendKind.HF.value, default
    if generator.backend == BackendKind.HF and "model" not in generator.options:
        return generator.backend, default | generator.options
    return generator.backend, generator.options


def backend_for(generator: Generator | None) -> Backend:
    """The backend of a generator, loaded and tried out once and then kept; anew when its options changed.

    Raises BackendError where it cannot be used; the next call tries again.
    """
    number, wanted = (
        generator.pk if generator else None,
        json.dumps(path_and_options(generator), sort_keys=True),
    )
    if number in _loaded and _loaded[number][0] != wanted:
        _loaded.pop(number)[1].close()
    if number not in _loaded:
        backend = load_backend(*path_and_options(generator))
        backend.check()
        _loaded[number] = wanted, backend
        heartbeat.details["models"] = sorted(version_of(one) for _wanted, one in _loaded.values())
    return _loaded[number][1]


def version_of(backend: Backend) -> str:
    return backend.version[:MAX_VERSION]


def warm_up() -> None:
    """Load the model that was asked last, so that the first annotator does not wait for it."""
    latest = CandidateRequest.objects.select_related("generator").order_by("-created_at").first()
    try:
        backend_for(latest.generator if latest else None)
    except BackendError as error:
        logger.warning("the model cannot be used: %s", error)
