"""Starting a collection: once per id, from dialogues of people only, and only what can be collected."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any
from uuid import uuid4

import pytest
from django.db import connections
from django.utils import timezone

from accounts.models import User
from annotation.project_setup.services import create_project
from assessment.collections.models import CollectedDialogue, Collection
from assessment.systems.models import Connector, System
from common.refusals import Invalid, NotAllowed, Refusal
from dialogues.models import Dialogue, Origin, ReviewState, Split
from jobs.models import Job
from projects.models import Project, Role
from tests.assessment.collections.conftest import Collects, add_dialogue
from tests.assessment.steps import opened_run
from tests.conftest import Joins


def contexts(collection: Collection) -> list[Any]:
    rows = CollectedDialogue.objects.filter(collection=collection).order_by("number", "pk")
    return list(rows.values_list("context", flat=True))


def test_every_system_gets_the_same_contexts(collects: Collects) -> None:
    collection = collects("static", count=3)
    for number in (1, 2, 3):
        rows = CollectedDialogue.objects.filter(collection=collection, number=number)
        by_system = {row.system.name if row.system else "": row.context for row in rows}
        assert set(by_system) == {"a", "b", ""}
        assert by_system["a"] == by_system["b"] == by_system[""][:-1]
        assert by_system[""][-1][0] == ""  # the human reply


def test_the_human_reply_can_be_left_out(collects: Collects) -> None:
    collection = collects("static", with_human=False)
    assert not CollectedDialogue.objects.filter(collection=collection, system=None).exists()


def test_a_collection_sent_twice_is_one(collects: Collects) -> None:
    key = uuid4()
    assert collects(collection_id=key) == collects(collection_id=key)
    assert Collection.objects.count() == Job.objects.count() == 1
    with pytest.raises(Refusal, match="already used"):
        collects(collection_id=key, count=3)


def test_a_seed_chooses_the_same_contexts_again(collects: Collects) -> None:
    assert contexts(collects(seed=7)) == contexts(collects(seed=7))


def test_a_source_with_fewer_dialogues_gives_what_it_has(collects: Collects) -> None:
    assert CollectedDialogue.objects.filter(collection=collects("self_chat", count=50)).count() == 6 * 2


def test_openings_are_different_texts(collects: Collects, source: Project) -> None:
    add_dialogue(source, "0.0", "again")
    openings = {row[0][1] for row in contexts(collects("self_chat", count=50))}
    assert openings == {f"{n}.0" for n in range(6)}


def test_blank_and_lonely_utterances_do_not_cost_a_context(collects: Collects, source: Project) -> None:
    for _ in range(20):
        add_dialogue(source, "Hello?", "  ")
    assert CollectedDialogue.objects.filter(collection=collects("self_chat", count=6)).count() == 6 * 2


def test_contexts_come_from_the_test_split_if_there_is_one(collects: Collects, source: Project) -> None:
    add_dialogue(source, "held out", "yes", split=Split.TEST)
    assert {row[0][1] for row in contexts(collects("self_chat"))} == {"held out"}
    assert len({row[0][1] for row in contexts(collects("self_chat", count=50, any_split=True))}) == 7


@pytest.mark.parametrize("origin", [Origin.CHATTED, Origin.COLLECTED])
def test_chats_with_systems_are_not_a_source(collects: Collects, source: Project, origin: str) -> None:
    """Participants were promised that nobody else sees what they wrote; and a system's reply is not a human's."""
    Dialogue.objects.filter(project=source).update(origin=origin)
    with pytest.raises(Invalid, match="no finished dialogue"):
        collects()


def test_vetoed_dialogues_are_not_a_source(collects: Collects, source: Project) -> None:
    Dialogue.objects.filter(project=source).update(review_state=ReviewState.VETOED)
    with pytest.raises(Invalid, match="no finished dialogue"):
        collects()
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"kind": "oral"}, "kind"),
        ({"systems": ()}, "systems"),
        ({"source": None}, "source"),
        ({"count": 0}, "count"),
        ({"kind": "self_chat", "rounds": 0}, "rounds"),
        ({"kind": "human_bot"}, "run"),
    ],
)
def test_an_impossible_collection_names_the_field(
    collects: Collects, changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        collects(**changes)
    assert refused.value.details["field"] == field


def test_the_target_is_a_labelling_project_in_use(
    collects: Collects, source: Project, rating: Project
) -> None:
    with pytest.raises(Invalid, match="labelling project"):
        collects(target=source)
    rating.archived_at = timezone.now()
    with pytest.raises(Invalid, match="labelling project"):
        collects(target=rating)


def test_retired_and_imported_systems_are_not_asked(collects: Collects, pair: tuple[System, ...]) -> None:
    System.objects.filter(pk=pair[0].pk).update(retired_at=timezone.now())
    System.objects.filter(pk=pair[1].pk).update(connector=Connector.IMPORTED)
    for system in System.objects.filter(pk__in=[pair[0].pk, pair[1].pk]):
        with pytest.raises(Invalid, match="still take part"):
            collects(systems=(system,))


def test_a_service_that_remembers_conversations_cannot_be_given_a_context(
    collects: Collects, pair: tuple[System, ...]
) -> None:
    System.objects.filter(pk=pair[0].pk).update(connector=Connector.HTTP)
    systems = tuple(System.objects.filter(pk=pair[0].pk))
    with pytest.raises(Invalid, match="cannot be given a context"):
        collects("static", systems=systems)
    collects("self_chat", systems=systems)


def test_a_system_named_twice_is_asked_once(collects: Collects, pair: tuple[System, ...]) -> None:
    collection = collects(systems=(pair[0], pair[0]), with_human=False)
    assert CollectedDialogue.objects.filter(collection=collection).count() == 2


def test_nobody_shows_raters_what_they_may_not_read(
    collects: Collects, joins: Joins, study: Project, rating: Project, source: Project
) -> None:
    outsider = joins("olga", study, Role.MANAGER)
    with pytest.raises(NotAllowed, match="labelling project"):
        collects(actor=outsider)
    joins("olga", rating, Role.MANAGER)
    with pytest.raises(NotAllowed, match="may not read"):
        collects(actor=outsider)
    joins("olga", source, Role.CONTROLLER)
    collects(actor=outsider)


def test_too_many_dialogues_are_refused(collects: Collects, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assessment.collections.services.starting.MAX_DIALOGUES", 5)
    with pytest.raises(Refusal, match="at most 5"):
        collects("static", count=2)
    assert not Collection.objects.exists()


def test_a_run_of_another_project_is_refused(
    collects: Collects, mara: User, study: Project, rating: Project
) -> None:
    other = create_project(slug="other", preset="live-assessment", actor=mara, title="Other")
    System.objects.filter(project=study, connector=Connector.DEGRADED).update(project=other)
    System.objects.filter(project=study, name="e").update(project=other)
    run = opened_run(other)
    with pytest.raises(Invalid, match="run of this project"):
        collects("human_bot", source=None, systems=(), run=run)


@pytest.mark.django_db(transaction=True)
def test_a_collection_sent_twice_at_once_is_one(collects: Collects) -> None:
    key, start = uuid4(), Barrier(4, timeout=30)

    def send(_n: int) -> Collection:
        try:
            start.wait()
            return collects(collection_id=key)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert {collection.pk for collection in pool.map(send, range(4))} == {key}
    assert (Collection.objects.count(), Job.objects.count(), CollectedDialogue.objects.count()) == (1, 1, 6)
