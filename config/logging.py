"""Structured logs: one line an event, with the id of the request it belongs to, also inside Celery workers."""

from __future__ import annotations

import logging.config
import re
from time import monotonic
from typing import Any, Final
from uuid import uuid4

import structlog
from celery import Task
from celery.signals import before_task_publish, setup_logging, task_postrun, task_prerun
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

HEADER: Final = "X-Request-ID"
BEGUN: Final = (
    "lapidary.begun"  # in the environ: when a thread took the request, before it waited for its turn
)
# What a proxy may hand in; anything else could forge log lines and is replaced.
ACCEPTABLE: Final = re.compile(r"[A-Za-z0-9._-]{8,64}")
QUIET: Final = ("/static/", "/healthz", "/readyz", "/metrics")
SHARED: Final[list[Any]] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
]
# Without local variables: they hold dialogues and passwords.
JSON_TRACEBACKS: Final = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
)
access = structlog.stdlib.get_logger("lapidary.access")


class SkipReadinessProbe(logging.Filter):
    """Django logs every 503 as an error; the one of /readyz is an answer, asked for every few seconds."""

    def filter(self, record: logging.LogRecord) -> bool:
        return getattr(getattr(record, "request", None), "path", "") != "/readyz"


def _describe_formatter(json_lines: bool) -> dict[str, Any]:
    """For dictConfig: of structlog's records and those of the standard library."""
    last: list[Any] = (
        [JSON_TRACEBACKS, structlog.processors.JSONRenderer(ensure_ascii=False)]
        if json_lines
        else [
            structlog.dev.ConsoleRenderer(
                colors=False, pad_event_to=0, exception_formatter=structlog.dev.plain_traceback
            )
        ]
    )
    return {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": SHARED,
        "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
    }


def configure_logging(*, debug: bool, json_lines: bool, level: str = "INFO") -> None:
    """Send both structlog's and the standard library's records to stderr, as JSON or as text for people."""
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"line": _describe_formatter(json_lines)},
            "filters": {"skip_readiness_probe": {"()": SkipReadinessProbe}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "root": {"handlers": ["stderr"], "level": level},
            "loggers": {
                "django.server": {"level": "INFO" if debug else "WARNING"},
                # gunicorn adds a handler of its own before its workers import us.
                "gunicorn.error": {"handlers": [], "propagate": True},
                # A line a second for the reapers says nothing.
                "celery.beat": {"level": "WARNING"},
                "celery.worker.strategy": {"level": "WARNING"},
                "httpx": {"level": "WARNING"},
                "django.request": {"filters": ["skip_readiness_probe"]},
            },
        }
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


class RequestIdMiddleware(MiddlewareMixin):
    """Gives every request an id, taken from the proxy where it sends a sane one; logs one line per request."""

    def process_request(self, request: HttpRequest) -> None:
        given = request.headers.get(HEADER, "")
        request_id = given if ACCEPTABLE.fullmatch(given) else uuid4().hex
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        request.META["lapidary.request_id"] = request_id
        request.META.setdefault(BEGUN, monotonic())

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        begun = request.META.get(BEGUN, monotonic())
        response[HEADER] = request.META.get("lapidary.request_id", "")
        if not request.path.startswith(QUIET):
            # The path without its query: a query may hold what somebody searched for.
            access.info(
                "request",
                method=request.method,
                path=request.path,
                status=response.status_code,
                ms=round((monotonic() - begun) * 1000),
            )
        return response


@setup_logging.connect
def disable_celery_logging_setup(**_: Any) -> None:
    """Celery configures logging itself unless this signal has a receiver."""


@before_task_publish.connect
def send_request_id(headers: dict[str, Any] | None = None, **_: Any) -> None:
    request_id = structlog.contextvars.get_contextvars().get("request_id")
    if headers is not None and request_id:
        headers["request_id"] = request_id


@task_prerun.connect
def receive_request_id(task_id: str, task: Task[Any, Any], **_: Any) -> None:
    structlog.contextvars.bind_contextvars(task=task.name, task_id=task_id)
    if request_id := getattr(task.request, "request_id", None):
        structlog.contextvars.bind_contextvars(request_id=request_id)


@task_postrun.connect
def forget_request_id(**_: Any) -> None:
    structlog.contextvars.clear_contextvars()
