"""Tagging the dialogues of a project, by a judge in a process of its own, and taking a run back."""

import json
import subprocess
import sys
from typing import Any
from uuid import uuid4

import pytest

from accounts.models import User
from common.refusals import Invalid, NotAllowed, NotFound
from dialogues.models import Dialogue, Utterance
from dialogues.services.topics import store_tags
from jobs.models import JobState
from jobs.services import cancel_job, retry_job, run_job
from preference.topics.files import folder_of_tagging
from preference.topics.job import DIALOGUES, TOPICS
from preference.topics.models import TaggingRun
from preference.topics.services.categories import choose_topic, set_categories
from preference.topics.services.tagging import finish_tagging, start_tagging, undo_tagging
from projects.models import Project
from tests.preference.conftest import refused
from tests.preference.evaluators.conftest import quality as quality
from tests.preference.training.evaluators import judge_server as server_program
from tests.preference.training.evaluators.conftest import judge_server as judge_server

pytestmark = pytest.mark.django_db
AT = {"server": "http://127.0.0.1:9/topics/v1", "server_model": "judge-1"}


def waiting(project: Project, actor: User | None = None, **request: Any) -> TaggingRun:
    chosen = {"run_id": uuid4(), "tagger": "judge", "settings": AT, "enqueue": False, **request}
    return start_tagging(project=project, actor=actor, **chosen)


def carried_out(run: TaggingRun) -> TaggingRun:
    """As a worker of the queue `training` does."""
    job = run_job(job_id=run.job_id)
    assert job.state == JobState.DONE, (job.error, job.remedy)
    return TaggingRun.objects.select_related("job", "project").get(pk=run.pk)


def topics(project: Project) -> list[tuple[str, str]]:
    rows = Dialogue.objects.filter(project=project).order_by("id")
    return list(rows.values_list("topic", "topic_source"))


@pytest.fixture
def tea(quality: Project) -> Project:
    """Two of the three dialogues are about tea."""
    first, second, _third = Dialogue.objects.filter(project=quality).order_by("id")
    Utterance.objects.filter(position=0, dialogue__in=[first, second]).update(text="I drink tea.")
    return quality


def test_a_judge_tags_and_a_run_is_undone(tea: Project, mara: User, judge_server: str) -> None:
    run = carried_out(waiting(tea, mara, settings={**AT, "server": f"{judge_server}/topics/v1"}))
    assert topics(tea) == [("food", "judge"), ("food", "judge"), ("", "")]
    assert (run.tagged, run.unanswered, run.job.done, run.job.total) == (2, 1, 3, 3)
    assert sum(run.reasons.values()) == 1
    assert run.description["questions"][0]["options"][0]["value"] == "society"
    assert not folder_of_tagging(run).exists()
    choose_topic(dialogue=Dialogue.objects.earliest("id"), topic="home", actor=mara)
    for _twice in range(2):
        undo_tagging(run=run, actor=mara)
    assert topics(tea) == [("home", "person"), ("", ""), ("", "")]
    run.refresh_from_db()
    assert run.removed == 1


def test_what_people_and_files_say_is_left_alone(tea: Project, mara: User, judge_server: str) -> None:
    first, second, third = Dialogue.objects.filter(project=tea).order_by("id")
    choose_topic(dialogue=first, topic="home", actor=mara)
    Dialogue.objects.filter(pk=second.pk).update(topic="pets", topic_source="imported")
    Dialogue.objects.filter(pk=third.pk).update(topic="cars", topic_source="model")
    with refused("nothing_to_tag"):
        waiting(tea)
    Utterance.objects.update(text="tea")
    settings = {**AT, "server": f"{judge_server}/topics/v1"}
    assert carried_out(waiting(tea, settings=settings, replaces=True)).tagged == 1
    assert topics(tea) == [("home", "person"), ("pets", "imported"), ("food", "judge")]


def test_a_topic_that_a_person_sets_meanwhile_stays(tea: Project, mara: User) -> None:
    run = waiting(tea)
    dialogues = list(Dialogue.objects.filter(project=tea).order_by("id"))
    rows = [{"id": str(one.pk), "topic": "food", "probability": 0.5} for one in dialogues[:2]]
    rows.append({"id": str(dialogues[2].pk), "topic": "weather"})
    choose_topic(dialogue=dialogues[0], topic="home", actor=mara)
    for _twice in range(2):
        finish_tagging(run=run, rows=rows, description={})
    assert topics(tea) == [("home", "person"), ("food", "judge"), ("", "")]
    assert (run.tagged, run.unanswered) == (1, 1)
    assert run.reasons == {"The project has no topic “weather”.": 1}
    assert Dialogue.objects.get(pk=dialogues[1].pk).topic_probability == 0.5


