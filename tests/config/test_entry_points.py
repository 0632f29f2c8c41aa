"""What servers and workers import first, each in an interpreter of its own: pytest has imported everything already."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent.parent
HEAVY = "sorted({'torch', 'transformers', 'scipy.stats', 'openpyxl'} & set(sys.modules))"


def python(code: str, **changes: str) -> str:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", **changes}
    run = subprocess.run(
        [sys.executable, "-W", "error::ImportWarning", "-c", code],
        cwd=CHECKOUT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.mark.parametrize("module", ["config.wsgi", "config.celery", "config.settings"])
def test_an_entry_point_can_be_imported_first(module: str) -> None:
    assert python(f"import sys, {module}; print({HEAVY})") == "[]"


def test_the_addresses_and_every_page_behind_them_can_be_imported_first() -> None:
    code = f"import django, sys; django.setup(); import config.urls; print({HEAVY})"
    assert python(code) == "[]"


def test_a_worker_finds_its_tasks_before_anything_else_is_imported() -> None:
    code = "from config.celery import app; app.loader.import_default_modules(); print(*sorted(app.tasks))"
    output = python(code).split()
    assert {"generation.tasks.take_over_lost_requests", "jobs.tasks.take_over_lost_jobs"} <= set(output)


def test_every_process_knows_every_kind_of_job_and_loads_no_work_of_them() -> None:
    """Commands and pages too, not only the workers that Celery has import their tasks."""
    code = "import django, sys; django.setup(); from jobs import registry; "
    known = python(code + "print(*sorted(registry._KINDS)); print({'scipy', 'pyarrow'} & set(sys.modules))")
    assert known.splitlines() == [
        "agreement collection delete_dialogue delete_project evaluation export import meta_evaluation push "
        "registration resolve_tasks scoring snapshot tagging training undo_import",
        "set()",
    ]
    output = python(code + "print(*(registry.work_for(kind).__name__ for kind in sorted(registry._KINDS)))")
    assert len(output.split()) == 16
    assert all(re.fullmatch(r"run_[a-z_]+_job", name) for name in output.split())
