"""Charts and reports as downloads: CSV, SVG, JSON."""

import csv
import json
import re
from collections.abc import Iterable, Sequence
from typing import Final

from django.http import Http404, HttpResponse

from frontend.charts.chart import Cell, Chart

# The colours of the light theme in css/tokens.css; a downloaded file has no other style sheet.
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


def chart_file(chart: Chart, stem: str, suffix: str) -> HttpResponse:
    """The table as CSV or JSON, or the plot as SVG. Raises Http404 for another suffix and for a missing plot."""
    if suffix == "svg" and chart.svg:
        return _attachment(f"{stem}.svg", "image/svg+xml", [standalone_svg(chart.svg)])
    if suffix == "json":
        return json_file(_serialize_chart(chart), f"{stem}.json")
    if suffix != "csv":
        raise Http404
    # Spreadsheets need the byte order mark to read UTF-8.
    response = _attachment(f"{stem}.csv", "text/csv; charset=utf-8", ["\ufeff"])
    csv.writer(response).writerows([list(chart.head), *(_escape_formulas(row) for row in chart.rows)])
    return response


def json_file(content: object, name: str) -> HttpResponse:
    text = json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)
    return _attachment(name, "application/json", [text, "\n"])


def _serialize_chart(chart: Chart) -> dict[str, object]:
    """The table as lists, because a head may name two columns alike."""
    return {"title": chart.title, "note": chart.note, "columns": list(chart.head), "rows": chart.rows}


def standalone_svg(svg: str) -> str:
    """The wide version of a plot with its own style sheet, in the colours of the light theme."""
    wide = svg[: svg.index("</svg>") + len("</svg>")]
    marks = "".join(
        f".c{n}{{fill:{LIGHT[n]}}}.curve.c{n}{{fill:none;stroke:{LIGHT[n]};stroke-width:2}}" for n in "123456"
    )
    style = (
        f"<style>text{{font:12px sans-serif;fill:{LIGHT['text']}}}.grid-line{{stroke:{LIGHT['line']}}}"
        f".axis,.interval,.expected{{stroke:{LIGHT['text']}}}.expected{{stroke-dasharray:4 3}}"
        f".band{{opacity:.15}}{marks}</style>"
    )
    with_namespace = re.sub(r"<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', wide, count=1)
    return re.sub(r"(<svg [^>]*>)", lambda match: match[1] + style, with_namespace, count=1)


def _escape_formulas(row: Sequence[Cell]) -> list[Cell]:
    # A spreadsheet runs a cell that begins like a formula.
    return [f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@\t\r" and cell else cell for cell in row]


def _attachment(name: str, content_type: str, parts: Iterable[str]) -> HttpResponse:
    response = HttpResponse("".join(parts), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
