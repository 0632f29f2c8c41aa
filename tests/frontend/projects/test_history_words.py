"""Every kind of event that the code writes has a sentence in the history."""

import ast
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from frontend.pages.projects.history import WORDS

WRITERS = {"record", "record_request", "move"}
APPS = ("accounts", "annotation", "assessment", "dialogues", "generation", "jobs", "preference", "projects")
OWN = Path("projects/transitions.py")  # passes on what it is given


def test_every_kind_has_a_sentence() -> None:
    found = {kind: path for path in sources() for kind in kinds_in(path)}
    assert len(found) > 60
    assert not {kind: str(path) for kind, path in found.items() if kind not in WORDS}


def sources() -> Iterator[Path]:
    root = Path(settings.BASE_DIR)
    for app in APPS:
        for path in (root / app).rglob("*.py"):
            if "migrations" not in path.parts and path.relative_to(root) != OWN:
                yield path


def kinds_in(path: Path) -> Iterator[str]:
    """The literal kinds of events; a name is looked up in the module, a parameter in the calls of its function."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if any(name_of(call) == "move" for call in calls_in(tree)):
        yield "state"
    for call in calls_in(tree):
        if name_of(call) == "change_settings":
            yield from literals(call.args[2])
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for call in calls_in(function):
                if name_of(call) in WRITERS:
                    for keyword in call.keywords:
                        if keyword.arg == "kind":
                            yield from texts(keyword.value, function, tree)


def texts(value: ast.expr, function: ast.FunctionDef, tree: ast.Module) -> Iterator[str]:
    if not isinstance(value, ast.Name):
        yield from literals(value)
        return
    parameters = [one.arg for one in [*function.args.args, *function.args.kwonlyargs]]
    if value.id in parameters:
        place = parameters.index(value.id)
        for call in calls_in(tree):
            if name_of(call) == function.name and len(call.args) > place:
                yield from literals(call.args[place])
        return
    for node in [*tree.body, *ast.walk(function)]:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == value.id for target in node.targets
        ):
            yield from literals(node.value)


def literals(value: ast.expr) -> Iterator[str]:
    """The strings that the expression may be; not those of its conditions."""
    if isinstance(value, ast.IfExp):
        yield from literals(value.body)
        yield from literals(value.orelse)
    elif isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value


def calls_in(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def name_of(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))
