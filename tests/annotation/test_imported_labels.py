"""Annotations of imported files: submissions of imported annotators, or a refusal that names the line."""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from annotation.models import Assignment, FinalLabel, LabelOrigin, Submission, Task, TaskState
from annotation.services.planning import create_project
from dialogues.models import Dialogue, Utterance
from dialogues.services.imports import start_import
from jobs.models import Job, JobState
from jobs.services import run_job
from projects.models import Project

Imports = Callable[..., Job]


@pytest.fixture
def helpdesk(mara: User) -> Project:
    return create_project(slug="helpdesk", preset="dialeval", actor=mara)


@pytest.fixture
def imports(transactional_db: None) -> Imports:
    """imports(project, entries, "dialeval") carries an import out and returns its job."""

    def carry_out(project: Project, content: bytes, format: str, on_error: str = "skip") -> Job:
        job = start_import(
            project=project,
            actor=None,
            source=BytesIO(content),
            name="file",
            format=format,
            submission_id=uuid4(),
            on_error=on_error,
            enqueue=False,
        )
        return run_job(job_id=job.pk)

    return carry_out


def entry(name: str, annotations: list[dict[str, Any]]) -> dict[str, Any]:
    turns = [
        {"sender": "customer", "utterances": ["No sound.", "None at all."]},
        {"sender": "helpdesk", "utterances": ["Is it muted?"]},
    ]
    return {"id": name, "turns": turns, "annotations": annotations}


def annotation(accomplished: int | str = 1, nuggets: tuple[str, str] = ("CNUG0", "HNaN")) -> dict[str, Any]:
    return {"nugget": list(nuggets), "quality": {"A": accomplished, "S": 0, "E": 2}}


def file_of(*entries: dict[str, Any]) -> bytes:
    return json.dumps(list(entries), ensure_ascii=False, indent=1).encode()


def test_every_annotation_is_a_submission_of_its_annotator(helpdesk: Project, imports: Imports) -> None:
    imports(helpdesk, file_of(entry("d1", [annotation(1), annotation("-1")])), "dialeval")
    first, second = Submission.objects.order_by("annotator__username")
    assert first.answers == {
        "dialogue": {"A": 1, "S": 0, "E": 2},
        "utterances": {"0": {"nugget": "CNUG0"}, "1": {"nugget": "HNaN"}},
    }
    assert second.answers["dialogue"]["A"] == -1
    assert [one.annotator.username for one in (first, second)] == [
        "imported-helpdesk-1",
        "imported-helpdesk-2",
    ]
    assert not first.annotator.is_active
    task = Task.objects.get()
    assert (task.overlap, task.open_slots, task.state) == (2, 0, TaskState.FINAL)
    assert FinalLabel.objects.get().origin == LabelOrigin.COLLECTED


def test_a_turn_is_one_utterance_and_its_parts_are_kept(helpdesk: Project, imports: Imports) -> None:
    imports(helpdesk, file_of(entry("d1", [])), "dialeval")
    assert Utterance.objects.get(position=0).text == "No sound.\nNone at all."


def test_without_annotations_it_is_open_work(helpdesk: Project, imports: Imports) -> None:
    imports(helpdesk, file_of(entry("d1", [])), "dialeval")
    assert Task.objects.get().open_slots == helpdesk.labelling.overlap
    assert not Assignment.objects.exists()


def test_what_does_not_fit_is_refused_with_its_line(helpdesk: Project, imports: Imports) -> None:
    bad = entry("d2", [annotation(nuggets=("HNUG", "HNaN"))])
    job = imports(helpdesk, file_of(entry("d1", [annotation()]), bad), "dialeval")
    [error] = job.result["errors"]
    assert (error["code"], error["params"]["path"]) == ("annotation_misfit", "annotations[0].0/nugget")
    assert Dialogue.objects.get().external_id == "d1"


def test_stop_stores_nothing(helpdesk: Project, imports: Imports) -> None:
    bad = entry("d2", [annotation(7)])
    job = imports(helpdesk, file_of(entry("d1", [annotation()]), bad), "dialeval", "stop")
    assert job.state == JobState.FAILED
    assert not Dialogue.objects.exists()
    assert not Submission.objects.exists()


def test_the_same_file_twice_changes_nothing(helpdesk: Project, imports: Imports) -> None:
    for _again in range(2):
        imports(helpdesk, file_of(entry("d1", [annotation(), annotation()])), "dialeval")
    assert (Submission.objects.count(), Task.objects.count()) == (2, 1)


def test_a_quality_label_with_its_reason(mara: User, imports: Imports) -> None:
    quality = create_project(slug="quality", preset="diqad", actor=mara)
    said = [
        {"role": "user", "content": "银行卡号忘了怎么查"},
        {"role": "assistant", "content": "带身份证去柜台"},
    ]
    row = {"dialogue": said, "label": 1, "reason": "回答部分满足", "turns": 1}
    imports(quality, json.dumps(row).encode() + b"\n", "diqad")
    assert Submission.objects.get().answers["dialogue"] == {"quality": 1, "reasons_1": ["incomplete"]}
    assert FinalLabel.objects.get().origin == LabelOrigin.SINGLE
