"""Would the tests notice? Each defect of the catalogue is put into a copy of the project, where its tests must fail."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from tests.defects.catalogue import DEFECTS
from tests.defects.defect import Defect
from tests.sizes import FULL

ROOT = settings.BASE_DIR
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "var", "node_modules", "__pycache__", ".*_cache", ".hypothesis", "test-results"
)
SECONDS = 600
TESTS_FAILED = 1  # pytest's exit status; 2 and more: it could not run them

TRIED = DEFECTS if FULL else DEFECTS[:1]


@pytest.fixture(scope="module")
def copy_of_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(ROOT, tmp_path_factory.mktemp("defects") / "copy", ignore=NOT_COPIED))


@pytest.fixture
def changed_project(copy_of_project: Path, defect: Defect) -> Iterator[Path]:
    """A copy of the project with one defect."""
    file = copy_of_project / defect.path
    text = file.read_text()
    file.write_text(text.replace(defect.old, defect.new))
    yield copy_of_project
    file.write_text(text)


def name_of(defect: Defect) -> str:
    return defect.name


def database_url() -> str:
    return urlsplit(settings.DATABASE_URL)._replace(path=f"/defects_{os.getpid()}").geturl()


def run_tests(folder: Path, tests: Iterable[str]) -> subprocess.CompletedProcess[str]:
    """In a database of their own, on the server that this test uses."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"DATABASE_URL": database_url(), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider", *tests]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def test_the_catalogue_fits_the_code() -> None:
    for defect in DEFECTS:
        assert (ROOT / defect.path).read_text().count(defect.old) == 1, defect
        assert all((ROOT / test).is_file() for test in defect.tests), defect


@pytest.mark.soak
def test_the_code_without_defects_passes(copy_of_project: Path) -> None:
    """Otherwise a test that always fails would seem to notice a defect."""
    ended = run_tests(copy_of_project, sorted({test for defect in TRIED for test in defect.tests}))
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-1000:]


@pytest.mark.soak
@pytest.mark.parametrize("defect", TRIED, ids=name_of)
def test_a_defect_is_noticed(defect: Defect, changed_project: Path) -> None:
    ended = run_tests(changed_project, defect.tests)
    assert ended.returncode == TESTS_FAILED, ended.stdout[-3000:] + ended.stderr[-1000:]
