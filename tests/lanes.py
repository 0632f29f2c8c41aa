"""Which tests run in the same process, because they share what takes seconds to create."""

from typing import Final
from zlib import crc32

from xdist.scheduler.loadscope import LoadScopeScheduling

BROWSER: Final = "tests/browser/"
BROWSER_LANES: Final = 2  # each with one browser and one stack
# Folders and files with rows, trained models, documents or servers that every process would create again.
TOGETHER: Final = (
    "tests/access/test_coverage_cases.py",
    "tests/access/test_matrix.py",
    "tests/annotation/demo/",
    "tests/api/",
    "tests/assessment/demo/",
    "tests/client/",
    "tests/config/test_embedded.py",
    "tests/defects/",
    "tests/frontend/assessment/test_conversations.py",
    "tests/generation/test_demo_",
    "tests/generation/test_openai.py",
    "tests/preference/data/test_hub.py",
    "tests/preference/data/test_study_exports.py",
    "tests/preference/training/assessor/",
    "tests/preference/training/joint/test_chat_serving.py",
)


# Files of any folder that share one object server.
OBJECT_STORE: Final = "_object_store.py::"


def lane(nodeid: str) -> str:
    """The name of the process that a test shares with others; its own id if any process may run it."""
    if nodeid.startswith(BROWSER):
        return f"browser {crc32(nodeid.split('::')[0].encode()) % BROWSER_LANES}"
    if OBJECT_STORE in nodeid:
        return "object store"
    return next((together for together in TOGETHER if nodeid.startswith(together)), nodeid)


class Lanes(LoadScopeScheduling):  # type: ignore[misc]
    """Runs the browser tests in two lanes, what is kept together in lanes of its own, and the rest anywhere.

    The lanes with most tests begin first. (xdist's own `loadgroup` writes into private parts of pytest's node ids,
    which pytest 9.2 no longer reads.)
    """

    def _split_scope(self, nodeid: str) -> str:
        return lane(nodeid)
