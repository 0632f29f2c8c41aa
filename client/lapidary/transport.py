"""Requests to the REST API: what is sent again, how long it waits, and what becomes an exception."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from lapidary.errors import ConnectionLost, LapidaryError, Problem, problem_of
from lapidary.version import HEADER, __version__, check_api_version

REPEATABLE = frozenset({"GET", "PUT", "DELETE"})  # by HTTP; a POST with an id of ours is repeatable here, too
TOO_MANY, PASSING = 429, frozenset({502, 503, 504})
LONGEST_PAUSE = 30.0  # seconds
Params = Mapping[str, Any]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Retries:
    """tries: in all, 1: never again. pause: seconds before the second try; it doubles, with some chance in it."""

    tries: int = 6
    pause: float = 0.5
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def wait(self, failures: int, asked: float = 0.0) -> None:
        """asked: seconds that the server named (Retry-After)."""
        pause = min(self.pause * 2.0 ** (failures - 1), LONGEST_PAUSE)
        self.sleep(max(asked, pause * random.uniform(0.5, 1.0)))


class Transport:
    """Sends requests in the name of a token. Not for several threads at once."""

    def __init__(self, url: str, token: str, *, timeout: float, retries: Retries) -> None:
        """Raises LapidaryError for what cannot be an address or a token."""
        self.url = _checked_url(url)
        self.retries = retries
        headers = {
            "Authorization": f"Bearer {_checked_token(token)}",
            "User-Agent": f"lapidary-python/{__version__}",
            "Accept": "application/json",
        }
        self.http = httpx.Client(base_url=f"{self.url}/api/v1/", headers=headers, timeout=timeout)

    def get(self, path: str, params: Params | None = None) -> Any:
        return self.send("GET", path, params=params)

    def post(self, path: str, body: Mapping[str, Any], *, repeatable: bool = False) -> Any:
        """repeatable: the body has an id that we made, or the action is safe to repeat without one."""
        return self.send("POST", path, body=body, repeatable=repeatable)

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: Mapping[str, Any] | None = None,
        content: Callable[[], Any] | None = None,
        repeatable: bool = False,
    ) -> Any:
        """The JSON of the answer, None without one. content: opens the bytes of the body, once for every try."""
        again = repeatable or method in REPEATABLE

        def attempt() -> Any:
            raw = {} if content is None else {"content": content(), "headers": {"Content-Type": RAW}}
            response = self.http.request(method, path, params=clean(params), json=body, **raw)
            self.check(response)
            return response.json() if response.content else None

        return self.try_again(attempt, repeatable=again)

    def try_again(self, attempt: Callable[[], Result], *, repeatable: bool) -> Result:
        """Run the attempt until it succeeds. After a refusal for now (429), or without a connection, always safe."""
        failures = 0
        while True:
            try:
                return attempt()
            except Problem as problem:
                failures += 1
                passing = problem.status == TOO_MANY or (repeatable and problem.status in PASSING)
                # Whoever follows a list looks again later.
                if not passing or problem.code == "not_settled" or failures >= self.retries.tries:
                    raise
                self.retries.wait(failures, asked=problem.retry_after)
            except httpx.TransportError as error:
                failures += 1
                not_sent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                if not (repeatable or not_sent) or failures >= self.retries.tries:
                    raise self.lost(error, failures) from error
                self.retries.wait(failures)

    @contextmanager
    def stream(self, path: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
        """An answer whose body is read piece by piece, as it is stored. One try.

        The server may redirect to its object store, which gets the headers and no token.
        """
        own = {"Accept": "*/*", "Accept-Encoding": "identity", **headers}
        response = self.http.send(self.http.build_request("GET", path, headers=own), stream=True)
        signed = response.next_request if HEADER in response.headers else None
        if signed:
            response.close()
            response = self.http.send(signed, stream=True)
        try:
            if response.is_error:
                response.read()
            if not signed:
                self.check(response)
            elif not response.is_success:  # the store knows nothing of the API's version
                raise self._problem(response)
            yield response
        finally:
            response.close()

    def check(self, response: httpx.Response) -> None:
        """Raises Problem for a refusal, ServerTooOld and ServerTooNew for another version of the API.

        What a proxy answers by itself names no version: redirects, 401, 403, 413, 429.
        """
        named = response.headers.get(HEADER)
        if named is not None or response.is_success or response.status_code == httpx.codes.NOT_FOUND:
            check_api_version(named, self.url)
        if not response.is_success:
            raise self._problem(response)

    def _problem(self, response: httpx.Response) -> Problem:
        if response.is_redirect:
            there = response.headers.get("Location", "")
            why = {
                "detail": f"{self.url} redirects to {there}.",
                "remedy": "Give Client the address to which it redirects.",
            }
            return problem_of(response.status_code, why, self.url)
        try:
            body = response.json()
        except ValueError:
            body = None
        problem = problem_of(response.status_code, body, self.url)
        after = response.headers.get("Retry-After", "")
        if after.isdecimal():
            problem.facts["retry_after"] = int(after)
        size = response.headers.get("Content-Range", "").removeprefix("bytes */")  # with a 416
        if size.isdecimal():
            problem.facts.setdefault("size", int(size))
        return problem

    def lost(self, error: Exception, failures: int) -> ConnectionLost:
        times = "once" if failures == 1 else f"{failures} times"
        return ConnectionLost(
            f"{self.url} did not answer, tried {times}: {type(error).__name__}: {str(error).rstrip('.')}.",
            "Check the address and the network; before you send a change again, look whether the server has it.",
        )


def _checked_url(text: str) -> str:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        url = httpx.URL()
    if url.scheme not in ("http", "https") or not url.host or url.userinfo:
        raise LapidaryError(
            "This is not the address of a server.",
            "It looks like https://lapidary.example, without a password.",
        )
    return text.rstrip("/")


def _checked_token(text: str) -> str:
    """Without the end of the line of a file. No error shows it, as one of httpx would."""
    token = text.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise LapidaryError("This is not a token.", "Create one in your profile → API tokens.")
    return token


RAW = "application/octet-stream"


def clean(params: Params | None) -> dict[str, Any]:
    """Without None; true and false as the server reads them."""
    known = {name: value for name, value in (params or {}).items() if value is not None}
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in known.items()}
