"""What the tests set in the environment before Django's settings read it. Loaded by pytest through `-p`."""

import os
import sys

# pytest imports it when something is left open. Two threads that do so at once find it half loaded, and a test fails.
import tracemalloc  # noqa: F401
from pathlib import Path

from config import embedded

ROOT = Path(__file__).parent.parent


def redis_database() -> int:
    """1 without xdist, 2, 3, … for its workers gw0, gw1, …; 0 is the one people work in."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    return 2 + int(worker.removeprefix("gw")) if worker else 1


def files_root(var: Path) -> Path:
    """A folder for each process: imports with the same id, such as the demo's, would delete each other's files."""
    return var / "test-files" / os.environ.get("PYTEST_XDIST_WORKER", "alone")


def with_database(url: str, number: int) -> str:
    if url.startswith("unix://"):
        return f"{url.partition('?')[0]}?db={number}"
    return f"{url.rpartition('/')[0]}/{number}"


def prepare() -> None:
    os.environ.setdefault("SECRET_KEY", "tests" * 12)
    var = Path(os.environ.setdefault("LAPIDARY_VAR", str(ROOT / "var"))).resolve()
    os.environ["REDIS_URL"] = with_database(
        os.environ.get("REDIS_URL") or embedded.redis_url(var), redis_database()
    )
    os.environ["FILES_ROOT"] = str(files_root(var))


if "pytest" in sys.modules:
    prepare()