def test_the_judge_chooses_among_the_topics_of_the_project(tea: Project, judge_server: str) -> None:
    names = [{"id": name, "en": name, "zh": f"话题{name}"} for name in ("food", "rest")]
    set_categories(project=tea, actor=None, categories=names)
    run = carried_out(waiting(tea, settings={**AT, "server": f"{judge_server}/topics/v1"}))
    assert [option["value"] for option in run.description["questions"][0]["options"]] == ["food", "rest"]


def test_a_run_goes_on_behind_the_last_topic(
    tea: Project, mara: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = [sys.executable, str(server_program.__file__)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        port = server.stdout.readline().strip()
        run = waiting(tea, settings={**AT, "server": f"http://127.0.0.1:{port}/topics/v1"})

        def fail(**_: Any) -> None:
            raise RuntimeError("the database is gone")

        with monkeypatch.context() as broken:
            broken.setattr("preference.topics.job.finish_tagging", fail)
            assert run_job(job_id=run.job_id).state == JobState.FAILED
        server.kill()
    assert topics(tea) == [("", "")] * 3
    written = (folder_of_tagging(run) / TOPICS).read_text().splitlines()
    assert [json.loads(line)["topic"] for line in written] == ["food", "food", None]
    run.job.refresh_from_db()
    retry_job(job=run.job, actor=mara, enqueue=False)
    assert carried_out(run).tagged == 2  # the server is gone: nothing was asked again


def test_a_cancelled_run_sets_nothing(tea: Project, mara: User) -> None:
    run = waiting(tea)
    with refused("not_finished"):
        undo_tagging(run=run, actor=mara)
    cancel_job(job=run.job, actor=mara)
    assert run_job(job_id=run.job_id).state == JobState.CANCELLED
    assert topics(tea) == [("", "")] * 3
    assert not (folder_of_tagging(run) / DIALOGUES).exists()


def test_cancelling_while_topics_are_stored_removes_them(
    tea: Project, mara: User, judge_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("preference.topics.services.tagging.STORED_AT_ONCE", 1)
    run = waiting(tea, settings={**AT, "server": f"{judge_server}/topics/v1"})
    stored: list[int] = []

    def store_and_cancel(**values: Any) -> int:
        stored.append(store_tags(**values))
        cancel_job(job=run.job, actor=mara)
        return stored[-1]

    with monkeypatch.context() as patched:
        patched.setattr("preference.topics.services.tagging.store_tags", store_and_cancel)
        assert run_job(job_id=run.job_id).state == JobState.CANCELLED
    assert stored == [1]
    assert topics(tea) == [("", "")] * 3
    undo_tagging(run=run, actor=mara)
    run.job.refresh_from_db()
    retry_job(job=run.job, actor=mara, enqueue=False)
    again = carried_out(run)
    assert (again.tagged, again.removed) == (2, None)


def test_a_server_that_does_not_answer_fails_the_run_in_words(tea: Project) -> None:
    job = run_job(job_id=waiting(tea).job_id)
    assert (job.state, bool(job.error), bool(job.remedy)) == (JobState.FAILED, True, True)


def test_the_same_id_is_the_same_run(tea: Project) -> None:
    run = waiting(tea)
    assert waiting(tea, run_id=run.pk) == run
    with refused("id_in_use"):
        waiting(tea, run_id=run.pk, replaces=True)


def test_wrong_requests_are_refused(tea: Project, joins: Any) -> None:
    eric = joins("eric", tea, "engineer")
    requests: list[dict[str, Any]] = [
        {"tagger": "person"},
        {"settings": {}},
        {"settings": {**AT, "question": "quality"}},
        {"settings": {**AT, "server": "file:///etc"}},
        {"model": "m"},
        {"tagger": "model"},
    ]
    for request in requests:
        with pytest.raises(Invalid):
            waiting(tea, eric, **request)
    with pytest.raises(NotAllowed):
        waiting(tea, eric, settings={**AT, "api_key_env": "LAPIDARY_KEY_JUDGE"})
    with pytest.raises(NotFound):
        waiting(tea, eric, tagger="model", model="/etc")
