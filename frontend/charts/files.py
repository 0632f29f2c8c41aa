"""A plot as a file of its own."""

import re
from typing import Final

# What css/tokens.css says for the light theme; a file has no style sheet but its own.
LIGHT: Final = {
    "text": "#595c64",
    "line": "#e2dfda",
    "1": "#4d6eba",
    "2": "#a85a19",
    "3": "#008866",
    "4": "#995494",
    "5": "#837200",
    "6": "#00829f",
}


def standalone(svg: str) -> str:
    """The wide drawing as a file of its own, in the light theme's colours."""
    wide = svg[: svg.index("</svg>") + len("</svg>")]
    marks = "".join(
        f".c{n}{{fill:{LIGHT[n]}}}.curve.c{n}{{fill:none;stroke:{LIGHT[n]};stroke-width:2}}" for n in "123456"
    )
    style = (
        f"<style>text{{font:12px sans-serif;fill:{LIGHT['text']}}}.grid-line{{stroke:{LIGHT['line']}}}"
        f".axis,.interval,.expected{{stroke:{LIGHT['text']}}}.expected{{stroke-dasharray:4 3}}"
        f".band{{opacity:.15}}{marks}</style>"
    )
    opened = re.sub(r"<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', wide, count=1)
    return re.sub(r"(<svg [^>]*>)", lambda found: found[1] + style, opened, count=1)
