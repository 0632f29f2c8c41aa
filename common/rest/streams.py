"""Answers that are sent as they are made.

Under ASGI Django makes a list of everything that an ordinary iterator yields before it sends the first byte: a file
of a gigabyte would need a gigabyte of memory. Here every part is fetched in a thread of the request's own, one at a
time. It is another one than the view's: what was sent is closed by then, and a connection to the database is kept for
one part only, so that a client that reads slowly holds none. What makes the parts asks for rows page by page.
"""

from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections
from django.http import FileResponse, StreamingHttpResponse


class _Stepwise:
    """`streaming_content` is asked late, since a middleware may have put its compression around it."""

    streaming_content: Any

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts = iter(self.streaming_content)

        def step() -> bytes | None:
            try:
                return next(parts, None)
            finally:
                connections.close_all()

        while (part := await sync_to_async(step)()) is not None:
            yield part


class StreamedFile(_Stepwise, FileResponse):
    """A file from the disk."""


class StreamedText(_Stepwise, StreamingHttpResponse):
    """Lines from a generator."""
