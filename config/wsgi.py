"""The WSGI application, served by gunicorn (config/gunicorn.py)."""

import os
from importlib import import_module
from typing import Any

from celery import current_app
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from gunicorn.errors import AppImportError

from config.body_deadline import limit_body_time
from config.database_timeouts import mark_web_process
from config.environment import WRONG_SETTINGS
from config.turnstile import Turnstile, take_turns
from config.upload_addresses import IMPORTS

PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
SMALL_BODY = 64 * 1024  # bytes


def seconds_for_body(path: str) -> float:
    """How long the body of a request may take to arrive."""
    seconds: float = settings.UPLOAD_SECONDS if IMPORTS.fullmatch(path) else settings.BODY_SECONDS
    return seconds


def needs_turn(environ: dict[str, Any]) -> bool:
    """Whether a request waits until few others are at work (config/turnstile.py).

    Probes ask whether the process is alive while all others wait. An upload mostly waits for its client.
    """
    path, length = environ.get("PATH_INFO", ""), environ.get("CONTENT_LENGTH") or "0"
    is_upload = IMPORTS.fullmatch(path) or not length.isdecimal() or int(length) > SMALL_BODY
    return path not in PROBES and not is_upload


def import_what_requests_need() -> None:
    """Import all pages and tasks, which Django and Celery would do in the first request and the first task sent.

    Imports take seconds on a busy machine, and while they run, all other requests of the process wait.
    """
    import_module(settings.ROOT_URLCONF)
    current_app.loader.import_default_modules()


mark_web_process()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

try:
    django_application = get_wsgi_application()
except WRONG_SETTINGS as error:
    raise AppImportError(str(error)) from error  # gunicorn prints it alone, and ends
import_what_requests_need()
application = take_turns(limit_body_time(django_application, seconds_for_body), Turnstile(), needs_turn)
