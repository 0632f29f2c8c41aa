"""The exceptions with which services refuse an action."""

from typing import Any

from django.utils.functional import Promise

from common.sentences import join_sentences


class Refusal(Exception):
    """An action was refused. Nothing of it is stored.

    code: stable, for programs ("lease_gone"). message: one sentence with the cause. remedy: one sentence that says what
    to do. status: the HTTP status of the API response. details: facts for programs, also in the API response.
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
        return join_sentences([self.message, self.remedy])


class NotFound(Refusal):
    """It does not exist or the person may not see it; the two are not distinguished."""

    def __init__(self, message: str | Promise, remedy: str | Promise = "") -> None:
        super().__init__("not_found", message, remedy, status=404)


class NotAllowed(Refusal):
    """Visible, but this person's role does not allow the action."""

    def __init__(self, message: str | Promise, remedy: str | Promise = "") -> None:
        super().__init__("not_allowed", message, remedy, status=403)


class Invalid(Refusal):
    """Invalid input; `details` may name the field."""

    def __init__(self, message: str | Promise, remedy: str | Promise = "", **details: Any) -> None:
        super().__init__("invalid", message, remedy, status=400, details=details)
