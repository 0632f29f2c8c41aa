"""Reasons that people type for what they do."""

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _

from common.refusals import Invalid

MAX_REASON = 5000


def clean_reason(text: str, *, most: int = MAX_REASON, field: str = "reason") -> str:
    """The reason as it is stored; "" if it is blank. Raises Invalid if it has more than `most` characters.

    Removes NUL, which PostgreSQL refuses. Browsers count a line break as one character, but send two.
    """
    cleaned = text.replace("\0", "").replace("\r\n", "\n").strip()
    if len(cleaned) > most:
        raise Invalid(_("A reason has at most %(n)s characters.") % {"n": intcomma(most)}, field=field)
    return cleaned
