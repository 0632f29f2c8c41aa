"""Reports as one HTML file without scripts or links. Everything that comes from data is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from plots.standalone import PAGE_STYLE

Cells = Sequence[object]

STYLE = (
    "body{font:15px/1.55 system-ui,'PingFang SC','Noto Sans CJK SC',sans-serif;max-width:70rem;margin:2rem auto;"
    "padding:0 1rem}"
    "table{border-collapse:collapse;margin:.5rem 0 1.5rem;display:block;overflow-x:auto;"
    "font-variant-numeric:tabular-nums}"
    "th,td{padding:.25rem .6rem;vertical-align:top;white-space:nowrap;text-align:right;border-bottom:1px solid #8884}"
    "th:first-child,td:first-child{text-align:left}pre{overflow-x:auto}"
)


def html_page(title: str, parts: Iterable[str]) -> str:
    """A whole page. parts: HTML."""
    name, body = escape(title), "\n".join(parts)
    return (
        '<!doctype html>\n<html><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}</title><style>{PAGE_STYLE}{STYLE}</style></head>\n"
        f"<body><h1>{name}</h1>\n{body}\n</body></html>\n"
    )


def html_table(head: Cells, rows: Iterable[Cells]) -> str:
    """A line break in a cell stays one."""
    top = "".join(f"<th>{_cell(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    return escape(str(value)).replace("\n", "<br>")


def heading(words: str, level: int = 2) -> str:
    return f"<h{level}>{escape(words)}</h{level}>"


def paragraph(words: str) -> str:
    return f"<p>{escape(words)}</p>"


def bullets(sentences: Iterable[str]) -> str:
    """Nothing without sentences."""
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f"<ul>{items}</ul>" if items else ""
