"""A run of benchmarks/faults: servers and workers are killed while people work."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import PATIENCE
from tests.sizes import FULL, KILLS

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.soak]


def test_kills_lose_and_double_nothing() -> None:
    """Its own process and its own servers: what is killed here is nobody else's."""
    left_alone = {key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "REDIS_URL")}
    options = ["--kills", str(KILLS), "--annotators", "3", "--json"]
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.faults", *options],
        cwd=ROOT,
        env=left_alone,
        capture_output=True,
        text=True,
        timeout=1800 if FULL else 300 * PATIENCE,
        check=False,
    )
    assert ran.stdout, ran.stderr[-3000:]
    findings = json.loads(ran.stdout.splitlines()[-1])
    assert sum(findings["kills"].values()) >= KILLS - 2  # a server may be down already when its turn comes
    assert findings["acknowledged"] > 0
    assert findings["requests"]["done"] > 0
    wrong = {name: findings[name] for name in ("lost", "doubled", "changed", "gaps", "stuck", "refused")}
    assert not any(wrong.values()), findings
    assert ran.returncode == 0
