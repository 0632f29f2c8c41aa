"""What can go wrong. Every error has a cause and a remedy; those that the server refused also have its code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class LapidaryError(Exception):
    """The base of all errors of this package. cause, remedy: a sentence each."""

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(cause)
        self.cause = cause
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.cause} {self.remedy}".strip()


class ConnectionLost(LapidaryError):
    """The server did not answer, however often it was tried. An iterator goes on with the next call of `next`."""


class ServerTooOld(LapidaryError):
    """The server has an API without something that this client needs."""


class ServerTooNew(LapidaryError):
    """The server has an API that this client does not know."""


class FileDamaged(LapidaryError):
    """What was downloaded is not what the server has."""


class ExtraMissing(LapidaryError):
    """An optional package is not installed."""


class WorkFailed(LapidaryError):
    """A job ended without a result. state: failed or cancelled."""

    def __init__(self, cause: str, remedy: str, *, state: str, id: str) -> None:
        super().__init__(cause, remedy)
        self.state = state
        self.id = id


class WorkTakesLonger(LapidaryError):
    """A job did not end within the time that was given. It goes on; wait again."""


class Problem(LapidaryError):
    """The server refused a request (RFC 9457). code: for programs; facts: other members, such as `received`.

    errors: what is wrong with each field.
    """

    def __init__(self, status: int, code: str, cause: str, remedy: str, facts: Mapping[str, Any]) -> None:
        super().__init__(cause, remedy)
        self.status = status
        self.code = code
        self.facts = dict(facts)

    @property
    def errors(self) -> Any:
        return self.facts.get("errors", {})

    @property
    def retry_after(self) -> float:
        """Seconds that the server asks to wait; 0 if it names none."""
        return float(self.facts.get("retry_after", 0))

    def __str__(self) -> str:
        fields = f" {self.errors}" if self.errors else ""
        return f"{super().__str__()}{fields} [{self.status} {self.code}]"


class BadRequest(Problem):
    """Invalid input (400, 415, 422)."""


class BadToken(Problem):
    """The token is unknown, expired or revoked (401)."""


class NotAllowed(Problem):
    """Your roles, or the scopes of the token, do not allow this (403)."""


class ScopeMissing(NotAllowed):
    """The token lacks the scope that `facts["scope"]` names."""


class NotFound(Problem):
    """It does not exist, or you may not see it (404)."""


class Gone(Problem):
    """It was deleted, or its files were removed (410)."""


class Conflict(Problem):
    """What is stored does not allow this now (409)."""


class IdInUse(Conflict):
    """The id of this request was used for another one."""


class Changed(Conflict):
    """Somebody else changed it after you read it: read it again, then decide."""


class NotReady(Conflict):
    """It is still being made: wait for it."""


class TooLarge(Problem):
    """The server does not take as much (413)."""


class TooManyRequests(Problem):
    """The rate limit is reached (429)."""


class NoRoom(Problem):
    """The disk of the server is full (507)."""


class Unavailable(Problem):
    """The server cannot answer at the moment (502, 503, 504)."""


class ServerFailed(Problem):
    """The server failed (500). It is logged there."""


BY_STATUS: Mapping[int, type[Problem]] = {
    400: BadRequest, 401: BadToken, 403: NotAllowed, 404: NotFound, 409: Conflict, 410: Gone, 413: TooLarge,
    415: BadRequest, 422: BadRequest, 429: TooManyRequests, 500: ServerFailed, 502: Unavailable, 503: Unavailable,
    504: Unavailable, 507: NoRoom,
}  # fmt: skip
BY_CODE: Mapping[str, type[Problem]] = {
    "scope_missing": ScopeMissing,
    "id_in_use": IdInUse,
    "changed_meanwhile": Changed,
    "schema_changed": Changed,
    "schema_newer": Changed,
    "not_ready": NotReady,
    "still_loading": NotReady,
    "incomplete": NotReady,
}


def problem_of(status: int, body: object, url: str) -> Problem:
    """The exception for a refused request. body: problem details, or anything that a proxy answered."""
    known = body if isinstance(body, Mapping) else {}
    code = str(known.get("code", f"http_{status}"))
    kind = BY_CODE.get(code) or BY_STATUS.get(status, Problem)
    facts = {name: value for name, value in known.items() if name not in ("type", "title", "status", "code")}
    cause = str(facts.pop("detail", f"{url} answered with the status {status}."))
    return kind(status, code, cause, str(facts.pop("remedy", _remedy(status))), facts)


def _remedy(status: int) -> str:
    if status == 401:
        return "Create a new token in your profile and give it to Client."
    if status in (502, 503, 504):
        return "Try again in a moment."
    return "" if status < 500 else "Ask whoever runs the server to look into its log."
