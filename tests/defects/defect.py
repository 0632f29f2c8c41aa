"""A mutation of the code."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Defect:
    """name: what is wrong with the changed code. path: the file. old, new: the change. tests: files."""

    name: str
    path: str
    old: str
    new: str
    tests: tuple[str, ...]
