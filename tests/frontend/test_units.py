"""Numbers keep their units on the same line."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from frontend.templatetags.jobs import duration
from frontend.templatetags.ui import percent
from frontend.ui.units import keep_units

TEMPLATES = Path(settings.BASE_DIR) / "frontend" / "templates"
MAY_BREAK = re.compile(r"(?:\}\}|\d) (?:%(?!\})|(?:ms|s|min|h)\b)")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("95.2 % of 40 s", "95.2\u00a0% of 40\u00a0s"),
        ("3 h 5 min", "3\u00a0h 5\u00a0min"),
        ("超过 30 秒", "超过 30\u00a0秒"),
        ("4 samples, 5 hours", "4 samples, 5 hours"),
    ],
)
def test_no_line_breaks_between_a_number_and_its_unit(text: str, kept: str) -> None:
    assert keep_units(text) == kept


def test_shares_and_durations_keep_their_units() -> None:
    assert percent(0.952) == "95.2\u00a0%"
    assert duration(40) == "40\u00a0s"


def test_no_template_lets_a_line_break_before_a_unit() -> None:
    found = [
        f"{path.relative_to(TEMPLATES)}: {line.strip()}"
        for path in TEMPLATES.rglob("*.html")
        if "styleguide" not in path.parts
        for line in path.read_text().splitlines()
        if MAY_BREAK.search(line)
    ]
    assert found == []
