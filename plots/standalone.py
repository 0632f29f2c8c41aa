"""Plots outside the site: as files of their own, and in reports that are one HTML file.

The colours are those of css/tokens.css.
"""

import re
from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from plots.svg import element, join

SERIES: Final = 6  # classes c1 … c6
LIGHT: Final = {
    "text": "#595c64",
    "line": "#e2dfda",
    "c1": "#4d6eba",
    "c2": "#a85a19",
    "c3": "#008866",
    "c4": "#995494",
    "c5": "#837200",
    "c6": "#00829f",
}
DARK: Final = {
    "text": "#a6a9b1",
    "line": "#32343a",
    "c1": "#8dadf1",
    "c2": "#e29c6c",
    "c3": "#61c4a4",
    "c4": "#d496ce",
    "c5": "#bdb05d",
    "c6": "#51bfd7",
}


def style_marks(colours: dict[str, str]) -> str:
    """Rules for the elements of a plot. colours: by the names of LIGHT."""
    marks = "".join(
        f".c{n}{{fill:{colours[f'c{n}']}}}.curve.c{n}{{fill:none;stroke:{colours[f'c{n}']};stroke-width:2}}"
        for n in range(1, SERIES + 1)
    )
    return (
        f"text{{font:12px sans-serif;fill:{colours['text']}}}.grid-line{{stroke:{colours['line']}}}"
        f".axis,.interval,.expected{{stroke:{colours['text']}}}.expected{{stroke-dasharray:4 3}}"
        f".band{{opacity:.15}}{marks}.mark.faint{{fill:{colours['text']}}}.pale{{opacity:.35}}"
    )


def _declare(colours: dict[str, str]) -> str:
    return "".join(f"--plot-{name}:{colour};" for name, colour in colours.items())


# For the <style> of a page: figures of `draw_figure`, light and dark, on wide and narrow screens.
PAGE_STYLE: Final = (
    f":root{{color-scheme:light dark;{_declare(LIGHT)}}}"
    f"@media(prefers-color-scheme:dark){{:root{{{_declare(DARK)}}}}}"
    + style_marks({name: f"var(--plot-{name})" for name in LIGHT})
    + ".plot{max-width:40rem;margin:.5rem 0;container:plot/inline-size}.plot svg{width:100%;height:auto}"
    ".plot svg.narrow{display:none}"
    "@container plot (width<30rem){.plot svg.wide{display:none}.plot svg.narrow{display:block}}"
    ".legend{display:flex;flex-wrap:wrap;gap:0 1rem;margin:0;padding:0;list-style:none}"
    ".legend li::before{content:'■ '}"
    + "".join(f".legend .c{n}::before{{color:var(--plot-c{n})}}" for n in range(1, SERIES + 1))
)


def draw_figure(svg: Markup, legend: Sequence[str] = ()) -> Markup:
    """A plot for a page with PAGE_STYLE. legend: names of the series, in their order."""
    names = join(element('<li class="c{}">{}</li>', n, name) for n, name in enumerate(legend, start=1))
    listed = element('<ul class="legend">{}</ul>', names) if legend else names
    return element('<figure class="plot">{}{}</figure>', listed, svg)


def standalone_svg(svg: str) -> str:
    """The wide version of a plot as a file with its own style sheet, in the light colours."""
    wide = svg[: svg.index("</svg>") + len("</svg>")]
    with_namespace = re.sub(r"<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', wide, count=1)
    style = f"<style>{style_marks(LIGHT)}</style>"
    return re.sub(r"(<svg [^>]*>)", lambda match: match[1] + style, with_namespace, count=1)
