"""Importing files: what is stored, what is refused, and that repeating it is harmless."""

import errno
import gzip
import json
from pathlib import Path
from uuid import uuid4

import pytest
from pytest_django import DjangoAssertNumQueries, Settings

from common.refusals import Refusal
from dialogues.import_reports import MAX_REPORTED_ERRORS, explain_failed_import
from dialogues.models import CandidateSet, Dialogue, DialogueState, Origin, Split, Utterance
from dialogues.parsing.formats import FORMATS
from dialogues.parsing.parsed_dialogue import ParsedDialogue, ParsedUtterance
from dialogues.selectors import import_errors, utterances_of
from dialogues.services import uploads
from dialogues.services.imports import run_import_job, start_import
from dialogues.services.storing import store_batch
from jobs.folders import MARKER
from jobs.models import Job, JobState
from jobs.progress import Progress
from jobs.services import cancel_job, retry_job, run_job
from projects.models import Project
from tests.dialogues.conftest import Import, chats
from tests.dialogues.reading import example_file

BROKEN = '{"messages": [{"role": "user", "content": 3}]}\n'


def texts() -> list[str]:
    return list(Utterance.objects.order_by("dialogue_id", "position").values_list("text", flat=True))


# --- what is stored ---


def test_progress_counts_bytes_of_the_file(imported: Import) -> None:
    job = imported(chats("hi", "ho"))
    assert (job.done, job.total) == (job.parameters["size"], job.parameters["size"])


@pytest.mark.parametrize("format", [name for name, each in FORMATS.items() if not each.protocol])
def test_the_example_of_every_format_is_imported(imported: Import, format: str) -> None:
    job = imported(example_file(FORMATS[format]), format)
    assert job.state == JobState.DONE
    assert job.result["stored"] == job.result["dialogues"] == Dialogue.objects.count() > 0
    assert job.result["utterances"] == Utterance.objects.count()


def test_a_dialogue_is_stored_whole(imported: Import) -> None:
    row = {
        "id": "d1",
        "language": "zh",
        "domain": "film",
        "site": "x",
        "messages": [
            {"role": "甲", "content": "你好", "time": "10:00", "mood": "glad"},
            {"role": "乙", "content": "好"},
        ],
    }
    job = imported(json.dumps(row))
    dialogue = Dialogue.objects.get()
    assert (dialogue.external_id, dialogue.language, dialogue.domain) == ("d1", "zh", "film")
    assert (dialogue.metadata, dialogue.utterance_count, dialogue.import_job) == ({"site": "x"}, 2, job)
    assert (dialogue.origin, dialogue.state) == (Origin.IMPORTED, DialogueState.FINISHED)
    assert dialogue.split in Split
    first, second = utterances_of(dialogue)
    assert (first.position, first.speaker, first.text, first.time) == (0, "甲", "你好", "10:00")
    assert (first.metadata, first.action, first.candidate_set) == ({"mood": "glad"}, "", None)
    assert (second.position, second.speaker, second.time) == (1, "乙", "")


def test_diamante_keeps_candidates_and_how_the_utterance_came_about(imported: Import) -> None:
    reply = {
        "utterance": "Hello!",
        "response_candidates": ["Hey", "", "Hello"],
        "action": "revise",
        "source": 2,
        "edit_distance": 1,
        "model_version": "plato@1",
    }
    imported(
        json.dumps({"conversation": [{"utterance": "Hi", "response_candidates": []}, reply]}), "diamante"
    )
    opening, answer = utterances_of(Dialogue.objects.get())
    assert opening.candidate_set is None
    assert answer.candidate_set is not None
    assert [candidate["text"] for candidate in answer.candidate_set.candidates] == ["Hey", "", "Hello"]
    assert set(answer.candidate_set.candidates[0]) == {"text", "seed", "tokens", "logprob", "score"}
    assert (answer.candidate_set.position, answer.candidate_set.model_version) == (1, "plato@1")
    assert (answer.action, answer.source, answer.edit_distance) == ("revise", 2, 1)


def test_a_model_version_without_candidates_is_not_lost(imported: Import) -> None:
    imported(json.dumps({"conversation": [{"utterance": "Hi", "model_version": "m@1"}]}), "diamante")
    assert Utterance.objects.get().metadata == {"model_version": "m@1"}


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "مرحبا שלום 你好", "a\\tb\\N\n\\.", "'; DROP TABLE x; --"]
)
def test_any_text_is_stored_verbatim(imported: Import, text: str) -> None:
    imported(chats(text))
    assert texts() == [text]


