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
_loaded: dict[str, Backend] = {}


def path_and_options(generator: Generator | None) -> tuple[str, dict[str, Any]]:
    """What `load_backend` takes; without a generator, the model that the settings name."""
    default = {"model": settings.GENERATION_MODEL}
    if generator is None:
        return BackendKind.HF.value, default
    return generator.backend, (default if generator.backend == BackendKind.HF else {}) | generator.options


def backend_for(generator: Generator | None) -> Backend:
    """The backend of a generator, loaded and tried out once and then kept; anew when its options changed.

    Raises BackendError where it cannot be used; the next call tries again.
    """
    key = json.dumps(path_and_options(generator), sort_keys=True)
    if key not in _loaded:
        backend = load_backend(*path_and_options(generator))
        backend.check()
        _loaded[key] = backend
        heartbeat.details["models"] = sorted(version_of(one) for one in _loaded.values())
    return _loaded[key]


def version_of(backend: Backend) -> str:
    return backend.version[:MAX_VERSION]


def warm_up() -> None:
    """Load the model that was asked last, so that the first annotator does not wait for it."""
    latest = CandidateRequest.objects.select_related("generator").order_by("-created_at").first()
    try:
        backend_for(latest.generator if latest else None)
    except BackendError as error:
        logger.warning("the model cannot be used: %s", error)
