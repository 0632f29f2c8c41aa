"""Two models side by side, against numbers worked out by hand and against people who have no preference."""

import numpy as np
import pytest

from measures.paired_comparison import compare_candidates


def test_counts_by_hand() -> None:
    """Two dialogues: 5 turns of 4 + 3, all for the newer; then 5 turns of 3 + 4, of which one is the older's."""
    found = compare_candidates(np.array([[20, 3, 1, 15, 0, 0, 4 * 4 / 7], [15, 0, 0, 20, 1, 0, 3 / 7]]))
    assert found.decided == 5
    assert found.share.value == pytest.approx(4 / 5)
    assert found.expected == pytest.approx((4 * 4 / 7 + 3 / 7) / 5)
    assert found.excess.value == pytest.approx(4 / 5 - 19 / 35)
    assert found.ratio.value == pytest.approx((4 / 35) / (1 / 35))
    assert (found.newer.shown, found.older.shown) == (35, 35)
    assert found.newer.selected.value == pytest.approx(3 / 35)
    assert found.newer.revised.value == pytest.approx(1 / 35)
    assert found.newer.ignored.value == pytest.approx(31 / 35)
    assert found.newer.taken.n == 2


def played(preference: float, dialogues: int = 300, seed: int = 4) -> np.ndarray:
    """Turns of 4 + 3 or 3 + 4; a candidate of the newer model is taken `preference` times as often."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(dialogues):
        row = np.zeros(7)
        for _turn in range(7):
            new = rng.choice([3, 4])
            row[0], row[3] = row[0] + new, row[3] + 7 - new
            if rng.random() < 0.2:
                continue  # written anew
            wins = rng.random() < preference * new / (preference * new + 7 - new)
            row[(0 if wins else 3) + rng.choice([1, 2])] += 1
            row[6] += new / 7
        rows.append(row)
    return np.array(rows)


def test_no_preference_is_found_where_there_is_none() -> None:
    found = compare_candidates(played(1.0))
    assert found.excess.low is not None
    assert found.excess.high is not None
    assert found.excess.low < 0 < found.excess.high
    assert found.ratio.low is not None
    assert found.ratio.high is not None
    assert found.ratio.low < 1 < found.ratio.high


def test_a_model_shown_more_often_wins_nothing_by_it() -> None:
    """All turns are 4 + 3 for the newer, and it wins four of seven: that is no preference."""
    found = compare_candidates(np.tile([28.0, 4, 0, 21, 3, 0, 4.0], (50, 1)))
    assert found.share.value == pytest.approx(4 / 7)
    assert found.excess.value == pytest.approx(0)
    assert found.ratio.value == pytest.approx(1)


def test_a_preference_is_found() -> None:
    found = compare_candidates(played(2.0))
    assert found.excess.low is not None
    assert found.excess.low > 0
    assert found.ratio.value == pytest.approx(2, rel=0.2)


@pytest.mark.parametrize("table", [np.zeros((0, 7)), np.array([[4.0, 0, 0, 3, 0, 0, 0]])])
def test_nothing_decided_is_no_number(table: np.ndarray) -> None:
    found = compare_candidates(table)
    assert (found.decided, found.share.value, found.expected, found.ratio.value) == (0, None, None, None)


def test_one_dialogue_has_no_interval() -> None:
    found = compare_candidates(np.array([[4.0, 1, 0, 3, 0, 0, 4 / 7]]))
    assert (found.share.value, found.share.low) == (1, None)
    assert found.ratio.value is None  # the older one's candidates were never taken
