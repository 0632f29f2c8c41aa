"""Every environment variable that the code reads is in the table of docs/operators.md, and compose passes it on."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

CHECKOUT: Final = Path(__file__).parent.parent.parent
NOT_OURS: Final = frozenset({".venv", "node_modules", "var", "tests", "benchmarks"})
READERS: Final = frozenset({"str", "int", "float", "bool", "list", "dict"})  # of environs.Env
ROW: Final = re.compile(r"^\| `([A-Z][A-Z_]+)` \|(.*?)\| .+ \| .+ \|$", re.MULTILINE)
# What one process of ours sets for another, what torchrun and terminals set.
INTERNAL: Final = frozenset(
    {
        "DJANGO_SETTINGS_MODULE",
        "LAPIDARY_PROCESS",
        "LAPIDARY_LANGUAGE",
        "DEMO_BOTS",
        "OMP_WAIT_POLICY",
    }
    # What torchrun and the training job set for their processes, and CUDA's own variable.
    | {"RANK", "LOCAL_RANK", "WORLD_SIZE", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES"}
)
# Read by libraries, compose or the demo's Makefile; keys are named in the database.
READ_BY_OTHERS: Final = frozenset(
    {
        "COMPOSE_FILE",
        "HF_ENDPOINT",
        "HF_HOME",
        "HF_HUB_OFFLINE",
        "OPENAI_API_KEY",
        "POSTGRES_PASSWORD",
        "TMPDIR",
    }
    | {"SSL_CERT_FILE", "TORCH_INDEX", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_CA_BUNDLE"}
)
WORKERS: Final = ("worker-default", "worker-gpu", "worker-chat", "worker-training")
SECRETS_OF_WORKERS: Final = frozenset({"HF_TOKEN", "OPENAI_API_KEY"})
ONE_VALUE_IN_COMPOSE: Final = {"PRODUCTION": "1"}


def documented() -> dict[str, str]:
    """Default by name."""
    table = (CHECKOUT / "docs" / "operators.md").read_text(encoding="utf-8")
    return dict(ROW.findall(table))


def sources() -> Iterator[ast.Module]:
    for path in sorted(CHECKOUT.rglob("*.py")):
        if not NOT_OURS & set(path.relative_to(CHECKOUT).parts):
            yield ast.parse(path.read_text(encoding="utf-8"))


def variables_read() -> dict[str, Any]:
    """Names that the code reads, with the literal default, or None."""
    read: dict[str, Any] = {}
    for module in sources():
        names = constants_of(module)
        for node in ast.walk(module):
            for argument in arguments_of(node):
                default = default_of(node)
                for name in strings_of(argument, names):
                    read[name] = read.get(name) or default
    return read


def constants_of(module: ast.Module) -> dict[str, ast.expr]:
    """Values of the assignments at the top of a module."""
    found = {}
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found[node.target.id] = node.value
    return found


def arguments_of(node: ast.AST) -> list[ast.expr]:
    """The name that is read in `env.str(…)`, `os.environ.get(…)`, `os.environ[…]`."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and is_environ(node.value):
        return [node.slice]
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
        return []
    of, method = node.func.value, node.func.attr
    from_env = isinstance(of, ast.Name) and of.id == "env" and method in READERS
    return node.args[:1] if from_env or (is_environ(of) and method in {"get", "setdefault"}) else []


def is_environ(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "environ" and ast.unparse(node) == "os.environ"


def default_of(node: ast.AST) -> Any:
    given = [word.value for word in getattr(node, "keywords", []) if word.arg == "default"]
    return given[0].value if given and isinstance(given[0], ast.Constant) else None


def strings_of(node: ast.expr, names: dict[str, ast.expr]) -> list[str]:
    """The strings that an expression may be: a literal, a constant, or any value of a constant dictionary."""
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    if isinstance(node, ast.Name) and node.id in names:
        return strings_of(names[node.id], {})
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in names:
        table = names[node.value.id]
        return [str(value.value) for value in getattr(table, "values", []) if isinstance(value, ast.Constant)]
    return []


def test_every_variable_that_is_read_is_in_the_table_and_the_other_way_round() -> None:
    assert set(documented()) == set(variables_read()) - INTERNAL | READ_BY_OTHERS


def test_the_table_names_the_defaults() -> None:
    shown: dict[Any, str] = {True: "on", False: "off"}
    wrong = {
        name: default
        for name, default in variables_read().items()
        if default not in (None, "") and name in documented()
        if (shown[default] if isinstance(default, bool) else str(default).removesuffix(".0"))
        not in documented()[name]
    }
    assert wrong == {}


def compose() -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load((CHECKOUT / "compose.yaml").read_text(encoding="utf-8"))[
        "services"
    ]
    return services


def test_compose_passes_every_variable_to_every_process_of_ours() -> None:
    for name in ("migrate", "web", *WORKERS):
        files = [file["path"] for file in compose()[name]["env_file"]]
        assert files == [".env", ".env.workers"] if name in WORKERS else [".env"]
        fixed = {
            key: value
            for key, value in compose()[name]["environment"].items()
            if not str(value).startswith(f"${{{key}:")
        }
        assert fixed == ONE_VALUE_IN_COMPOSE, name


def test_the_image_of_the_workers_says_what_it_is() -> None:
    """doctor then misses no styles there."""
    worker = (CHECKOUT / "Dockerfile").read_text(encoding="utf-8").partition("FROM base AS worker\n")[2]
    assert "ENV LAPIDARY_PROCESS=worker\n" in worker


def test_the_examples_name_variables_of_the_table() -> None:
    for name in (".env.example", ".env.workers.example"):
        named = set(re.findall(r"^(?:# )?([A-Z][A-Z_]+)=", (CHECKOUT / name).read_text(), re.MULTILINE))
        assert named - {"LAPIDARY_KEY_EXAMPLE"} <= set(documented())
    assert named == SECRETS_OF_WORKERS | {"LAPIDARY_KEY_EXAMPLE"}


def test_a_card_is_given_to_candidates_and_trainings_and_the_hub_has_a_volume() -> None:
    cards = yaml.safe_load((CHECKOUT / "compose.gpu.yaml").read_text(encoding="utf-8"))["services"]
    for name in ("worker-gpu", "worker-training"):
        (device,) = cards[name]["deploy"]["resources"]["reservations"]["devices"]
        assert device["capabilities"] == ["gpu"]
    assert "HF_HOME=/var/lib/huggingface" in (CHECKOUT / "Dockerfile").read_text(encoding="utf-8")
    assert all("hub:/var/lib/huggingface" in compose()[name]["volumes"] for name in WORKERS)
