"""Several addresses of one model server: which one gets a call, and which are left alone because they failed."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

logger = logging.getLogger(__name__)

# Seconds that an address is left alone after its first failure; twice as long after each further one.
FIRST_REST, LONGEST_REST = 10, 300
REMEMBERED_FOR = 3600  # seconds; failures that nobody has seen for so long no longer count
# So many more open calls than the idlest address may have the one that probably holds the conversation in its cache.
LEAD = 4


class Notes(Protocol):
    """What is noted about addresses, with seconds until it is forgotten; Django's cache has this shape."""

    def get_many(self, keys: Iterable[str], /) -> Mapping[str, Any]: ...

    def set(self, key: str, value: Any, timeout: float, /) -> Any: ...

    def delete_many(self, keys: Iterable[str], /) -> Any: ...


class NotesOfProcess:
    """For a process without Django, such as a command; `generation.apps` has workers share theirs through Redis."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Any, float]] = {}

    def get_many(self, keys: Iterable[str], /) -> dict[str, Any]:
        now = time.monotonic()
        found = {key: self._kept[key] for key in keys if key in self._kept}
        return {key: value for key, (value, until) in found.items() if until > now}

    def set(self, key: str, value: Any, timeout: float, /) -> None:
        self._kept[key] = (value, time.monotonic() + timeout)

    def delete_many(self, keys: Iterable[str], /) -> None:
        for key in keys:
            self._kept.pop(key, None)


# Redis counts the seconds, so clocks of hosts that differ do no harm.
shared_notes: Notes = NotesOfProcess()


def share_notes(notes: Notes) -> None:
    global shared_notes  # set once, when the process starts
    shared_notes = notes


@dataclass(slots=True)
class Address:
    """url: with "/v1". open_calls: of this process. failures: in a row, as all processes noted them."""

    url: str
    open_calls: int = 0
    failures: int = field(default=0, repr=False)

    @property
    def _key(self) -> str:
        return f"generation:address:{hashlib.sha256(self.url.encode()).hexdigest()[:16]}"

    @property
    def rest_key(self) -> str:
        return f"{self._key}:rests"

    @property
    def failures_key(self) -> str:
        return f"{self._key}:failures"


class Addresses:
    """The addresses of one backend."""

    def __init__(self, urls: Iterable[str]) -> None:
        self._all = [Address(url) for url in urls]

    def in_order(self, conversation: str) -> list[Address]:
        """Which address to try first, second and so on; those that rest come last, in case all of them do.

        A conversation has its own address, whose server keeps the encoded context; it goes to the one with the fewest
        open calls if its own has LEAD more.
        """
        notes = self._read()
        for address in self._all:
            address.failures = int(notes.get(address.failures_key, 0))
        home = max(self._all, key=lambda address: _draw(conversation, address.url)).url

        def rank(address: Address) -> tuple[bool, int, bytes]:
            lead = LEAD if address.url == home else 0
            return address.rest_key in notes, address.open_calls - lead, _draw(conversation, address.url)

        return sorted(self._all, key=rank)

    def _read(self) -> Mapping[str, Any]:
        return shared_notes.get_many([key for one in self._all for key in (one.rest_key, one.failures_key)])

    def note_failure(self, address: Address) -> None:
        """Leave an address alone for a while. Calls that fail together are one failure."""
        if shared_notes.get_many([address.rest_key]):
            return
        rest = min(FIRST_REST * 2**address.failures, LONGEST_REST)
        address.failures += 1
        logger.warning("the model server %s is left alone for %d s", address.url, rest)
        shared_notes.set(address.failures_key, address.failures, REMEMBERED_FOR)
        shared_notes.set(address.rest_key, True, rest)

    def note_success(self, address: Address) -> None:
        if address.failures:
            logger.info("the model server %s answers again", address.url)
            address.failures = 0
            shared_notes.delete_many([address.rest_key, address.failures_key])


def _draw(conversation: str, url: str) -> bytes:
    """The address with the largest draw is the conversation's own: one that comes or goes moves no others."""
    return hashlib.sha256(f"{conversation} {url}".encode()).digest()
