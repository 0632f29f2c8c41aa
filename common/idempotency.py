"""Repeatable services: the client chooses an id, and sending it again returns the first result."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from common.refusals import Refusal


def check_repeat(stored: object, **sent: Any) -> None:
    """Compare a repeated request with the first one. Raises Refusal `id_in_use` (409) if they differ.

    stored: the row or event data that the first request stored. sent: the values of this request, by attribute or key.
    """
    for name, value in sent.items():
        first = stored.get(name) if isinstance(stored, Mapping) else getattr(stored, name)
        if first != value:
            raise Refusal(
                "id_in_use",
                _("This id was already used for another request."),
                _("Send the request again with a new id."),
                details={"field": name},
            )
