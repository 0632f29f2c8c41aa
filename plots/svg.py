"""SVG elements of plots. Their classes are styled in css/charts.css, and in plots/standalone.py for files.

Texts and titles are escaped here: an element is Markup, which Django's templates, too, insert as it is.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from markupsafe import Markup, escape

WIDTHS: Final = {"wide": 640, "narrow": 320}  # user units; a letter is about 7 units wide
LETTER: Final = 7.0
CAPITAL: Final = 9.0
CHINESE: Final = 12.0
FEW: Final = 5  # letters of a beginning; fewer say nothing
EMPTY: Final = Markup("")


def element(template: str, *values: object) -> Markup:
    """The template with its {} replaced by the escaped values."""
    # Markup.format would do the same by string.Formatter, which is several times slower.
    return Markup(template.format(*map(escape, values)))  # noqa: S704 — every value is escaped


def join(parts: Iterable[Markup]) -> Markup:
    return EMPTY.join(parts)


def draw_both_widths(draw: Callable[[int], Markup], height: int, description: str) -> Markup:
    """Draw a plot for wide and for narrow screens. CSS shows one of them, so text keeps its size on a phone."""
    return join(
        element(
            '<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>',
            name,
            width,
            height,
            description,
            draw(width),
        )
        for name, width in WIDTHS.items()
    )


def bar(
    left: float, top: float, width: float, height: float, series: int, title: str, *, is_faint: bool = False
) -> Markup:
    return element(
        '<rect class="mark c{}{}" x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>',
        series,
        " faint" if is_faint else "",
        *(coordinate(value) for value in (left, top, width, height)),
        title,
    )


def dot(x: float, y: float, radius: int, series: int, title: str, *, is_faint: bool = False) -> Markup:
    return element(
        '<circle class="mark c{}{}" cx="{}" cy="{}" r="{}"><title>{}</title></circle>',
        series,
        " faint" if is_faint else "",
        coordinate(x),
        coordinate(y),
        radius,
        title,
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    ends = (coordinate(value) for value in (x1, y1, x2, y2))
    return element('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>', kind, *ends)


def text(x: float, y: float, words: str, anchor: str, title: str = "") -> Markup:
    """title: the tooltip, if it says more than the words."""
    tooltip = element("<title>{}</title>", title) if title and title != words else EMPTY
    return element(
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
        CHINESE if letter >= "\u2e80" else CAPITAL if letter.isupper() or letter in "@%<>≤≥mw" else LETTER
        for letter in words
    )


def clip_text(words: str, width: float) -> str:
    while words and text_width(words) > width:
        words = words.rstrip("…")[:-1].rstrip() + "…"
        if words == "…":
            break
    return words


def clip_labels(labels: Sequence[str], width: float) -> list[str]:
    """Labels of one axis, clipped at the end; those that would read alike lose what they begin with instead."""
    clipped = [clip_text(label, width) for label in labels]
    alike: dict[str, list[str]] = {}
    for label, short in zip(labels, clipped, strict=True):
        if short != label:
            alike.setdefault(short, []).append(label)
    told_apart: dict[str, str] = {}
    for group in alike.values():
        if len(group) > 1:
            told_apart |= _clip_start(group, width)
    return [told_apart.get(label, short) for label, short in zip(labels, clipped, strict=True)]


def _clip_start(labels: Sequence[str], width: float) -> dict[str, str]:
    """With little or nothing of the words that all of them begin with; what is still too long loses its middle."""
    first, last = min(labels), max(labels)  # what these two share, all between them begin with
    shared = first[
        : next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    ]
    start = shared.rfind(" ") + 1
    room = width - max(text_width(label[start:]) for label in labels)
    head = clip_text(shared, room) if room >= FEW * LETTER else "…"
    rests = {label: f"{head}{label[start:]}" if start else label for label in labels}
    clipped = {label: clip_text(rest, width) for label, rest in rests.items()}
    shown = Counter(clipped.values())
    return {
        label: short if shown[short] == 1 else _clip_middle(rests[label], width)
        for label, short in clipped.items()
    }


def _clip_middle(words: str, width: float) -> str:
    """The beginning and the end of words that are too long, about as much of each."""
    for kept in range(len(words) - 1, 1, -1):
        short = f"{words[: (kept + 1) // 2].rstrip()}…{words[-(kept // 2) :].lstrip()}"
        if text_width(short) <= width:
            return short
    return clip_text(words, width)
