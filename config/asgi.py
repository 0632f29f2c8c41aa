"""ASGI entry point, served by uvicorn."""

import os
import warnings
from typing import Any, cast

import django
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)


class OneThreadHandler(ASGIHandler):
    """Django's own, with one step into a thread to handle a request: middleware and views are all synchronous.

    Django's takes one for the first synchronous middleware, goes back for what handles the request, and takes another
    one for the view and for every process_view.
    """

    _middleware_chain: Any

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)
        self._middleware_chain = sync_to_async(self._middleware_chain, thread_sensitive=True)


django_application = OneThreadHandler()

# WhiteNoise's files are small and read at once; what is large is sent step by step (accounts/rest/streams.py).
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")

from config.body_limit import App, BodyLimit  # noqa: E402 - needs the applications to be loaded

application = BodyLimit(cast(App, django_application))
