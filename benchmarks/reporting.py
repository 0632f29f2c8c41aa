"""What every benchmark's command line has in common: figures for people, or one object as the last line."""

import argparse
import json
from collections.abc import Callable, Mapping
from typing import Any

Figures = Mapping[str, Any]


def command_line(description: str | None) -> argparse.ArgumentParser:
    """A parser that knows --json; add what is the benchmark's own."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="an object as the last line")
    return parser


def listed(figures: Figures) -> None:
    for name, value in figures.items():
        print(f"{name:28} {value}")


def tell(figures: Figures, *, as_json: bool, show: Callable[[Any], object] = listed) -> None:
    if as_json:
        print(json.dumps(figures))
    else:
        show(figures)
