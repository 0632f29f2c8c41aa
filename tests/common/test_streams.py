"""Answers that are sent as they are made."""

import asyncio
import io
from collections.abc import Iterator
from typing import Any

from django.http import HttpRequest
from django.middleware.gzip import GZipMiddleware

from common.rest.streams import StreamedFile, StreamedText


def parts_taken_before_the_first_is_sent(response: Any, taken: list[int]) -> int:
    async def first() -> int:
        parts = aiter(response)
        await anext(parts)
        count = len(taken)
        await parts.aclose()
        return count

    return asyncio.run(first())


def counted(taken: list[int], parts: int = 1000) -> Iterator[bytes]:
    for number in range(parts):
        taken.append(number)
        yield b"x" * 1000


def test_parts_are_sent_one_by_one() -> None:
    taken: list[int] = []
    assert parts_taken_before_the_first_is_sent(StreamedText(counted(taken)), taken) == 1


def test_compressed_parts_are_too() -> None:
    taken: list[int] = []
    request = HttpRequest()
    request.META["HTTP_ACCEPT_ENCODING"] = "gzip"
    response: Any = GZipMiddleware(lambda _: StreamedText(counted(taken)))(request)
    assert response["Content-Encoding"] == "gzip"
    assert parts_taken_before_the_first_is_sent(response, taken) < 1000


def test_a_file_arrives_whole() -> None:
    async def whole() -> bytes:
        return b"".join([part async for part in StreamedFile(io.BytesIO(b"y" * 100_000))])

    assert asyncio.run(whole()) == b"y" * 100_000
