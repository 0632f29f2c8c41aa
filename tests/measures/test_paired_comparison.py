"""Two models side by side, against numbers worked out by hand and against people who have no preference."""

import numpy as np
import pytest

from measures.paired_comparison import compare_candidates


def test_counts_by_hand() -> None:
    """Two dialogues: 5 turns of 4 + 3, all for the newer; then 5 turns of 3 + 4, of which one is the older's."""
    result = compare_candidates(np.array([[20, 3, 1, 15, 0, 0, 4 * 4 / 7], [15, 0, 0, 20, 1, 0, 3 / 7]]))
    assert result.decided == 5
    assert result.share.value == pytest.approx(4 / 5)
    assert result.expected == pytest.approx((4 * 4 / 7 + 3 / 7) / 5)
    assert result.excess.value == pytest.approx(4 / 5 - 19 / 35)
    assert result.ratio.value == pytest.approx((4 / 35) / (1 / 35))
    assert (result.newer.shown, result.older.shown) == (35, 35)
    assert result.newer.selected.value == pytest.approx(3 / 35)
    assert result.newer.revised.value == pytest.approx(1 / 35)
    assert result.newer.ignored.value == pytest.approx(31 / 35)
    assert result.newer.taken.n == 2


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
                continue  # written from scratch
            wins = rng.random() < preference * new / (preference * new + 7 - new)
            row[(0 if wins else 3) + rng.choice([1, 2])] += 1
            row[6] += new / 7
        rows.append(row)
    return np.array(rows)


def test_equal_models_show_no_preference() -> None:
    result = compare_candidates(played(1.0))
    assert result.excess.low is not None
    assert result.excess.high is not None
    assert result.excess.low < 0 < result.excess.high
    assert result.ratio.low is not None
    assert result.ratio.high is not None
    assert result.ratio.low < 1 < result.ratio.high


def test_a_model_shown_more_often_wins_nothing_by_it() -> None:
    """All turns are 4 + 3 for the newer, and it wins four of seven: that is not a preference."""
    result = compare_candidates(np.tile([28.0, 4, 0, 21, 3, 0, 4.0], (50, 1)))
    assert result.share.value == pytest.approx(4 / 7)
    assert result.excess.value == pytest.approx(0)
    assert result.ratio.value == pytest.approx(1)


def test_a_preference_is_found() -> None:
    result = compare_candidates(played(2.0))
    assert result.excess.low is not None
    assert result.excess.low > 0
    assert result.ratio.value == pytest.approx(2, rel=0.2)


@pytest.mark.parametrize("table", [np.zeros((0, 7)), np.array([[4.0, 0, 0, 3, 0, 0, 0]])])
def test_no_decided_turn_gives_no_number(table: np.ndarray) -> None:
    result = compare_candidates(table)
    assert (result.decided, result.share.value, result.expected, result.ratio.value) == (0, None, None, None)


def test_one_dialogue_has_no_interval() -> None:
    result = compare_candidates(np.array([[4.0, 1, 0, 3, 0, 0, 4 / 7]]))
    assert (result.share.value, result.share.low) == (1, None)
    assert result.ratio.value is None  # the older one's candidates were never taken
