"""Services are safe to repeat: the client makes an id, and sending it again returns the first result."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from common.refusals import Refusal


def check_repeat(stored: object, **sent: Any) -> None:
    """Let an id through that is sent again with the same request; refuse it for another one.

    stored: the row, or the event's data, that the first request left behind. sent: what this request says, by the name
    of the attribute or key. Raises Refusal `id_in_use` (409).
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
