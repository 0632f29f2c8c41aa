"""Backends that no sane person would write, named by dotted path in generators of the tests."""

from collections.abc import Sequence
from dataclasses import replace
from time import sleep
from typing import Any

from generation.backends.scripted import ScriptedBackend
from generation.protocol import BackendError, Reply, ReplyRequest, ReplySet

RECORDING = "tests.generation.odd_backends.Recording"
GARBAGE = "tests.generation.odd_backends.Garbage"
WRONG_NUMBER = "tests.generation.odd_backends.WrongNumber"
CRASHING = "tests.generation.odd_backends.Crashing"
SCORED = "tests.generation.odd_backends.Scored"
CLOSING = "tests.generation.odd_backends.Closing"
HANGING = "tests.generation.odd_backends.Hanging"


class Recording(ScriptedBackend):
    """Remembers what it was asked, in `calls`, one entry a call."""

    calls: list[list[ReplyRequest]] = []

    def generate(self, requests: Sequence[ReplyRequest]) -> list[ReplySet | BackendError]:
        self.calls.append(list(requests))
        return super().generate(requests)


class Closing(ScriptedBackend):
    """Remembers who was closed, in `closed`."""

    closed: list[str] = []

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(**options)
        self.name = name

    @property
    def version(self) -> str:
        return f"closing@{self.name}"

    def close(self) -> None:
        self.closed.append(self.name)


class Garbage(ScriptedBackend):
    """Replies as a broken server writes them. sane: also one that can be used."""

    def __init__(self, sane: bool = True) -> None:
        super().__init__()
        self.sane = sane

    def generate(self, requests: Sequence[ReplyRequest]) -> list[ReplySet | BackendError]:
        texts = ["", " \n", "\0", "\ufffd", "x" * 20_000, *(["Fine\0.", "fine."] if self.sane else [])]
        reply = Reply("", seed=1, tokens=1, logprob=float("nan"), score=float("-inf"))
        return [ReplySet(tuple(replace(reply, text=text) for text in texts)) for _ in requests]


class Scored(ScriptedBackend):
    """Scripted replies with a score, the longer the better. scores: what is wrong with them."""

    def __init__(self, scores: str = "", **options: Any) -> None:
        super().__init__(**options)
        self.scores = scores

    def generate(self, requests: Sequence[ReplyRequest]) -> list[ReplySet | BackendError]:
        answers = super().generate(requests)
        return [
            replace(one, replies=tuple(self._scored(*pair) for pair in enumerate(one.replies)))
            if isinstance(one, ReplySet)
            else one
            for one in answers
        ]

    def _scored(self, place: int, reply: Reply) -> Reply:
        odd: dict[str, float | None] = {"all the same": 1.0, "none": None}
        if place == 0:
            odd |= {"one missing": None, "not a number": float("nan")}
        return replace(reply, score=odd.get(self.scores, len(reply.text) / 10))


class WrongNumber(ScriptedBackend):
    """Forgets the last request of a batch."""

    def generate(self, requests: Sequence[ReplyRequest]) -> list[ReplySet | BackendError]:
        return super().generate(requests)[:-1]


class Crashing(ScriptedBackend):
    def generate(self, requests: Sequence[ReplyRequest]) -> list[ReplySet | BackendError]:
        raise ZeroDivisionError("segmentation of the imagination")


class Hanging(ScriptedBackend):
    """Never answers a request whose last utterance says so."""

    def generate(self, requests: Sequence[ReplyRequest]) -> list[ReplySet | BackendError]:
        if any("hang" in request.context[-1].text for request in requests):
            sleep(3600)
        return super().generate(requests)
