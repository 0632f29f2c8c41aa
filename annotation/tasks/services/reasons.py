"""Reasons as people type them: what is stored of one, and when one is refused."""

from django.utils.translation import gettext as _

from common.refusals import Invalid

MAX_REASON = 5000


def clean_reason(text: str, *, most: int = MAX_REASON, field: str = "reason") -> str:
    """As it is stored, empty where nothing was written. Raises Invalid where it is too long: nothing of it is cut off.

    PostgreSQL refuses NUL, and a browser that counts the end of a line as one character sends two.
    """
    words = text.replace("\0", "").replace("\r\n", "\n").strip()
    if len(words) > most:
        raise Invalid(_("A reason has at most %(n)d characters.") % {"n": most}, field=field)
    return words
