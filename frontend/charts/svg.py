"""SVG elements of plots. Their classes are styled in css/charts.css."""

from collections.abc import Callable, Iterable
from typing import Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

WIDTHS: Final = {"wide": 640, "narrow": 320}  # user units; a letter is about 7 units wide
LETTER: Final = 7.0
CAPITAL: Final = 9.0
CHINESE: Final = 12.0
EMPTY: Final = mark_safe("")


def draw_both_widths(draw: Callable[[int], SafeString], height: int, description: str) -> SafeString:
    """Draw a plot for wide and for narrow screens. CSS shows one of them, so text keeps its size on a phone."""
    return join(
        format_html(
            '<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>',
            name,
            width,
            height,
            description,
            draw(width),
        )
        for name, width in WIDTHS.items()
    )


def join(parts: Iterable[SafeString]) -> SafeString:
    return format_html_join("", "{}", ((part,) for part in parts))


def bar(left: float, top: float, width: float, height: float, series: int, title: str) -> SafeString:
    return format_html(
        '<rect class="mark c{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>',
        series,
        *(coordinate(value) for value in (left, top, width, height)),
        title,
    )


def dot(x: float, y: float, radius: int, series: int, title: str) -> SafeString:
    return format_html(
        '<circle class="mark c{}" cx="{}" cy="{}" r="{}"><title>{}</title></circle>',
        series,
        coordinate(x),
        coordinate(y),
        radius,
        title,
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> SafeString:
    ends = (coordinate(value) for value in (x1, y1, x2, y2))
    return format_html('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>', kind, *ends)


def text(x: float, y: float, words: str, anchor: str, title: str = "") -> SafeString:
    """title: the tooltip, if it says more than the words."""
    tooltip = format_html("<title>{}</title>", title) if title and title != words else EMPTY
    return format_html(
        '<text x="{}" y="{}" text-anchor="{}">{}{}</text>',
        coordinate(x),
        coordinate(y),
        anchor,
        tooltip,
        words,
    )


def coordinate(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def text_width(words: str) -> float:
    """An estimate in user units; the server cannot measure fonts."""
    return sum(
        CHINESE if letter >= "\u2e80" else CAPITAL if letter.isupper() or letter in "@%<>mw" else LETTER
        for letter in words
    )


def clip_text(words: str, width: float) -> str:
    while words and text_width(words) > width:
        words = words.rstrip("…")[:-1].rstrip() + "…"
        if words == "…":
            break
    return words
