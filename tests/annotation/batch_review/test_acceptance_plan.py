"""`manage.py acceptance_plan`: what it prints, compared with scipy."""

import json
from io import StringIO

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from scipy.stats import hypergeom

PAPER = ("--population", "2000", "--sample", "100", "--threshold", "0.92")


def output_of(*arguments: str) -> str:
    out = StringIO()
    call_command("acceptance_plan", *arguments, stdout=out)
    return out.getvalue()


def test_the_curve_has_every_percent_from_80_to_100() -> None:
    plan = json.loads(output_of(*PAPER, "--json"))
    assert list(plan) == ["acceptance_number", "curve"]
    assert plan["acceptance_number"] == 92
    assert [point["accuracy"] for point in plan["curve"]] == [percent / 100 for percent in range(80, 101)]
    for point in plan["curve"]:
        correct = round(point["accuracy"] * 2000)
        assert point["probability"] == pytest.approx(hypergeom.sf(91, 2000, correct, 100), abs=1e-9)


@pytest.mark.parametrize(("correct", "accepted"), [(92, True), (91, False)])
def test_the_interval_equals_enumeration(correct: int, accepted: bool) -> None:
    plan = json.loads(output_of(*PAPER, "--json", "--correct", str(correct)))
    batches = np.arange(2001)
    is_possible = (hypergeom.sf(correct - 1, 2000, batches, 100) > 0.025) & (
        hypergeom.cdf(correct, 2000, batches, 100) > 0.025
    )
    assert plan["accepted"] is accepted
    assert (plan["low"], plan["high"]) == (
        batches[is_possible].min() / 2000,
        batches[is_possible].max() / 2000,
    )


def test_thresholds_are_exact() -> None:
    assert (
        json.loads(output_of(*PAPER[:4], "--threshold", "0.9200000001", "--json"))["acceptance_number"] == 93
    )


def test_the_plain_output_is_readable() -> None:
    lines = output_of(*PAPER, "--correct", "92").splitlines()
    assert lines[:2] == ["acceptance number: 92 of 100", "92 right: accepted; 95 % interval 0.8505 to 0.9635"]
    assert len(lines) == 23


@pytest.mark.parametrize(
    "wrong",
    [
        ("--sample", "3000"),
        ("--sample", "0"),
        ("--correct", "101"),
        ("--threshold", "1.2"),
        ("--threshold", "x"),
    ],
)
def test_impossible_arguments_are_named(wrong: tuple[str, str]) -> None:
    with pytest.raises(CommandError, match=r"drawn|impossible|threshold"):
        output_of(*wrong)
