"""ASGI entry point, served by uvicorn."""

import asyncio
import os
import warnings
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import IO, Any, TypeVar, cast

import django
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.signals import request_started
from django.db import connections
from django.http import FileResponse
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix

from config.logging import ARRIVED

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup(set_prefix=False)

# A process that is busy is not taken for dead.
ASIDE = frozenset({"/healthz", "/readyz"})
# Seconds. Who takes longer is taken to wait for something else: a lock, a worker, a Redis that hangs.
INTERPRETER_FOR = 0.25
T = TypeVar("T")


class ThreadsHandler(ASGIHandler):
    """Django's own, in whose place a few threads that stay handle the requests, each in one step.

    Middleware and views are all synchronous. Django's makes a thread for each request, with a database connection of
    its own, and steps into it three times. Here WEB_THREADS of them stay, with their connections; requests come to
    them in turn, WEB_AT_WORK of them at a time and those that wait for something else than the interpreter. What is
    streamed leaves its turn and its thread to others, and is read step by step in a thread of its own (decision 16).
    """

    def __init__(self) -> None:
        super().__init__()
        self.threads = ThreadPoolExecutor(settings.WEB_THREADS, thread_name_prefix="request")
        self.places = asyncio.Semaphore(settings.WEB_THREADS)
        self.at_work = asyncio.Semaphore(settings.WEB_AT_WORK)

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        scope[ARRIVED] = monotonic()
        # After its body a client has nothing to say but that it is gone.
        gone = asyncio.ensure_future(receive())
        try:
            if scope["path"].removeprefix(get_script_prefix(scope)) in ASIDE:
                await self.send_aside(scope, body, send)
                return
            turn = await _unless(gone, self.turn())
            if turn is None:
                body.close()
                return
            with turn:
                response = await self.in_a_thread(scope, body)
            if response.streaming:
                await self.stream(response, gone, send)
            else:
                await self.send_response(response, send)
        finally:
            gone.cancel()

    async def send_aside(self, scope: Any, body: IO[bytes], send: Any) -> None:
        try:
            await self.send_response(await sync_to_async(self.respond)(scope, body), send)
        finally:
            await sync_to_async(connections.close_all)()  # of a thread that ends here

    async def stream(self, response: HttpResponseBase, gone: asyncio.Future[Any], send: Any) -> None:
        try:
            await _unless(gone, self.send_response(response, send))
        finally:
            await sync_to_async(response.close)()

    async def turn(self) -> "_Turn":
        await self.places.acquire()
        try:
            await self.at_work.acquire()
        except asyncio.CancelledError:
            self.places.release()
            raise
        return _Turn(self.places, self.at_work)

    async def in_a_thread(self, scope: Any, body: IO[bytes]) -> HttpResponseBase:
        """A client that leaves meanwhile ends nothing: the thread reads what it sent."""
        respond = sync_to_async(self.respond, thread_sensitive=False, executor=self.threads)
        return await respond(scope, body)

    def respond(self, scope: Any, body: IO[bytes]) -> HttpResponseBase:
        """All of a request in this thread; a response that is not streamed has all of its text, and is closed."""
        with body:
            set_script_prefix(get_script_prefix(scope))
            request_started.send(sender=type(self), scope=scope)
            request, refused = self.create_request(scope, body)
            response = cast(HttpResponseBase, refused if request is None else self.get_response(request))
        response._handler_class = type(self)  # type: ignore[attr-defined]  # who sends request_finished
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        if not response.streaming:
            response.close()
        return response


class _Turn:
    """A place among those that have a thread, and for some time among those at work."""

    def __init__(self, places: asyncio.Semaphore, at_work: asyncio.Semaphore) -> None:
        self.places, self.at_work, self.works = places, at_work, True

    def __enter__(self) -> None:
        self.late = asyncio.get_running_loop().call_later(INTERPRETER_FOR, self.let_another_work)

    def __exit__(self, *_error: object) -> None:
        self.late.cancel()
        self.let_another_work()
        self.places.release()

    def let_another_work(self) -> None:
        if self.works:
            self.works = False
            self.at_work.release()


async def _unless(gone: asyncio.Future[Any], work: Coroutine[Any, Any, T]) -> T | None:
    """What `work` gives, if it ends before the client is gone; else it is cancelled."""
    begun = asyncio.ensure_future(work)
    try:
        await asyncio.wait({gone, begun}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not begun.done():
            begun.cancel()
            await asyncio.wait({begun})
    return None if begun.cancelled() else begun.result()


django_application = ThreadsHandler()

# WhiteNoise's files are small and read at once; what is large is sent step by step (common/rest/streams.py).
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")

from config.body_limit import App, BodyLimit  # noqa: E402 - needs the applications to be loaded

application = BodyLimit(cast(App, django_application))
