"""Topic models: trained on a snapshot from topics that people and files gave, then used to tag."""

import json
from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from common.refusals import Invalid
from dialogues.models import Dialogue
from jobs.models import JobState
from jobs.services import run_job
from preference.registry.models import ModelKind
from preference.runs.files import folder_of_run
from preference.runs.models import TrainingRun
from preference.runs.services.trainings import start_training
from preference.topics.models import TaggingRun
from preference.topics.services.tagging import start_tagging
from projects.models import Project
from tests.preference.conftest import refused
from tests.preference.labelled import labelled_project, labelled_snapshot
from tests.preference.learning import carried_out, snapshot_of
from tests.preference.learning import fakes as fakes

pytestmark = pytest.mark.django_db(transaction=True)
SMALL = {"epochs": 1, "hidden": 16, "layers": 1, "heads": 2, "vocabulary": 300, "max_length": 64}


def give_topics(project: Project, *topics: str, source: str = "person") -> None:
    """The dialogues have these topics in turn; "" leaves one without."""
    for place, dialogue in enumerate(Dialogue.objects.filter(project=project).order_by("id")):
        topic = topics[place % len(topics)]
        values = {"topic": topic, "topic_source": source if topic else ""}
        Dialogue.objects.filter(pk=dialogue.pk).update(**values)


def waiting(project: Project, actor: User, **asked: Any) -> TrainingRun:
    snapshot = labelled_snapshot(project, actor)
    chosen: dict[str, Any] = {"models": ["majority", "gru"], "changes": SMALL, **asked}
    return start_training(
        run_id=uuid4(), project=project, actor=actor, snapshot=snapshot, kind=ModelKind.TOPICS, **chosen
    )


@pytest.mark.usefixtures("fakes")
def test_it_learns_what_people_and_files_said(mara: User) -> None:
    project = labelled_project(mara, [0, 1, 2, 0, 1, 2])
    give_topics(project, "finance", "pets", "")
    Dialogue.objects.filter(external_id="d3").update(topic_source="judge")
    run = carried_out(waiting(project, mara))
    assert run.job.state == JobState.DONE, run.job.error
    assert run.options == {"models": ["majority", "gru"]}
    folder = folder_of_run(run)
    rows = [json.loads(line) for line in (folder / "labelled.jsonl").read_text().splitlines()]
    assert [(row["id"], row["topic"]) for row in rows] == [("d0", "finance"), ("d1", "pets"), ("d4", "pets")]
    assert [one["id"] for one in json.loads((folder / "categories.json").read_text())] == ["finance", "pets"]
    assert (run.model.kind, run.model.slug, run.model.generator) == ("topics", "quality-topics-1", None)
    assert run.model.report["chosen"] == "gru"


@pytest.mark.usefixtures("fakes")
def test_authored_dialogues_can_be_learned_too(project: Project, mara: User) -> None:
    snapshot = snapshot_of(project)
    run = start_training(
        run_id=uuid4(), project=project, actor=mara, snapshot=snapshot, kind=ModelKind.TOPICS
    )
    failed = carried_out(run)
    assert failed.job.state == JobState.FAILED
    assert "fewer than two topics" in failed.job.error


def test_baselines_alone_cannot_be_kept(mara: User) -> None:
    project = labelled_project(mara)
    with pytest.raises(Invalid):
        waiting(project, mara, models=["majority"])


@pytest.mark.slow
def test_a_trained_model_tags_the_rest(mara: User) -> None:
    project = labelled_project(mara, [0, 1, 2] * 14)
    give_topics(project, "finance", "pets", "finance", "pets", "finance", "")
    trained = carried_out(waiting(project, mara))
    assert trained.job.state == JobState.DONE, (trained.job.error, trained.job.remedy)
    run = start_tagging(
        run_id=uuid4(), project=project, actor=mara, tagger="model", model=trained.model.slug, enqueue=False
    )
    job = run_job(job_id=run.job_id)
    assert job.state == JobState.DONE, (job.error, job.remedy)
    run = TaggingRun.objects.get(pk=run.pk)
    assert (run.tagged, run.unanswered, run.description["evaluator"]) == (7, 0, "topics")
    tagged = Dialogue.objects.filter(project=project, topic_source="model")
    assert {one.topic for one in tagged} <= {"finance", "pets"}
    assert all(0.5 <= (one.topic_probability or 0) <= 1 for one in tagged)
    with refused("wrong_kind"):
        start_training(
            run_id=uuid4(),
            project=project,
            actor=mara,
            snapshot=trained.snapshot,
            kind=ModelKind.ASSESSOR,
            model=trained.model.slug,
        )
