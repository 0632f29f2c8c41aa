"""Tables that people open in a spreadsheet."""

from typing import Final

# A spreadsheet runs a cell that begins with one of the first four, and skips a tab or a return before it.
FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")


def escape_formula(cell: object) -> object:
    """The cell, with an apostrophe before a text that a spreadsheet would run. Numbers stay as they are."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_STARTS) else cell
