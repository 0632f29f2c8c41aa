"""The command line of every benchmark: prints figures for people, or one JSON object as the last line."""

import argparse
import json
from collections.abc import Callable, Mapping
from typing import Any

Figures = Mapping[str, Any]


def command_line(description: str | None) -> argparse.ArgumentParser:
    """A parser with --json; each benchmark adds its own options."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="an object as the last line")
    return parser


def print_lines(figures: Figures) -> None:
    for name, value in figures.items():
        print(f"{name:28} {value}")


def print_figures(figures: Figures, *, as_json: bool, show: Callable[[Any], object] = print_lines) -> None:
    if as_json:
        print(json.dumps(figures))
    else:
        show(figures)
