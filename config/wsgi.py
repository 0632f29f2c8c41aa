"""The WSGI application, served by gunicorn (config/gunicorn.py)."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from config.body_deadline import limit_body_time
from config.database_timeouts import mark_web_process
from config.upload_addresses import IMPORTS


def seconds_for_body(path: str) -> float:
    """How long the body of a request may take to arrive."""
    seconds: float = settings.UPLOAD_SECONDS if IMPORTS.fullmatch(path) else settings.BODY_SECONDS
    return seconds


mark_web_process()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = limit_body_time(get_wsgi_application(), seconds_for_body)
