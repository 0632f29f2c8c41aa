"""Raters get blind copies: nothing in them, in their order or in their speakers tells which system replied."""

import pytest

from accounts.models import User
from annotation.tasks.models.work import Task
from assessment.collections.models import CollectedDialogue, CollectedState, Collection
from assessment.collections.services.handing_over import hand_over
from assessment.sessions.models.conversations import Session
from dialogues.models import Dialogue, DialogueState, Origin
from jobs.models import JobState
from jobs.services import run_job
from projects.models import Project
from tests.assessment.collections.conftest import Collects, FakeSystems
from tests.assessment.collections.raters import rate_everything
from tests.assessment.steps import begin, complete, converse, opened_run

pytestmark = pytest.mark.django_db(transaction=True)


def made(collection: Collection) -> Collection:
    assert run_job(job_id=collection.job_id).state == JobState.DONE
    return collection


def speakers(dialogue: Dialogue | None) -> list[str]:
    assert dialogue is not None
    return list(dialogue.utterances.order_by("position").values_list("speaker", flat=True))


def test_copies_say_nothing_about_the_system(collects: Collects, fakes: FakeSystems, rating: Project) -> None:
    made(collects("static", count=4))
    copies = Dialogue.objects.filter(project=rating)
    assert copies.count() == 12
    assert {(copy.origin, copy.state, str(copy.metadata)) for copy in copies} == {
        (Origin.COLLECTED, DialogueState.FINISHED, "{}")
    }


def test_only_the_last_utterance_of_a_static_dialogue_is_rated(
    collects: Collects, fakes: FakeSystems
) -> None:
    collection = made(collects("static", count=4))
    rows = CollectedDialogue.objects.filter(collection=collection)
    assert len(rows) == 12
    for row in rows:
        *context, reply = speakers(row.dialogue)
        assert reply == "bot"
        assert context == ["bot (context)", "user", "bot (context)", "user"][-len(context) :]


def test_a_self_chat_has_two_speakers_and_one_is_rated(collects: Collects, fakes: FakeSystems) -> None:
    collection = made(collects("self_chat", count=1, rounds=3))
    rows = CollectedDialogue.objects.filter(collection=collection)
    assert len(rows) == 2
    for row in rows:
        assert speakers(row.dialogue) == ["user", "bot", "user", "bot", "user", "bot"]


def test_the_order_of_the_copies_does_not_follow_the_systems(collects: Collects, fakes: FakeSystems) -> None:
    collection = made(collects("static", count=6, seed=1))
    rows = CollectedDialogue.objects.filter(collection=collection).order_by("dialogue_id")
    order = [row.system.name if row.system else "human" for row in rows.select_related("system")]
    assert len({tuple(order[start : start + 3]) for start in range(0, 18, 3)}) > 2
    assert [row.number for row in rows] != sorted(row.number for row in rows)


def test_as_many_people_rate_as_the_target_says(
    collects: Collects, fakes: FakeSystems, rating: Project
) -> None:
    made(collects())
    assert set(Task.objects.filter(project=rating).values_list("overlap", flat=True)) == {3}


def test_handing_over_twice_adds_nothing(collects: Collects, fakes: FakeSystems, rating: Project) -> None:
    collection = made(collects())
    assert hand_over(collection) == 0
    assert Dialogue.objects.filter(project=rating).count() == Task.objects.filter(project=rating).count() == 6


def test_conversations_of_participants_are_collected(
    collects: Collects, study: Project, rating: Project, raters: list[User]
) -> None:
    """Ann completes her assignment, Bob leaves after one conversation; both rated it, so both count."""
    run = opened_run(study)
    complete(begin(study, "ann"))
    first = converse(begin(study, "bob"))
    collection = made(collects("human_bot", source=None, systems=(), run=run))
    rows = CollectedDialogue.objects.filter(collection=collection).select_related("system", "draft")
    ordinary = Session.objects.filter(dialogue__in=[row.draft_id for row in rows])
    assert len(rows) == 5 + (not first.system.is_degraded)
    assert not any(session.system.is_degraded for session in ordinary.select_related("system"))
    for row in rows:
        assert row.state == CollectedState.DONE
        assert row.draft is not None
        assert row.draft.origin == Origin.CHATTED
        assert speakers(row.dialogue) == ["user", "bot", "user", "bot"]
    assert rate_everything(rating, raters, lambda *_: (2, 1)) == 3 * len(rows)
