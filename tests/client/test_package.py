"""The client stands by itself: it needs two packages, and nothing of the server."""

import ast
import sys
from pathlib import Path

import lapidary

FOLDER = Path(lapidary.__file__).parent
NEEDED = {"httpx", "tqdm", "lapidary"}
FOR_TABLES = {
    "pyarrow"
}  # imported where a table is made; datasets and pandas are named only for type checkers


def imports_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = [node for node in tree.body if isinstance(node, ast.If)]
    left_out = {inner for node in typing_only for inner in ast.walk(node)}
    nodes = [node for node in ast.walk(tree) if node not in left_out]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names}


def test_it_imports_nothing_but_what_it_declares() -> None:
    modules = sorted(FOLDER.glob("*.py"))
    found = set().union(*map(imports_of, modules)) - set(sys.stdlib_module_names)
    assert len(modules) > 10
    assert found == NEEDED | FOR_TABLES
    declared = (FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8")
    assert all(f'"{name}>=' in declared for name in found - {"lapidary"})


def test_it_is_typed() -> None:
    assert (FOLDER / "py.typed").is_file()
    assert set(lapidary.__all__) <= set(vars(lapidary))
