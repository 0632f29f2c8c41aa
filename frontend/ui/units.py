"""Numbers and their units on one line."""

import re
from typing import Final

NO_BREAK_SPACE: Final = "\u00a0"
BEFORE_UNIT: Final = re.compile(r"(?<=\d) (?=(?:%|ms|s|min|h|秒|毫秒|分钟|小时)(?![A-Za-z]))")


def keep_units(text: str) -> str:
    """The text with spaces between numbers and units at which no line breaks."""
    return BEFORE_UNIT.sub(NO_BREAK_SPACE, text)
