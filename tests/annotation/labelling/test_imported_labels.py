"""Annotations in imported files become submissions of imported annotators, or errors with a line number."""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any, cast
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import Count
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from annotation.labelling.models.labels import FinalLabel, LabelOrigin, Submission
from annotation.labelling.schema.answers import Answers, check_answers
from annotation.labelling.schema.questions import QuestionSchema
from annotation.labelling.services import imported_labels
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment, Task, TaskState
from dialogues.models import Dialogue, Utterance
from dialogues.parsing.formats import parse
from dialogues.parsing.parsed_dialogue import ParsedDialogue
from dialogues.services.imports import start_import
from dialogues.services.storing import store_batch
from jobs.models import Job, JobState
from jobs.services import cancel_job, retry_job, run_job
from projects.models import Project

Imports = Callable[..., Job]


@pytest.fixture
def helpdesk(mara: User) -> Project:
    return create_project(slug="helpdesk", preset="dialeval", actor=mara)


@pytest.fixture
def imports(transactional_db: None) -> Imports:
    """imports(project, content, "dialeval") runs an import and returns its job."""

    def run_import(
        project: Project,
        content: bytes,
        format: str,
        on_error: str = "skip",
        watch: Callable[[Job], None] | None = None,
    ) -> Job:
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
        return run_job(job_id=job.pk, watch=watch)

    return run_import


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


def test_every_annotation_becomes_a_submission(helpdesk: Project, imports: Imports) -> None:
    imports(helpdesk, file_of(entry("d1", [annotation(1), annotation("-1")])), "dialeval")
    first, second = Submission.objects.order_by("annotator__username")
    assert first.answers == {
        "dialogue": {"A": 1, "S": 0, "E": 2},
        "utterances": {"0": {"nugget": "CNUG0"}, "1": {"nugget": "HNaN"}},
    }
    assert second.answers["dialogue"]["A"] == -1
    assert [submission.annotator.username for submission in (first, second)] == [
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


def test_a_dialogue_without_annotations_is_open_for_work(helpdesk: Project, imports: Imports) -> None:
    imports(helpdesk, file_of(entry("d1", [])), "dialeval")
    assert Task.objects.get().open_slots == helpdesk.labelling.overlap
    assert not Assignment.objects.exists()


def test_an_annotation_that_does_not_fit_is_refused_with_its_line(
    helpdesk: Project, imports: Imports
) -> None:
    bad = entry("d2", [annotation(nuggets=("HNUG", "HNaN"))])
    job = imports(helpdesk, file_of(entry("d1", [annotation()]), bad), "dialeval")
    [error] = job.result["errors"]
    assert (error["code"], error["params"]["path"]) == ("annotation_misfit", "annotations[0].0/nugget")
    assert Dialogue.objects.get().external_id == "d1"


@pytest.mark.parametrize(
    "annotations, code, path",
    [
        ([3], "wrong_type", "annotations[0]"),
        ([{"nugget": ["CNUG0", "HNaN"]}], "wrong_length", "annotations[0].nugget"),
        ([{"quality": [1]}], "wrong_type", "annotations[0].quality"),
        ([{"nugget": [["CNUG0"]]}], "annotation_misfit", "annotations[0].0/nugget"),
        ([{"nugget": ["CNUG0"], "quality": {"A": "--5"}}], "annotation_misfit", "annotations[0].A"),
        ([{"nugget": ["CNUG0"], "quality": {"A": "9" * 5000}}], "annotation_misfit", "annotations[0].A"),
    ],
)
def test_malformed_annotations_are_refused_with_their_line_in_any_format(
    helpdesk: Project, imports: Imports, annotations: Any, code: str, path: str
) -> None:
    turns = [{"role": "customer", "content": "No sound."}]
    rows = [{"messages": turns, "id": "good"}, {"messages": turns, "id": "bad", "annotations": annotations}]
    job = imports(helpdesk, "".join(json.dumps(row) + "\n" for row in rows).encode(), "messages")
    [error] = job.result["errors"]
    assert (error["line"], error["code"], error["params"]["path"]) == (2, code, path)
    assert Dialogue.objects.get().external_id == "good"


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


def test_annotations_are_removed_from_the_metadata(helpdesk: Project, imports: Imports) -> None:
    turns = {**entry("d1", [annotation("1")]), "source": "weibo"}
    imports(helpdesk, file_of(turns, entry("d2", [annotation()])), "dialeval")
    first, second = Dialogue.objects.order_by("id")
    assert first.metadata == {"source": "weibo", "quality_as_text": True}
    assert second.metadata == {}


def test_answers_are_checked_once_per_reading(
    helpdesk: Project, imports: Imports, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is read twice: first to find errors before anything is stored, then to store it."""
    checked: list[Answers] = []

    def count_and_check(schema: QuestionSchema, answers: Answers, *args: Any, **options: Any) -> Any:
        checked.append(answers)
        return check_answers(schema, answers, *args, **options)

    monkeypatch.setattr(imported_labels, "check_answers", count_and_check)
    imports(helpdesk, file_of(entry("d1", [annotation(), annotation()])), "dialeval")
    assert len(checked) == 2 * 2


@pytest.mark.django_db
def test_queries_of_a_batch_do_not_grow_with_its_dialogues(helpdesk: Project) -> None:
    def queries(first: int, count: int) -> int:
        rows = [entry(f"d{n}", [annotation()] * 3) for n in range(first, first + count)]
        batch = [cast(ParsedDialogue, result) for result in parse(BytesIO(file_of(*rows)), "dialeval")]
        with CaptureQueriesContext(connection) as queries:
            store_batch(project=helpdesk, job=job, batch=batch)
        return len(queries)

    job = Job.objects.create(kind="import", project=helpdesk)
    queries(0, 1)  # creates the imported annotators
    assert queries(1, 2) == queries(3, 200) <= 19
    assert Submission.objects.count() == 203 * 3


def test_a_retried_import_loses_and_duplicates_no_label(
    helpdesk: Project, imports: Imports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dialogues.services.imports.BATCH_DIALOGUES", 2)
    monkeypatch.setattr("jobs.progress.WRITE_EVERY", 0)

    def cancel_after_a_batch(job: Job) -> None:
        if job.result.get("stored") == 2:
            cancel_job(job=Job.objects.get(pk=job.pk), actor=None)

    rows = file_of(*(entry(f"d{n}", [annotation(), annotation(2)]) for n in range(5)))
    job = imports(helpdesk, rows, "dialeval", watch=cancel_after_a_batch)
    assert (job.state, Submission.objects.count()) == (JobState.CANCELLED, 4)
    retry_job(job=Job.objects.get(pk=job.pk), actor=None)
    assert run_job(job_id=job.pk).result["stored"] == 5
    count_and_check = Dialogue.objects.annotate(n=Count("tasks__submissions"))
    assert list(count_and_check.values_list("n", flat=True)) == [2] * 5


def test_a_quality_label_with_its_reason(mara: User, imports: Imports) -> None:
    quality = create_project(slug="quality", preset="diqad", actor=mara)
    turns = [
        {"role": "user", "content": "银行卡号忘了怎么查"},
        {"role": "assistant", "content": "带身份证去柜台"},
    ]
    row = {"dialogue": turns, "label": 1, "reason": "回答部分满足", "turns": 1}
    imports(quality, json.dumps(row).encode() + b"\n", "diqad")
    assert Submission.objects.get().answers["dialogue"] == {"quality": 1, "reasons_1": ["incomplete"]}
    assert FinalLabel.objects.get().origin == LabelOrigin.SINGLE
