"""ASGI entry point, served by uvicorn."""

import asyncio
import os
import warnings
from collections.abc import Awaitable, Callable
from typing import Any, cast

import django
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)


# A process that is busy is not taken for dead.
AT_ONCE = frozenset({"/healthz", "/readyz"})


class OneThreadHandler(ASGIHandler):
    """Django's own, with one step into a thread to handle a request, and WEB_THREADS of them at a time.

    Middleware and views are all synchronous. Django's takes one step for the first middleware, goes back for what
    handles the request, and takes another one for the view and for every process_view. Threads share an interpreter:
    fifty at once get less done than a few, and each is slower. A response that streams has left its place to others; so
    has a request whose client went away, while its thread goes on.
    """

    _middleware_chain: Any

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)
        handle: Callable[[HttpRequest], Awaitable[HttpResponseBase]]
        handle = sync_to_async(self._middleware_chain, thread_sensitive=True)
        places = asyncio.Semaphore(settings.WEB_THREADS)

        async def handle_in_turn(request: HttpRequest) -> HttpResponseBase:
            if request.path_info in AT_ONCE:
                return await handle(request)
            async with places:
                return await handle(request)

        self._middleware_chain = handle_in_turn


django_application = OneThreadHandler()

# WhiteNoise's files are small and read at once; what is large is sent step by step (accounts/rest/streams.py).
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")

from config.body_limit import App, BodyLimit  # noqa: E402 - needs the applications to be loaded

application = BodyLimit(cast(App, django_application))
