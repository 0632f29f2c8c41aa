"""The one way in which a service says no."""

from typing import Any

from django.utils.functional import Promise


class Refusal(Exception):
    """An action that was not carried out. Nothing of it is stored.

    code: stable, for programs ("lease_gone"). message: one sentence naming the cause. remedy: one sentence saying what
    to do. status: the HTTP status of the API's answer. details: machine-readable facts, also sent by the API.
    """

    def __init__(
        self,
        code: str,
        message: str | Promise,
        remedy: str | Promise = "",
        *,
        status: int = 409,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(code)
        self.code = code
        self.message = message
        self.remedy = remedy
        self.status = status
        self.details = details or {}

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class NotFound(Refusal):
    """Absent, or not this person's to see: the two are not told apart."""

    def __init__(self, message: str | Promise, remedy: str | Promise = "") -> None:
        super().__init__("not_found", message, remedy, status=404)


class NotAllowed(Refusal):
    """Visible, but this person's role does not allow the action."""

    def __init__(self, message: str | Promise, remedy: str | Promise = "") -> None:
        super().__init__("not_allowed", message, remedy, status=403)


class Invalid(Refusal):
    """Input that cannot be taken; `details` may name the field."""

    def __init__(self, message: str | Promise, remedy: str | Promise = "", **details: Any) -> None:
        super().__init__("invalid", message, remedy, status=400, details=details)
