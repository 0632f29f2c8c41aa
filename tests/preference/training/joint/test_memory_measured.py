"""The memory plan beside the peak of real trainings, each in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.training_memory import CASES, Case, measure
from tests.sizes import FULL

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not FULL, reason="a quarter of an hour on two busy cores: in `make soak`"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("memory")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_plan_is_within_15_per_cent_of_the_peak(case: Case, folder: Path) -> None:
    found = measure(case, folder)
    assert abs(found.error) <= 0.15, found
