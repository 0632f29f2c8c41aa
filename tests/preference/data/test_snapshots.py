"""Snapshots: what is frozen, its card, and everything that can stop it."""

import hashlib
import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from accounts.models import User
from annotation.expert_review.services import submit_verdict
from annotation.project_setup.services import create_project
from dialogues.models import Dialogue, ReviewState, Split, Utterance
from jobs.models import Job, JobState
from jobs.progress import JobCancelled
from jobs.services import retry_job, run_job
from preference.data.models.exports import Export
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.exports import file_of
from preference.data.selectors.frozen_dialogues import FILES, frozen_dialogues, verify_snapshot
from preference.data.selectors.selection import Filters, select
from preference.data.selectors.shortages import expected_shortages, shortages_on_card
from preference.data.services.exports import start_export
from preference.data.services.snapshots import remove_snapshot_files, take_snapshot
from preference.data.storage import snapshots_root
from preference.runs.models import TrainingRun
from preference.training.common.dialogues import read_dialogues
from projects.models import Event, Project
from tests.preference.conftest import PASS, VETO, Rows, Written, diamante_file, refused

Imports = Callable[..., Job]
Taken = Callable[..., Snapshot]


@pytest.fixture
def taken(project: Project, eric: User) -> Taken:
    """taken(**choices) is a finished snapshot."""

    def taken(**choices: Any) -> Snapshot:
        made = take_snapshot(snapshot_id=uuid4(), project=project, actor=eric, **choices)
        job = run_job(job_id=made.job_id)
        assert job.state == JobState.DONE, job.error
        return Snapshot.objects.select_related("project", "job").get(pk=made.pk)

    return taken


def folder(snapshot: Snapshot) -> Path:
    return snapshots_root() / snapshot.path


