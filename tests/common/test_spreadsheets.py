"""Cells that a spreadsheet would run."""

import pytest

from common.spreadsheets import escape_formula


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-cmd", "@SUM(A1)", "\t=1+1", "\r=1+1"])
def test_a_formula_becomes_text(cell: str) -> None:
    assert escape_formula(cell) == "'" + cell


@pytest.mark.parametrize("cell", ["a=1", "", " 1", -1, 2.5, None])
def test_other_cells_stay(cell: object) -> None:
    assert escape_formula(cell) is cell