def test_dialogues_keep_the_order_of_the_file(imported: Import) -> None:
    imported(chats(*(str(number) for number in range(1200))))
    assert texts() == [str(number) for number in range(1200)]


def test_queries_of_a_batch_do_not_grow_with_it(
    chitchat: Project, start: Import, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    job = start(chats("Hi"))
    turns = tuple(ParsedUtterance("A", "Hi", candidates=("a", "b")) for _ in range(10))
    batch = [ParsedDialogue(number, f"d{number}", turns) for number in range(300)]
    with django_assert_max_num_queries(12):
        store_batch(project=chitchat, job=job, batch=batch)
    assert CandidateSet.objects.count() == 3000


# --- refused rows ---


def test_skip_leaves_the_refused_rows_out_and_names_them(imported: Import) -> None:
    job = imported(chats("a") + BROKEN + chats("b") + "{\n")
    assert (job.state, texts()) == (JobState.DONE, ["a", "b"])
    assert (job.result["stored"], job.result["refused"]) == (2, 2)
    first, second = import_errors(job)
    assert (first.line, first.reason) == (2, "messages[0].content must be text, is a number.")
    assert (second.line, second.code) == (4, "line_cut_off")


def test_stop_stores_nothing_when_a_row_is_refused(imported: Import) -> None:
    job = imported(chats(*map(str, range(1200))) + BROKEN, on_error="stop")
    assert (job.state, Dialogue.objects.count()) == (JobState.FAILED, 0)
    assert job.error == "Nothing was imported: 1 row is refused."
    assert [error.line for error in import_errors(job)] == [1201]


def test_stop_imports_a_file_without_refused_rows(imported: Import) -> None:
    assert imported(chats("a"), on_error="stop").state == JobState.DONE


@pytest.mark.parametrize("on_error", ["skip", "stop"])
def test_a_file_that_cannot_be_read_to_its_end_stores_nothing(imported: Import, on_error: str) -> None:
    rows = "".join(f"d{number % 2},A,x\n" for number in range(3000))
    job = imported("dialogue_id,speaker,text\nfirst,A,Hi\n" + rows, "csv", on_error=on_error)
    assert (job.state, Dialogue.objects.count()) == (JobState.FAILED, 0)
    assert job.remedy.startswith("Put all rows of one dialogue below each other")


def test_a_file_of_refused_rows_only_fails(imported: Import) -> None:
    job = imported(BROKEN * 3)
    assert (job.state, job.result["refused"]) == (JobState.FAILED, 3)


def test_a_file_of_blank_lines_fails(imported: Import) -> None:
    assert imported("\n\n").error == "The file holds no dialogue."


def test_a_refused_import_that_fails_otherwise_when_started_again_says_so(imported: Import) -> None:
    job = imported(BROKEN * 3)
    Job.objects.update(state=JobState.QUEUED, parameters={})
    job = run_job(job_id=job.pk)
    assert explain_failed_import(job) == ("Something unexpected went wrong.", "See the log of the worker.")


def test_errors_are_counted_in_full_and_kept_in_part(imported: Import) -> None:
    job = imported(chats("a") + BROKEN * 300)
    assert job.result["refused"] == 300
    assert len(job.result["errors"]) == MAX_REPORTED_ERRORS


def test_neither_part_of_a_torn_dialogue_is_stored(imported: Import) -> None:
    job = imported("dialogue_id,speaker,text\nd1,A,a\nd2,A,b\nd1,B,c\n", "csv")
    assert (job.state, texts()) == (JobState.DONE, ["b"])
    assert (job.result["dialogues"], job.result["refused"]) == (1, 1)


def test_an_id_used_twice_in_a_file_is_refused(imported: Import) -> None:
    job = imported(chats("a", "b", id="d1"))
    assert texts() == ["a"]
    assert [error.code for error in import_errors(job)] == ["id_twice"]


# --- again ---


def test_the_same_file_again_stores_nothing_and_says_so(imported: Import) -> None:
    first, second = imported(chats("a", "b")), imported(chats("a", "b"))
    assert (second.state, Dialogue.objects.count()) == (JobState.DONE, 2)
    assert (second.result["stored"], second.result["already_there"]) == (0, 2)
    assert second.result["same_as"] == str(first.pk)


def test_the_same_file_brings_back_what_was_deleted(imported: Import) -> None:
    imported(chats("a", "b"))
    Dialogue.objects.first().delete()  # type: ignore[union-attr]
    job = imported(chats("a", "b"))
    assert (job.result["stored"], job.result["already_there"]) == (1, 1)
    assert sorted(texts()) == ["a", "b"]


def test_the_same_file_is_imported_into_another_project(imported: Import) -> None:
    other = Project.objects.create(slug="other", title="Other", protocol="authoring")
    imported(chats("a"))
    imported(chats("a"), project=other)
    assert Dialogue.objects.filter(project=other).count() == 1


def test_an_id_that_is_already_there_is_left_as_it_is(imported: Import) -> None:
    imported(chats("a", id="d1"))
    job = imported(chats("changed", id="d1") + chats("b", id="d2"))
    assert texts() == ["a", "b"]
    assert (job.result["stored"], job.result["already_there"]) == (1, 1)


def test_a_longer_file_without_ids_adds_only_what_is_new(imported: Import) -> None:
    imported(chats("a", "b"))
    job = imported(chats("new", "b", "a"))
    assert sorted(texts()) == ["a", "b", "new"]
    assert (job.result["stored"], job.result["already_there"]) == (1, 2)


def test_equal_dialogues_without_ids_are_all_kept(imported: Import) -> None:
    imported(chats("Hi", "Hi", "Hi"))
    assert imported(chats("Hi", "Hi", "Hi", "Ho")).result["stored"] == 1
    assert texts() == ["Hi", "Hi", "Hi", "Ho"]


def test_a_repeated_request_returns_the_first_import(start: Import) -> None:
    submission = uuid4()
    first, second = start(chats("a"), submission_id=submission), start(chats("a"), submission_id=submission)
    assert first.pk == second.pk
    run_job(job_id=first.pk)
    assert texts() == ["a"]


def test_an_id_of_another_project_is_refused(start: Import) -> None:
    other = Project.objects.create(slug="other", title="Other", protocol="authoring")
    job = start(chats("a"))
    with pytest.raises(Refusal) as refused:
        start(chats("a"), project=other, submission_id=job.pk)
    assert refused.value.code == "id_in_use"


def test_a_refused_repeat_leaves_the_file_of_the_first_import(start: Import) -> None:
    job = start(chats("a"))
    with pytest.raises(Refusal):
        start(chats("b"), submission_id=job.pk)
    run_job(job_id=job.pk)
    assert texts() == ["a"]


def test_the_split_follows_the_id(imported: Import) -> None:
    other = Project.objects.create(slug="other", title="Other", protocol="authoring")
    rows = "".join(chats("x", id=f"d{number}") for number in range(200))
    imported(rows)
    imported(rows, project=other)
    splits = [dict(each.dialogues.values_list("external_id", "split")) for each in Project.objects.all()]
    assert splits[0] == splits[1]
    assert set(splits[0].values()) == set(Split)


@pytest.mark.parametrize(("split", "metadata"), [("test", {}), ("valid", {}), ("dev", {"split": "dev"})])
def test_a_split_that_came_with_the_data_is_kept(
    imported: Import, split: str, metadata: dict[str, str]
) -> None:
    imported("".join(chats("x", id=f"d{number}", split=split) for number in range(20)))
    splits = set(Dialogue.objects.values_list("split", flat=True))
    assert splits == {split} if split in Split else len(splits) > 1
    assert Dialogue.objects.filter(metadata=metadata).count() == 20


# --- cancelled ---


def test_a_cancelled_import_keeps_whole_batches_and_continues_when_retried(
    start: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dialogues.services.imports.BATCH_DIALOGUES", 2)
    monkeypatch.setattr("jobs.progress.WRITE_EVERY", 0)
    job = start(chats(*map(str, range(7))))

    def cancel_after_two_batches(job: Job) -> None:
        if job.result.get("stored") == 4:
            cancel_job(job=Job.objects.get(pk=job.pk), actor=None)

    assert run_job(job_id=job.pk, watch=cancel_after_two_batches).state == JobState.CANCELLED
    assert texts() == ["0", "1", "2", "3"]
    retry_job(job=Job.objects.get(pk=job.pk), actor=None)
    done = run_job(job_id=job.pk)
    assert (done.state, done.result["stored"], done.result["already_there"]) == (JobState.DONE, 7, 0)
    assert texts() == list("0123456")


# --- the file ---


def files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file() and path.name != MARKER]


@pytest.mark.parametrize("on_error", ["skip", "stop"])
def test_the_file_is_removed_when_the_import_ends(imported: Import, files_root: Path, on_error: str) -> None:
    imported(chats("a") + BROKEN, on_error=on_error)
    assert files(files_root) == []


def test_an_import_without_its_file_fails_with_a_reason(start: Import, files_root: Path) -> None:
    job = start(chats("a"))
    uploads.delete_upload(job.pk)
    assert run_job(job_id=job.pk).error == "The file of this import is no longer there."


def test_an_import_killed_when_all_is_stored_is_done(start: Import, files_root: Path) -> None:
    job = start(chats("a", "b") + BROKEN)
    Job.objects.update(state=JobState.RUNNING)
    job.refresh_from_db()
    said = run_import_job(job, Progress(job))  # and then the worker dies
    assert files(files_root) == []
    Job.objects.update(state=JobState.QUEUED)
    done = run_job(job_id=job.pk)
    assert (done.state, done.error, done.result) == (JobState.DONE, "", said)
    assert (done.result["stored"], done.refused_rows.count(), done.done) == (2, 1, done.total)


def test_a_worker_that_was_taken_for_dead_leaves_the_file_to_the_next(
    start: Import, files_root: Path
) -> None:
    job = start(chats("a"))
    Job.objects.update(state=JobState.RUNNING)
    job.refresh_from_db()

    def is_taken_over(job: Job) -> None:
        Job.objects.update(attempts=2)

    run_import_job(job, Progress(job, watch=is_taken_over))
    assert len(files(files_root)) == 1


def test_the_threads_of_a_tree_share_a_split(imported: Import) -> None:
    """Their first messages are the same: in another split they would leak."""
    rows = [{"id": f"root{tree}", "parent": None, "text": f"Question {tree}"} for tree in range(60)]
    rows += [
        {"id": f"{tree}-{n}", "parent": f"root{tree}", "text": f"Answer {n}"}
        for tree in range(60)
        for n in range(8)
    ]
    imported(json.dumps(rows), "json", map="id=id,parent=parent,text=text")
    assert Dialogue.objects.count() == 480
    splits: dict[str, set[str]] = {}
    for name, split in Dialogue.objects.values_list("external_id", "split"):
        splits.setdefault(name.split("-")[0], set()).add(split)
    assert all(len(each) == 1 for each in splits.values())
    assert set.union(*splits.values()) == set(Split)


def test_the_same_file_with_another_map_is_another_import(imported: Import) -> None:
    data = json.dumps({"a": [["Hi"]], "b": [["Ho"]]})
    assert imported(data, "json", map="dialogues=a").result["stored"] == 1
    assert imported(data, "json", map="dialogues=b").result["stored"] == 1
    assert imported(data, "json", map="dialogues=a").result["same_as"]


def test_progress_of_a_packed_file_counts_the_bytes_that_were_sent(imported: Import) -> None:
    job = imported(gzip.compress(chats(*"ab" * 500).encode()))
    assert (job.result["stored"], job.done) == (1000, job.parameters["size"])


def test_an_empty_file_is_refused(start: Import, files_root: Path) -> None:
    with pytest.raises(Refusal) as refused:
        start(b"")
    assert str(refused.value.message) == "The file is empty."
    assert (Job.objects.count(), files(files_root)) == (0, [])


def test_too_large_a_file_is_refused_and_leaves_nothing(
    start: Import, files_root: Path, settings: Settings
) -> None:
    settings.IMPORT_MAX_BYTES = 3 * 1024**2
    with pytest.raises(Refusal) as refused:
        start(b"x" * (3 * 1024**2 + 1))
    assert str(refused.value.message) == "The file is larger than 3 MB."
    assert (Job.objects.count(), files(files_root)) == (0, [])


class FullDisk:
    """Gives a chunk, then fails as a write to a full disk does."""

    chunks = 1

    def read(self, size: int = -1, /) -> bytes:
        if not self.chunks:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.chunks -= 1
        return b"x"


def test_a_full_disk_is_reported_and_leaves_nothing(chitchat: Project, files_root: Path) -> None:
    with pytest.raises(Refusal) as refused:
        start_import(
            project=chitchat, actor=None, source=FullDisk(), name="f", format="eou", submission_id=uuid4()
        )
    assert (refused.value.code, refused.value.status) == ("disk_full", 507)
    assert (Job.objects.count(), files(files_root)) == (0, [])


@pytest.mark.parametrize("options", [{"format": "word"}, {"on_error": "ignore"}])
def test_unknown_choices_are_refused(start: Import, options: dict[str, str]) -> None:
    with pytest.raises(Refusal) as refused:
        start(**({"data": "x"} | options))
    assert refused.value.remedy


def test_an_archived_project_takes_no_import(start: Import, chitchat: Project) -> None:
    chitchat.archived_at = chitchat.created_at
    with pytest.raises(Refusal, match="archived"):
        start("x")
