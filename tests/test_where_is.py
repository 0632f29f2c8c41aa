"""docs/where-is.md names files that exist, and every page."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "where-is.md").read_text()
NAMED = set(re.findall(r"`([\w./]+\.\w+)`", TEXT))
# Not features that somebody looks for.
PLUMBING = {"__init__.py", "errors.py", "styleguide.py"}


def test_every_named_file_exists() -> None:
    assert NAMED
    assert [name for name in sorted(NAMED) if not (ROOT / name).exists()] == []


def test_every_page_is_named() -> None:
    pages = {f"frontend/pages/{page.name}" for page in (ROOT / "frontend" / "pages").glob("*.py")}
    pages -= {f"frontend/pages/{name}" for name in PLUMBING}
    assert sorted(pages - NAMED) == []


def test_every_service_is_named() -> None:
    services = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("[a-z]*/services/*.py")}
    unnamed = {name for name in services - NAMED if not name.endswith("__init__.py")}
    assert unnamed <= {f"dialogues/services/{name}.py" for name in ("storing", "uploads", "refused")}
