"""Answers that are sent as they are made.

Under ASGI Django makes a list of everything that an ordinary iterator yields before it sends the first byte: a file
of a gigabyte would need a gigabyte of memory. Here every part is fetched in the request's own thread, one at a time.
"""

from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.http import FileResponse, StreamingHttpResponse


class _Stepwise:
    """`streaming_content` is asked late, since a middleware may have put its compression around it."""

    streaming_content: Any

    async def __aiter__(self) -> AsyncIterator[bytes]:
        parts = iter(self.streaming_content)
        step = sync_to_async(lambda: next(parts, None))
        while (part := await step()) is not None:
            yield part


class StreamedFile(_Stepwise, FileResponse):
    """A file from the disk."""


class StreamedText(_Stepwise, StreamingHttpResponse):
    """Lines from a generator."""
