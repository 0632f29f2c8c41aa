"""Problems of a schema, described so that its author can fix them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from common.sentences import join_sentences

MAX_PROBLEMS = 50

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """path: "questions[2].options[0].text.zh". line: of the YAML text, from 1; None if there is no text."""

    path: str
    line: int | None
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}: {join_sentences([self.message, self.remedy])}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class InvalidSchema(Exception):
    """A schema that cannot be used. problems: those that were found, at most MAX_PROBLEMS, in the order of the text."""

    def __init__(self, problems: Sequence[SchemaProblem]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems[:3]))
        self.problems = list(problems[:MAX_PROBLEMS])


def format_path(path: Path) -> str:
    """Format ("questions", 2, "key") as "questions[2].key"."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".")


class ProblemCollector:
    """Collects problems while a schema is read. lines: the line of each path of a YAML text."""

    def __init__(self, lines: dict[Path, int] | None = None) -> None:
        self.lines = lines
        self.found: list[SchemaProblem] = []

    def add(self, path: Path, message: str, remedy: str = "") -> None:
        if len(self.found) < MAX_PROBLEMS:
            self.found.append(SchemaProblem(format_path(path), self.line_of(path), message, remedy))

    def line_of(self, path: Path) -> int | None:
        """The line of the path; if the path is missing, the line of its container."""
        if self.lines is None:
            return None
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def raise_if_any(self) -> None:
        if self.found:
            raise InvalidSchema(sorted(self.found, key=lambda problem: problem.line or 0))
