"""Pages without what opens over them."""

import re


def without_dialogs(html: str) -> str:
    """The page itself: a dialog has a primary action of its own."""
    return re.sub(r"<dialog.*?</dialog>", "", html, flags=re.DOTALL)
