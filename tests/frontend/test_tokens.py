"""The colours of css/tokens.css: readable in both themes, named in one place only."""

import re
from pathlib import Path

import pytest

CSS = Path(__file__).parents[2] / "frontend" / "static" / "css"
TOKENS = (CSS / "tokens.css").read_text(encoding="utf-8")
AA_TEXT, AA_PARTS = 4.5, 3.0
GROUNDS = ("bg", "surface", "sunken", "hover")


def block(start: str) -> dict[str, str]:
    """The custom properties between `start` and the closing brace."""
    body = TOKENS[TOKENS.index(start) :].partition("}")[0]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6}|rgb[^;]+|[^;]+);", body))


THEMES = {"light": block('[data-theme="light"] {'), "dark": block('[data-theme="dark"] {')}


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour: str, other_colour: str) -> float:
    dark, light = sorted((luminance(colour), luminance(other_colour)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_words_are_readable_on_every_ground(theme: str) -> None:
    colours = THEMES[theme]
    pairs = [
        *[
            (token, ground)
            for token in ("text", "muted", "accent", "good", "warn", "bad")
            for ground in GROUNDS
        ],
        *[(token, f"{token}-soft") for token in ("accent", "good", "warn", "bad")],
        *[("text", f"{soft}-soft") for soft in ("accent", "good", "warn", "bad")],
        ("on-accent", "accent"),
        ("on-accent", "accent-hover"),
        ("on-bad", "bad"),
    ]
    poor = {pair: round(contrast(colours[pair[0]], colours[pair[1]]), 2) for pair in pairs}
    assert {pair: ratio for pair, ratio in poor.items() if ratio < AA_TEXT} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_edges_and_plots_stand_out(theme: str) -> None:
    colours = THEMES[theme]
    parts = ["edge", "accent", *[f"cat-{n}" for n in range(1, 7)]]
    poor = {
        (part, ground): contrast(colours[part], colours[ground]) for part in parts for ground in GROUNDS[:2]
    }
    assert {pair: ratio for pair, ratio in poor.items() if ratio < AA_PARTS} == {}


def test_the_two_dark_lists_are_the_same() -> None:
    assert block(':root:not([data-theme="light"]) {') == THEMES["dark"]


def test_both_themes_name_the_same_tokens() -> None:
    assert set(THEMES["light"]) == set(THEMES["dark"])


def test_only_tokens_name_colours() -> None:
    literal = re.compile(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(|\boklch\(")
    for sheet in CSS.glob("*.css"):
        if sheet.name != "tokens.css":
            rules = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.S)
            assert literal.findall(rules) == [], sheet.name
