"""Which release of the code this process runs."""

import hashlib
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

CODE: Final = Path(__file__).resolve().parent.parent
FOLDERS_OF_OTHERS: Final = frozenset({".venv", "node_modules", "var", "tests", "benchmarks", "client"})


@cache
def code_version() -> str:
    """LAPIDARY_VERSION if it is set, else the commit of the checkout, else a hash of the source files.

    Read once: a process goes on with the code that it started with.
    """
    return os.environ.get("LAPIDARY_VERSION") or _commit() or _hash_of_sources()


def _commit() -> str:
    command = ["git", "rev-parse", "HEAD"]
    try:
        run = subprocess.run(command, cwd=CODE, capture_output=True, text=True, check=False)
    except OSError:  # an image has no git
        return ""
    return run.stdout.strip()


def _hash_of_sources() -> str:
    digest = hashlib.sha256()
    for folder in sorted(CODE.iterdir()):
        if folder.is_dir() and folder.name not in FOLDERS_OF_OTHERS:
            for path in sorted(folder.rglob("*.py")):
                digest.update(str(path.relative_to(CODE)).encode() + path.read_bytes())
    return f"files-{digest.hexdigest()[:12]}"
