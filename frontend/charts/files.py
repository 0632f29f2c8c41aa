"""Charts and reports as downloads: CSV, SVG, JSON."""

import csv
import json
from collections.abc import Iterable

from django.http import Http404, HttpResponse

from common.spreadsheets import escape_formula
from frontend.charts.chart import Chart
from plots.standalone import standalone_svg


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
    csv.writer(response).writerows(
        [list(chart.head), *([escape_formula(cell) for cell in row] for row in chart.rows)]
    )
    return response


def json_file(content: object, name: str) -> HttpResponse:
    text = json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)
    return _attachment(name, "application/json", [text, "\n"])


def _serialize_chart(chart: Chart) -> dict[str, object]:
    """The table as lists, because a head may name two columns alike."""
    return {"title": chart.title, "note": chart.note, "columns": list(chart.head), "rows": chart.rows}


def _attachment(name: str, content_type: str, parts: Iterable[str]) -> HttpResponse:
    response = HttpResponse("".join(parts), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
