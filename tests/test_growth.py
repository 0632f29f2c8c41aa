"""The simulation of the guide "Grow" and its bound."""

import pytest

from benchmarks.growth import MEASURED, Service, bound_p95, simulate, waiting_probability

ALONE = Service({1: 1000.0, 16: 16_000.0})  # a batch gains nothing


def test_erlang_c() -> None:
    assert waiting_probability(1, 0.5) == pytest.approx(0.5)
    assert waiting_probability(2, 1.0) == pytest.approx(1 / 3)
    assert waiting_probability(5, 4.0) == pytest.approx(0.554, abs=0.001)


def test_the_bound_of_one_server_is_that_of_mm1() -> None:
    """Exponential with rate mu - lambda: ln 20 / (1 - 0.5)."""
    assert bound_p95(10, 1, 20.0, ALONE) == pytest.approx(2.9957 / 0.5, rel=1e-3)
    assert bound_p95(20, 1, 20.0, ALONE) is None


def test_a_batch_between_two_measured_sizes_takes_a_time_between_them() -> None:
    assert Service({1: 100.0, 4: 400.0}).seconds(3) == pytest.approx(0.3)
    assert Service({1: 100.0, 4: 400.0}).seconds(16) == pytest.approx(0.4)


def test_more_annotators_wait_longer_and_more_workers_help() -> None:
    service = Service(MEASURED)
    few, many = simulate(10, 1, 30, service, 1), simulate(200, 1, 30, service, 1)
    assert few.p95 < many.p95
    assert simulate(200, 2, 30, service, 1).p95 < many.p95
    assert simulate(10, 1, 30, service, 1) == few
    assert few.busy == pytest.approx(10 / 30 * 0.256, rel=0.2)
