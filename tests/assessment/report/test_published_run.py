"""The released ratings give the numbers that the paper prints (Ji et al., 2022, Tables 1, 3 and 9)."""

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from accounts.models import User
from annotation.project_setup.services import create_project
from projects.models import Project

DATA = Path(os.environ.get("LAPIDARY_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))
RUN = DATA / "assessment_run1.json"
pytestmark = [
    pytest.mark.shared_data,
    pytest.mark.skipif(not RUN.is_file(), reason="the released ratings are not here"),
]
STATEMENTS = ("interesting", "fun", "consistent", "fluent", "topic", "robotic", "repetitive")
NAMES = {"A": "biencoder", "B": "polyencoder", "C": "kvmemnn", "D": "seq2seq", "E": "lan_model"}

# model, n, overall, and the statements in the order of STATEMENTS
TABLE_3 = """
A 798 0.534 0.564 0.602 0.711 0.863 0.964 -0.038 0.069
B 798 0.419 0.474 0.481 0.614 0.875 0.994 -0.431 -0.075
A_p 707 0.318 0.399 0.372 0.443 0.821 0.404 -0.330 0.116
C 791 0.262 0.491 0.379 0.028 0.636 -0.066 -0.316 0.680
C_p 714 0.189 0.409 0.373 0.159 0.672 -0.114 -0.521 0.349
B_p 707 0.173 0.230 0.197 0.369 0.673 0.320 -0.395 -0.187
D 707 -0.087 -0.190 -0.208 0.166 0.311 0.401 -0.637 -0.449
D_p 798 -0.201 -0.308 -0.234 0.092 0.312 0.025 -0.625 -0.669
E_p 763 -0.217 -0.181 -0.201 -0.196 0.380 -0.455 -0.605 -0.264
E 742 -0.243 -0.165 -0.160 -0.142 0.329 -0.407 -0.745 -0.411
"""
TABLE_9 = """
A 798 52.49 53.03 54.07 58.12 61.78 65.24 35.73 39.47
B 798 50.41 51.39 51.68 56.37 64.50 67.84 25.63 35.45
A_p 707 45.53 47.38 46.23 48.52 60.17 47.50 28.30 40.62
C 791 43.96 50.50 47.53 35.85 55.73 33.98 27.35 56.76
C_p 714 41.21 47.13 46.26 39.25 55.05 32.07 21.85 46.84
B_p 707 39.93 41.35 40.06 44.93 53.74 43.72 25.25 30.49
D 707 33.71 30.28 29.95 41.72 45.92 49.07 17.30 21.72
D_p 798 29.38 26.19 27.97 37.53 44.19 35.26 17.46 17.06
E_p 763 28.65 29.34 28.50 29.13 47.07 21.30 17.82 27.41
E 742 28.99 30.75 30.65 31.27 46.42 23.60 15.10 25.13
"""


@pytest.fixture
def published(study: Project) -> dict[str, Any]:
    """The report after the import, both through their commands."""
    call_command("import_dialogues", "study", str(RUN), "--format", "assessment", stdout=io.StringIO())
    out = io.StringIO()
    call_command("assessment_report", "study", "--json", stdout=out)
    report: dict[str, Any] = json.loads(out.getvalue())
    return report


def test_it_reproduces_tables_1_3_and_9(published: dict[str, Any]) -> None:
    (run,) = published["runs"]
    assert run["participants"] == {"all": 249, "passed": 173}
    assert run["dialogues"] == {"all": 1525, "passed": 1075}
    minutes = run["minutes_per_dialogue"]
    assert [f"{minutes[part]:.2f}" for part in ("passed", "failed", "all")] == ["6.53", "7.04", "6.68"]
    systems = run["systems"]
    assert [_standardised(row) for row in systems] == _printed(TABLE_3)
    assert [_raw(row) for row in systems] == _printed(TABLE_9)
    assert all(row["low"] < row["overall"] < row["high"] for row in systems)
    assert published["replication"] == []


def test_the_pairwise_tests_find_the_best_and_the_worst(published: dict[str, Any]) -> None:
    p = {(pair["better"], pair["worse"]): pair["p"] for pair in published["runs"][0]["pairwise"]}
    assert len(p) == 90
    assert p["biencoder", "lan_model"] < 0.001
    assert p["lan_model", "biencoder"] > 0.999
    assert p["lan_model_p", "lan_model"] > 0.1


def test_a_second_import_finds_everything_there(study: Project, published: dict[str, Any]) -> None:
    out = io.StringIO()
    call_command("import_dialogues", "study", str(RUN), "--format", "assessment", "--json", stdout=out)
    again = json.loads(out.getvalue())
    assert (again["stored"], again["already_there"], again["run"]) == (0, 1824, 1)


def test_a_run_compared_with_itself_agrees_in_everything(published: dict[str, Any]) -> None:
    arguments = ["study", str(RUN), "--format", "assessment", "--run", "2"]
    call_command("import_dialogues", *arguments, stdout=io.StringIO())
    out = io.StringIO()
    call_command("assessment_report", "study", "--json", stdout=out)
    (pair,) = json.loads(out.getvalue())["replication"]
    assert pair["runs"] == [1, 2]
    assert set(pair["scores"]) == {"overall", *STATEMENTS}
    for scores in pair["scores"].values():
        assert scores == {name: pytest.approx(1) for name in ("pearson", "spearman", "kendall")}
    assert pair["same_conclusions"] == {"0.05": 1, "0.1": 1}


def test_the_exported_run_gives_the_same_numbers(
    study: Project, published: dict[str, Any], mara: User, tmp_path: Path
) -> None:
    file = tmp_path / "again.json"
    call_command(
        "export_dataset", "study", "--format", "assessment", "--output", str(file), stderr=io.StringIO()
    )
    create_project(actor=mara, slug="copy", title="Copy", preset="live-assessment")
    call_command("import_dialogues", "copy", str(file), "--format", "assessment", stdout=io.StringIO())
    out = io.StringIO()
    call_command("assessment_report", "copy", "--json", stdout=out)
    (before,), (after,) = published["runs"], json.loads(out.getvalue())["runs"]
    for name in ("participants", "dialogues", "minutes_per_dialogue", "systems", "pairwise", "agreement"):
        assert after[name] == before[name]


def _printed(table: str) -> list[list[str]]:
    rows = [line.split() for line in table.split("\n") if line]
    return [[NAMES[row[0][0]] + row[0][1:], *row[1:]] for row in rows]


def _standardised(row: dict[str, Any]) -> list[str]:
    values = [row["overall"], *(row["scores"][name] for name in STATEMENTS)]
    return [row["system"], str(row["n"]), *(f"{value:.3f}" for value in values)]


def _raw(row: dict[str, Any]) -> list[str]:
    values = [row["raw"]["overall"], *(row["raw"][name] for name in STATEMENTS)]
    return [row["system"], str(row["n"]), *(f"{value:.2f}" for value in values)]
