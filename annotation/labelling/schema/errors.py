"""What is wrong with a schema, said so that its author can mend it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

MOST_PROBLEMS = 50

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """path: "questions[2].options[0].text.zh"; line: of the YAML text, from 1; None where there was no text."""

    path: str
    line: int | None
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message} {self.remedy}".strip()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class InvalidSchema(Exception):
    """A schema that cannot be taken; every problem that was found, at most MOST_PROBLEMS, in the order of the text."""

    def __init__(self, problems: Sequence[SchemaProblem]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems[:3]))
        self.problems = list(problems[:MOST_PROBLEMS])


def shown(path: Path) -> str:
    """("questions", 2, "key") as "questions[2].key"."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".")


class ProblemCollector:
    """Collects problems while a schema is read. lines: where each path of a YAML text stands."""

    def __init__(self, lines: dict[Path, int] | None = None) -> None:
        self.lines = lines
        self.problems: list[SchemaProblem] = []

    def add(self, path: Path, message: str, remedy: str = "") -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(SchemaProblem(shown(path), self.line_of(path), message, remedy))

    def line_of(self, path: Path) -> int | None:
        """Of what is missing, the line of what should contain it."""
        if self.lines is None:
            return None
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def raise_any(self) -> None:
        if self.problems:
            raise InvalidSchema(sorted(self.problems, key=lambda one: one.line or 0))
