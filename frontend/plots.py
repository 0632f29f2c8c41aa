"""Plots as SVG that follow the page's theme.

matplotlib draws them; its `style` attributes, which the Content-Security-Policy forbids, become presentation
attributes, and its colours become the design tokens. A downloaded plot gets the light theme's colours instead.
"""

import io
import re
from collections.abc import Sequence
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Stand-ins for tokens while matplotlib draws; each is the token's colour in the light theme (css/tokens.css).
INK: Final = {"#1d1f25": "text", "#595c64": "muted", "#e2dfda": "line"}
SERIES: Final = ["#4d6eba", "#a85a19", "#008866", "#995494", "#837200", "#00829f"]
TOKENS: Final = INK | {colour: f"cat-{n}" for n, colour in enumerate(SERIES, start=1)}
TEXT, MUTED, LINE = INK
SIZE: Final = (6.0, 2.6)  # inches; the page scales it

mpl.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "lapidary",
        "font.size": 9,
        "axes.edgecolor": LINE,
        "axes.labelcolor": MUTED,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "text.color": TEXT,
        "grid.color": LINE,
    }
)


def bars(labels: Sequence[str], values: Sequence[float], *, x: str, y: str, description: str) -> str:
    """Vertical bars. x, y: names of the axes with their units. description: what a screen reader says."""
    figure, axes = _axes(x, y)
    axes.bar(range(len(values)), values, color=SERIES[0], width=0.8)
    _ticks(axes, labels)
    return _svg(figure, description)


def stacked_shares(
    labels: Sequence[str], series: Sequence[tuple[str, Sequence[float]]], *, x: str, description: str
) -> str:
    """Bars of parts of a whole: each series holds a share between 0 and 1 per label. The legend is the page's."""
    figure, axes = _axes(x, "%")
    below = [0.0] * len(labels)
    for colour, (_name, shares) in zip(SERIES, series, strict=False):
        axes.bar(range(len(labels)), [share * 100 for share in shares], bottom=below, color=colour, width=0.8)
        below = [low + share * 100 for low, share in zip(below, shares, strict=True)]
    axes.set_ylim(0, 100)
    _ticks(axes, labels)
    return _svg(figure, description)


def _axes(x: str, y: str) -> tuple[Figure, Axes]:
    # Figure and not pyplot: pyplot keeps every figure in a global list.
    figure = Figure(figsize=SIZE, layout="constrained")
    axes = figure.subplots()
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(axis="y", linewidth=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def _ticks(axes: Axes, labels: Sequence[str], most: int = 14) -> None:
    step = max(1, -(-len(labels) // most))
    places = range(0, len(labels), step)
    axes.set_xticks(list(places), [labels[place] for place in places])
    axes.margins(x=0.01)


def _svg(figure: Figure, description: str) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _themed(out.getvalue(), description)


def _themed(svg: str, description: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' style="([^"]*)"', lambda found: _attributes(found[1]), svg)
    for colour, token in TOKENS.items():
        svg = svg.replace(f'"{colour}"', f'"var(--{token}, {colour})"')
    label = description.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return re.sub(r"<svg ", f'<svg role="img" aria-label="{label}" ', svg, count=1)


def standalone(svg: str) -> str:
    """The plot as a file of its own, with the light theme's colours written out."""
    svg = re.sub(r"var\(--[a-z0-9-]+, (#[0-9a-f]+)\)", r"\1", svg)
    return svg.replace('font-family="inherit"', 'font-family="sans-serif"')


def _attributes(style: str) -> str:
    pairs = [part.split(":", 1) for part in style.split(";") if ":" in part]
    attributes = {name.strip(): value.strip() for name, value in pairs}
    if font := attributes.pop("font", None):
        attributes["font-size"] = font.split("px")[0] + "px"
        attributes["font-family"] = "inherit"
    return "".join(f' {name}="{value.replace(chr(34), chr(39))}"' for name, value in attributes.items())
