"""What docs/engineers/assessor.md says to type, on the labelled dialogues of the demo's quality project."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from accounts.models import User
from annotation.demo.accepted_batch import create_accepted_batch
from annotation.demo.labelling_projects import create_quality_project, import_quality_dialogues
from annotation.demo.quality_chats import load_material, write_labelled_chats
from projects.models import Project
from tests.conftest import Joins
from tests.preference.training.assessor.conftest import assess

DOMAINS = ["bank", "computer", "garden", "kitchen", "travel"]
QUICK = ("epochs=2", "hidden=32", "heads=2", "layers=1", "max_length=96", "curve_seeds=1", "vocabulary=800")


@pytest.fixture
def quality(transactional_db: None, mara: User, joins: Joins) -> Project:
    project = create_quality_project(mara)
    create_accepted_batch(project, engineer=mara, trainer=joins("tina"), controller=joins("carlos"))
    import_quality_dialogues(project, mara)
    return project


def export(project: Project, output: Path, *more: str) -> str:
    """Export as the page says; returns what standard error says."""
    said = StringIO()
    call_command(
        "export_dataset", project.slug, "--format", "diqad", "--output", str(output), *more, stderr=said
    )
    return said.getvalue()


def test_the_experiments_run_on_the_accepted_labels(quality: Project, tmp_path: Path) -> None:
    assert "no label" not in export(quality, tmp_path / "labelled.jsonl")
    experiments = ("--leave-out", "domain", "--perturb", "--curve", "--examine", "logistic_regression")
    models = ("--models", "majority", "logistic_regression", "transformer")
    run = tmp_path / "run"
    assert assess(tmp_path / "labelled.jsonl", run, *models, *experiments, settings=QUICK) == 0
    metrics = json.loads((run / "metrics.json").read_text())
    best, chance = (metrics[name]["accuracy"]["value"] for name in ("logistic_regression", "majority"))
    assert best > chance + 0.2  # the scripts label by what was answered
    found = json.loads((run / "report.json").read_text())["experiments"]
    assert [row["domain"] for row in found["leave_out"]] == DOMAINS
    assert {"original", "positive", "negative"} == set(found["perturb"])
    assert [row["train"] for row in found["curve"]["data"]][-1] == 200
    assert (run / "report.html").stat().st_size > 10_000


def test_rows_without_a_label_are_announced_and_refused_with_the_remedy(
    quality: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = export(quality, tmp_path / "all.jsonl", "--include-unreviewed")
    remedy = "export without --include-unreviewed"
    assert f"30 rows have no label (null). To train an assessor, {remedy}." in said
    assert assess(tmp_path / "all.jsonl", tmp_path / "run", "--models", "majority") == 1
    assert "`label` is null, so the dialogue has no label yet.\nExport without" in capsys.readouterr().err


def test_languages_have_the_same_questions_and_every_score_its_answers() -> None:
    english, chinese = load_material("en"), load_material("zh")
    assert {name: len(entries) for name, entries in english.domains.items()} == {
        name: len(entries) for name, entries in chinese.domains.items()
    }
    assert english.shared.keys() == chinese.shared.keys()
    chats = write_labelled_chats()
    assert {(chat.domain, chat.split, chat.language) for chat in chats} == {
        (domain, split, language)
        for domain in DOMAINS
        for split in ("train", "valid", "test")
        for language in ("en", "zh")
    }
