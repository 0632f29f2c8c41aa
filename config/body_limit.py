"""What a request may carry, counted while it arrives.

Django takes a whole body to disk before any view or middleware is asked. So the limit stands before Django: an
announced length is refused unread, one that was not announced when it is reached; a disk that fills meanwhile is told.
"""

import json
import re
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from common.refusals import Refusal
from common.rest.parsers import too_large
from common.rest.problems import CONTENT_TYPE, problem_body
from dialogues.services import uploads

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

IMPORTS = re.compile(r"/(api/v1/projects|p)/[^/]+/imports/")


class BodyLimit:
    """Files as large as IMPORT_MAX_BYTES go to the addresses of imports; elsewhere a body fits into memory."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = _Body(receive, _check_for(scope["path"]))
        answering = False

        async def noting(message: Message) -> None:
            nonlocal answering
            answering = True
            await send(message)

        try:
            body.check(_announced(scope))
            await self.app(scope, body.receive, noting)
        except Refusal as refusal:
            body.refusal = refusal
        except OSError as error:
            if answering or not uploads.is_full_disk(error):
                raise
            traceback.clear_frames(
                error.__traceback__
            )  # Django's spooled file goes now, and its space is free
            body.refusal = uploads.disk_full()
        if body.refusal and not answering:
            await _refuse(body.refusal, send)


@dataclass(slots=True)
class _Body:
    """Counts what comes. Past the limit the application hears that the client went away, and tidies up."""

    source: Receive
    check: Callable[[int], None]
    size: int = 0
    refusal: Refusal | None = None

    async def receive(self) -> Message:
        message = await self.source()
        self.size += len(message.get("body", b""))
        try:
            self.check(self.size)
        except Refusal as refusal:
            self.refusal = refusal
            return {"type": "http.disconnect"}
        return message


def _check_for(path: str) -> Callable[[int], None]:
    if IMPORTS.fullmatch(path):
        return lambda size: uploads.check_announced(str(size))

    def check(size: int) -> None:
        if size > settings.DATA_UPLOAD_MAX_MEMORY_SIZE + uploads.FORM_BYTES:
            raise too_large(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)

    return check


def _announced(scope: Scope) -> int:
    length = dict(scope["headers"]).get(b"content-length", b"0").decode("latin-1")
    return int(length) if length.isascii() and length.isdecimal() and len(length) < 20 else 0


async def _refuse(refusal: Refusal, send: Send) -> None:
    body = json.dumps(problem_body(refusal), ensure_ascii=False).encode()
    headers = [(b"content-type", CONTENT_TYPE.encode()), (b"content-length", str(len(body)).encode())]
    # What was not read cannot be told from a next request.
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
