"""Dialogues that can leave: imported ones, and ones that ann wrote and carlos judged."""

import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from pytest_django import Settings

from accounts.models import User
from annotation.authoring.services.completion import finish_dialogue
from annotation.authoring.services.planning import plan_dialogues
from annotation.authoring.services.turns import SentTurn, submit_turn, undo_turn
from annotation.expert_review.models import Verdict
from annotation.expert_review.services import submit_verdict
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Refusal
from dialogues.models import CandidateSet, Dialogue
from dialogues.services.imports import start_import
from generation.models import CandidateRequest
from jobs.models import Job, JobState
from jobs.services import run_job
from preference.data.formats.catalogue import FORMATS
from preference.data.formats.writing import export
from preference.data.selectors.selection import Filters, select
from preference.data.services.exports import start_export
from projects.models import Project

Row = dict[str, Any]
Rows = Callable[..., list[Row]]
Written = Callable[..., Dialogue]

EVERYTHING = Filters(include_unreviewed=True)
STRANGE = [
    "春天我家猫开始掉毛了，到处都是",
    "שלום, מה שלומך? hello مرحبا",
    "<script>alert('1')</script> <b>&amp;</b>",
    "two\nlines\tand a tab",
    "line\u2028separator\u2029s, 👩‍👩‍👧 and é é",
    '"quoted", \\ and {"json": [1]}',
]


@pytest.fixture(autouse=True)
def files_root(settings: Settings, tmp_path: Path) -> Path:
    settings.FILES_ROOT = tmp_path / "files"
    settings.MODELS_ROOT = tmp_path / "files" / "models"
    return tmp_path / "files"


def diamante_file(dialogues: int = 3, turns: int = 4) -> list[Row]:
    """Rows as the published data set has them: no ids, 7 candidates a turn, none at the opening."""
    return [
        {
            "conversation": [
                {
                    "utterance": f"{STRANGE[(number + turn) % len(STRANGE)]} {number}.{turn}",
                    "response_candidates": [
                        f"{STRANGE[place % len(STRANGE)]} {number}.{turn}.{place}" for place in range(7)
                    ]
                    if turn
                    else [],
                }
                for turn in range(turns)
            ]
        }
        for number in range(dialogues)
    ]


def as_lines(rows: Iterable[Row]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@pytest.fixture
def imports(project: Project) -> Callable[..., Job]:
    """imports(rows, format) imports them into the project."""

    def imports(rows: Iterable[Row], format: str = "diamante", into: Project | None = None) -> Job:
        job = start_import(
            project=into or project,
            actor=None,
            source=io.BytesIO(as_lines(rows).encode()),
            name="rows.jsonl",
            format=format,
            submission_id=uuid4(),
            enqueue=False,
        )
        done = run_job(job_id=job.pk)
        assert done.state == JobState.DONE, done.error
        return done

    return imports


@pytest.fixture
def rows(project: Project) -> Rows:
    """rows("diamante", filters) exports the project and reads every row back."""

    def rows(format: str, filters: Filters = EVERYTHING, of: Project | None = None) -> list[Row]:
        out = io.BytesIO()
        export(FORMATS[format], select(of or project, filters), out)
        return [json.loads(line) for line in out.getvalue().decode().split("\n") if line]

    return rows


@pytest.fixture
def written(project: Project, mara: User, ann: User, carlos: User) -> Written:
    """written(verdict=…) is a dialogue of ann: an opening, then select, revise, rewrite in turn, one undone."""
    allow_short_dialogues(project)
    return partial(write_dialogue, project, mara, ann, carlos)


def allow_short_dialogues(project: Project) -> None:
    project.authoring.min_rounds = 1
    project.authoring.open_tasks_per_person = 50
    project.authoring.save()


def write_dialogue(
    project: Project,
    mara: User,
    ann: User,
    carlos: User,
    verdict: str | None = None,
    utterances: int = 4,
    finish: bool = True,
) -> Dialogue:
    plan_dialogues(project=project, actor=mara, count=1, plan_id=uuid4())
    held = claim_next_task(annotator=ann, project=project, claim_id=uuid4())
    for position in range(utterances):
        _write(ann, held.pk, held.dialogue, position)
    undone = submit_turn(annotator=ann, assignment_id=held.pk, sent=SentTurn(uuid4(), utterances, "oops"))
    undo_turn(annotator=ann, assignment_id=held.pk, turn_id=undone.turn.pk)
    if finish:
        finish_dialogue(annotator=ann, assignment_id=held.pk)
    if verdict:
        submit_verdict(
            reviewer=carlos, dialogue_id=held.dialogue_id, review_id=uuid4(), verdict=verdict, reason="so"
        )
    return Dialogue.objects.get(pk=held.dialogue_id)


def _write(ann: User, assignment: int, dialogue: Dialogue, position: int) -> None:
    shown = _candidates(dialogue, position) if position else None
    texts = [
        "Hello, I have a cat.",
        f"candidate 2 of {position}",
        f"Candidate 3 of {position}!",
        "All my own words",
    ]
    source = {1: 2, 2: 3}.get(position)
    sent = SentTurn(
        id=uuid4(),
        position=position,
        text=texts[position % 4],
        candidate_set=shown.pk if shown else None,
        source=source,
        active_ms=12_400,
        idle_ms=1500,
    )
    submit_turn(annotator=ann, assignment_id=assignment, sent=sent)


def _candidates(dialogue: Dialogue, position: int) -> CandidateSet:
    """What the model would have answered for this turn."""
    request = CandidateRequest.objects.get(dialogue=dialogue, position=position, wanted_at__isnull=False)
    made = [
        {
            "text": f"candidate {place} of {position}",
            "seed": place,
            "tokens": 4,
            "logprob": -1.5,
            "score": None,
        }
        for place in range(7)
    ]
    shown = CandidateSet.objects.create(
        dialogue=dialogue, position=position, candidates=made, model_version="scripted@1"
    )
    CandidateRequest.objects.filter(pk=request.pk).update(candidate_set=shown, state="done")
    return shown


@pytest.fixture
def exported(project: Project, eric: User) -> Callable[..., Job]:
    """exported("sft", **choices) exports as a job and carries it out, as a worker does."""

    def exported(format: str = "diamante", export_id: UUID | None = None, **choices: Any) -> Job:
        choices = {"include_unreviewed": True} | choices
        made = start_export(
            export_id=export_id or uuid4(), project=project, actor=eric, format=format, **choices
        )
        return run_job(job_id=made.job_id)

    return exported


PASS, VETO = Verdict.PASS, Verdict.VETO


@contextmanager
def refused(code: str) -> Iterator[pytest.ExceptionInfo[Refusal]]:
    """with refused("not_ready"): the service says no with this code."""
    with pytest.raises(Refusal) as said:
        yield said
    assert said.value.code == code
