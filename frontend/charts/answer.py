"""Questions about a project with their answers: numbers, a plot where that says more, and both as files."""

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.http import Http404, HttpResponse

from frontend.charts.files import standalone

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A question with its numbers and, where a picture says more, a plot. note: what the numbers rest on, with n."""

    name: str
    question: str
    note: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    svg: str = ""
    legend: Sequence[str] = ()


def as_file(answer: Answer, stem: str, suffix: str) -> HttpResponse:
    """The numbers as CSV, or the plot as SVG. Raises Http404 for another suffix, or where there is no plot."""
    if suffix == "svg" and answer.svg:
        return _file(f"{stem}.svg", "image/svg+xml", [standalone(answer.svg)])
    if suffix != "csv":
        raise Http404
    # The mark at the beginning makes spreadsheets read UTF-8.
    response = _file(f"{stem}.csv", "text/csv; charset=utf-8", ["\ufeff"])
    csv.writer(response).writerows([list(answer.head), *(_safe(row) for row in answer.rows)])
    return response


def _safe(row: Sequence[Cell]) -> list[Cell]:
    # A cell that begins like a formula would be run by a spreadsheet.
    return [f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@\t\r" and cell else cell for cell in row]


def _file(name: str, content_type: str, parts: Iterable[str]) -> HttpResponse:
    response = HttpResponse("".join(parts), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def json_file(content: object, name: str) -> HttpResponse:
    return _file(name, "application/json", [json.dumps(content, ensure_ascii=False, indent=2), "\n"])