def test_a_snapshot_is_a_read_only_folder_with_hash_and_card(written: Written, taken: Taken) -> None:
    written(PASS)
    snapshot = taken(name="May", seed=7)
    assert sorted(path.name for path in folder(snapshot).iterdir()) == sorted(FILES)
    data = (folder(snapshot) / "dialogues.jsonl").read_bytes()
    assert (snapshot.bytes, snapshot.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    facts = json.loads((folder(snapshot) / "snapshot.json").read_text())
    assert facts["files"]["dialogues.jsonl"] == {"bytes": snapshot.bytes, "sha256": snapshot.sha256}
    assert (facts["seed"], facts["name"], facts["card"]) == (7, "May", snapshot.card)
    assert facts["filters"]["splits"] == Split.values
    assert not any(path.stat().st_mode & stat.S_IWUSR for path in folder(snapshot).iterdir())
    (row,) = [json.loads(line) for line in data.splitlines()]
    assert {"dialogue_id", "split", "domain", "language", "conversation"} <= set(row)


def test_the_card_has_table_one_and_what_is_missing(
    written: Written, taken: Taken, imports: Imports, project: Project
) -> None:
    written(PASS)
    imports([*diamante_file(1), {"conversation": [{"utterance": "only"}, {"utterance": "words"}]}])
    Dialogue.objects.update(split=Split.TRAIN)
    snapshot = taken(include_unreviewed=True)
    train, *_empty, total = snapshot.card["splits"]
    assert {**train, "split": "total"} == total
    counted = {name: total[name] for name in ("dialogues", "utterances", "select", "revise", "rewrite")}
    assert counted == {"dialogues": 3, "utterances": 10, "select": 1, "revise": 4, "rewrite": 1}
    assert (total["had_candidates"], total["replies"]) == (6, 6)
    assert snapshot.card["candidates"]["by_number"] == {"7": 6}
    assert snapshot.card["model_versions"] == {"scripted@1": 3, "": 3}
    assert snapshot.card["gaps"] == {
        "imported": 2,
        "derived_actions": 3,
        "unreviewed": 2,
        "without_candidates": 1,
    }
    texts = [one.code for one in shortages_on_card(snapshot.card)]
    assert texts == ["empty_split", "empty_split", "few_turns"]
    card = (folder(snapshot) / "README.md").read_text()
    assert card.startswith('---\npretty_name: "')
    assert "| Dialogues | 3 | 0 | 0 | 3 |" in card
    assert "2 dialogues were not reviewed by an expert." in card
    assert "No licence is stated." in card
    assert snapshot.sha256 in card


def test_the_card_says_what_no_person_wrote(imports: Imports, taken: Taken, project: Project) -> None:
    imports([{**diamante_file(1)[0], "id": "robot", "scripted": True}, *diamante_file(2)[1:]])
    snapshot = taken(include_unreviewed=True)
    assert snapshot.card["gaps"]["scripted"] == 1
    assert "1 dialogues are marked as scripted" in (folder(snapshot) / "README.md").read_text()


def test_the_card_says_of_markup_that_it_is_text(project: Project, written: Written, taken: Taken) -> None:
    written(PASS)
    Dialogue.objects.update(domain="<img src=x>|`pets`")
    snapshot = taken(name="<b>|May")
    card = (folder(snapshot) / "README.md").read_text()
    assert "&lt;img src=x>\\|\\`pets\\`" in card
    assert "# &lt;b>\\|May" in card


def test_later_work_does_not_change_it(
    written: Written, taken: Taken, rows: Rows, project: Project, carlos: User
) -> None:
    dialogue, _other = written(PASS), written(PASS)
    snapshot = taken()
    before = (folder(snapshot) / "dialogues.jsonl").read_bytes()
    submit_verdict(reviewer=carlos, dialogue_id=dialogue.pk, review_id=uuid4(), verdict=VETO, reason="no")
    Utterance.objects.update(text="changed")
    assert (folder(snapshot) / "dialogues.jsonl").read_bytes() == before
    assert verify_snapshot(snapshot) == folder(snapshot)


def test_trainers_read_it(written: Written, taken: Taken) -> None:
    dialogue = written(PASS)
    (read,) = read_dialogues(folder(taken()))
    assert (read.id, read.split) == (dialogue.external_id, dialogue.split)
    assert [turn.action for turn in read.turns] == ["select", "revise", "rewrite"]
    assert [turn.model_version for turn in read.turns] == ["scripted@1"] * 3


@pytest.mark.parametrize("format", ["diamante", "quadruples", "sft", "preference", "reward", "kto"])
def test_it_gives_the_rows_that_its_project_gave(
    written: Written, taken: Taken, rows: Rows, project: Project, eric: User, format: str
) -> None:
    for _number in range(3):
        written(PASS)
    Dialogue.objects.update(split=Split.TRAIN, language="en", domain="pets")
    before = rows(format, Filters())
    snapshot = taken()
    Dialogue.objects.update(review_state=ReviewState.VETOED)
    job = run_job(
        job_id=start_export(
            export_id=uuid4(), project=project, actor=eric, format=format, snapshot=snapshot
        ).job_id
    )
    made = Export.objects.select_related("job").get(job=job)
    assert [json.loads(line) for line in file_of(made).read_text().splitlines()] == before
    assert before
    assert made.manifest["snapshot"] == {
        "id": str(snapshot.pk),
        "name": snapshot.name,
        "sha256": snapshot.sha256,
    }


def test_a_split_of_it_leaves_alone(imports: Imports, taken: Taken, project: Project) -> None:
    imports(diamante_file(4))
    first = Dialogue.objects.order_by("id")[:1].get()
    Dialogue.objects.update(split=Split.TRAIN)
    Dialogue.objects.filter(pk=first.pk).update(split=Split.TEST)
    source = frozen_dialogues(taken(include_unreviewed=True), ("test",))
    assert source.count() == 1
    assert [row["dialogue_id"] for row in source.rows()] == [first.external_id]


def test_labels_are_not_made_from_it(written: Written, taken: Taken, project: Project, eric: User) -> None:
    written(PASS)
    with refused("invalid"):
        start_export(export_id=uuid4(), project=project, actor=eric, format="judgements", snapshot=taken())


def test_a_snapshot_of_another_project_is_refused(
    written: Written, taken: Taken, project: Project, mara: User
) -> None:
    written(PASS)
    other = create_project(slug="other", preset="diamante", actor=mara, title="Other")
    with refused("invalid"):
        start_export(export_id=uuid4(), project=other, actor=mara, format="sft", snapshot=taken())


# --- refused ---


def test_nothing_is_not_frozen(project: Project, eric: User, imports: Imports) -> None:
    imports(diamante_file(2))
    with refused("nothing_to_take") as said:
        take_snapshot(snapshot_id=uuid4(), project=project, actor=eric)
    assert said.value.remedy
    assert not Job.objects.filter(kind="snapshot").exists()


def test_dialogues_vetoed_before_the_worker_starts_leave_no_files(
    written: Written, project: Project, eric: User
) -> None:
    written(PASS)
    made = take_snapshot(snapshot_id=uuid4(), project=project, actor=eric)
    Dialogue.objects.update(review_state=ReviewState.VETOED)
    job = run_job(job_id=made.job_id)
    assert (job.state, bool(job.remedy)) == (JobState.FAILED, True)
    assert list(snapshots_root().iterdir()) == []


@pytest.mark.parametrize("choice", [{"splits": ["dev"]}, {"seed": -1}, {"name": "x" * 121}, {"name": "a\0b"}])
def test_wrong_choices_are_refused(
    written: Written, project: Project, eric: User, choice: dict[str, Any]
) -> None:
    written(PASS)
    with refused("invalid") as said:
        take_snapshot(snapshot_id=uuid4(), project=project, actor=eric, **choice)
    assert said.value.remedy


def test_the_same_id_again_is_the_same_snapshot(written: Written, project: Project, eric: User) -> None:
    written(PASS)
    about: dict[str, Any] = {"snapshot_id": uuid4(), "project": project, "actor": eric}
    first = take_snapshot(**about, name="One")
    assert take_snapshot(**about, name="One") == first
    assert take_snapshot(**about) == first  # without a name, which then has the time in it
    assert Job.objects.filter(kind="snapshot").count() == 1


@pytest.mark.parametrize("other", [{"name": "Two"}, {"splits": ["test"]}, {"seed": 3}])
def test_an_id_sent_with_another_snapshot_is_refused(
    written: Written, project: Project, eric: User, other: dict[str, Any]
) -> None:
    written(PASS)
    about: dict[str, Any] = {"snapshot_id": uuid4(), "project": project, "actor": eric, "name": "One"}
    take_snapshot(**about)
    with refused("id_in_use"):
        take_snapshot(**{**about, **other})
    assert Snapshot.objects.get().name == "One"


def test_shortages_are_known_before(project: Project, imports: Imports) -> None:
    imports([{"conversation": [{"utterance": "a"}, {"utterance": "b"}]}])
    Dialogue.objects.update(split=Split.TRAIN)
    found = expected_shortages(select(project, Filters(include_unreviewed=True)))
    assert [one.code for one in found] == ["no_candidates", "empty_split", "empty_split"]
    assert all(one.text() for one in found)


# --- stopped ---


def test_a_crash_leaves_nothing_half_and_starting_again_finishes_it(
    written: Written, project: Project, eric: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(PASS)
    made = take_snapshot(snapshot_id=uuid4(), project=project, actor=eric)
    with monkeypatch.context() as broken:
        broken.setattr(
            "preference.data.formats.snapshot.code_version",
            lambda: (_ for _ in ()).throw(OSError(28, "full")),
        )
        job = run_job(job_id=made.job_id)
    assert (job.state, list(snapshots_root().iterdir())) == (JobState.FAILED, [])
    retry_job(job=job, actor=eric)
    assert run_job(job_id=made.job_id).state == JobState.DONE
    verify_snapshot(Snapshot.objects.select_related("project").get(pk=made.pk))


def test_files_of_a_killed_worker_are_replaced(written: Written, project: Project, eric: User) -> None:
    written(PASS)
    made = take_snapshot(snapshot_id=uuid4(), project=project, actor=eric)
    for name in (str(made.pk), f".{made.pk}.1234"):
        (snapshots_root() / name).mkdir(parents=True)
        (snapshots_root() / name / "dialogues.jsonl").write_text("half")
    run_job(job_id=made.job_id)
    assert [path.name for path in snapshots_root().iterdir()] == [str(made.pk)]
    verify_snapshot(Snapshot.objects.select_related("project").get(pk=made.pk))


def test_stopping_it_leaves_nothing(
    written: Written, project: Project, eric: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(PASS)
    made = take_snapshot(snapshot_id=uuid4(), project=project, actor=eric)

    def stopped(*_: Any) -> None:
        raise JobCancelled

    monkeypatch.setattr("jobs.progress.Progress.heartbeat", stopped)
    assert run_job(job_id=made.job_id).state == JobState.CANCELLED
    assert list(snapshots_root().iterdir()) == []


def test_a_changed_file_is_noticed(written: Written, taken: Taken, project: Project, eric: User) -> None:
    written(PASS)
    snapshot = taken()
    path = folder(snapshot) / "dialogues.jsonl"
    path.chmod(0o644)
    path.write_bytes(path.read_bytes().replace(b"cat", b"dog"))
    with refused("damaged"):
        verify_snapshot(snapshot)
    made = start_export(export_id=uuid4(), project=project, actor=eric, format="sft", snapshot=snapshot)
    assert run_job(job_id=made.job_id).state == JobState.FAILED


# --- removed ---


def test_removing_the_files_keeps_the_card(
    written: Written, taken: Taken, eric: User, django_capture_on_commit_callbacks: Any
) -> None:
    written(PASS)
    snapshot, kept = taken(), 0
    place = folder(snapshot)
    for _twice in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            removed = remove_snapshot_files(snapshot=snapshot, actor=eric)
    assert (removed.path, bool(removed.card), place.exists()) == ("", True, False)
    assert Event.objects.filter(kind="files_removed").count() == 1
    with refused("file_gone"):
        verify_snapshot(removed)
    assert kept == 0


def test_a_models_training_data_stays(written: Written, taken: Taken, eric: User, project: Project) -> None:
    written(PASS)
    snapshot = taken()
    job = Job.objects.create(project=project, kind="training")
    TrainingRun.objects.create(
        project=project, job=job, number=1, snapshot=snapshot, base="demo", recipe="quick"
    )
    with refused("in_use") as said:
        remove_snapshot_files(snapshot=snapshot, actor=eric)
    assert said.value.remedy
    assert folder(snapshot).is_dir()


# --- the command ---


def test_the_command_takes_it_copies_it_and_says_where(
    written: Written, project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(PASS)
    call_command("take_snapshot", project.slug, "--name", "May", "--output", str(tmp_path / "may"))
    snapshot = Snapshot.objects.get()
    said = capsys.readouterr()
    assert said.out.strip() == f"{snapshot.pk} {tmp_path / 'may'}"
    assert snapshot.sha256 in said.err
    assert sorted(path.name for path in (tmp_path / "may").iterdir()) == sorted(FILES)
    call_command("take_snapshot", project.slug, "--verify", "May")


def test_the_command_refuses_what_would_be_written_over(
    written: Written, project: Project, tmp_path: Path
) -> None:
    written(PASS)
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(CommandError, match="not empty"):
        call_command("take_snapshot", project.slug, "--output", str(tmp_path))
    assert not Snapshot.objects.exists()


def test_the_command_exports_from_it(
    written: Written, taken: Taken, project: Project, tmp_path: Path
) -> None:
    written(PASS)
    snapshot = taken(name="May")
    target = tmp_path / "sft.jsonl"
    call_command(
        "export_dataset", project.slug, "--format", "sft", "--snapshot", "May", "--output", str(target)
    )
    manifest = json.loads((tmp_path / "sft.jsonl.manifest.json").read_text())
    assert (manifest["snapshot"]["id"], manifest["rows"]) == (str(snapshot.pk), 3)
