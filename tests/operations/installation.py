"""Commands in another installation, each in a process of its own."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.processes import ROOT, database_url


@dataclass(frozen=True, slots=True)
class Installation:
    """A database and a folder for files."""

    database: str
    folder: Path

    @property
    def files(self) -> Path:
        return self.folder / "files"

    def environment(self, **changes: str) -> dict[str, str]:
        return {**os.environ, "DATABASE_URL": self.database, "FILES_ROOT": str(self.files), **changes}

    def manage(self, *arguments: object, **changes: str) -> subprocess.CompletedProcess[str]:
        """Run manage.py. changes: of the environment."""
        command = [sys.executable, "manage.py", *map(str, arguments)]
        environment = self.environment(**changes)
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    def start(self, *arguments: object) -> "subprocess.Popen[str]":
        """Start manage.py with its output in a pipe."""
        return subprocess.Popen(
            [sys.executable, "manage.py", *map(str, arguments)],
            cwd=ROOT,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def this_installation(folder: Path) -> Installation:
    """The one that the test works in. folder: the parent of its FILES_ROOT."""
    return Installation(database_url(), folder)
