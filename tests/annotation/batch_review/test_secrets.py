"""What a controller must not learn before judging: labels of a blind sample, and what the first controller found."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from annotation.batch_review.models import BatchPlan, Sample, SampleItem
from annotation.batch_review.services.appeals import raise_appeal
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.verdicts import accept_round
from annotation.labelling.selectors.disagreement import most_disagreed
from annotation.tasks.models.rounds import Round
from annotation.tasks.models.work import Task
from projects.models import Project, Role
from projects.services import set_member
from tests.annotation.batch_review.conftest import items, judges, judges_all, says

BATCH = "/p/quality/batches/1/"
HIDDEN = "You may be the one who judges it"


def dialogue(client: Client, reader: User, item: SampleItem) -> str:
    client.force_login(reader)
    answer = client.get(f"/p/quality/dialogues/{item.task.dialogue_id}/")
    assert answer.status_code == 200
    return answer.content.decode()


def batch_page(client: Client, reader: User) -> str:
    client.force_login(reader)
    return client.get(BATCH).content.decode()


def is_told(page: str) -> bool:
    """Whether the final label or somebody's answers are on the page of a dialogue."""
    assert ("Final label" in page) == ("Answers, person by person" in page) == (HIDDEN not in page)
    return HIDDEN not in page


def test_a_dialogue_of_a_blind_sample_tells_no_label(client: Client, drawn: Sample, carla: User) -> None:
    first, second, *_rest = items(drawn)
    assert not is_told(dialogue(client, carla, first))
    judges(carla, first, right=True)
    assert is_told(dialogue(client, carla, first))
    assert not is_told(dialogue(client, carla, second))


def test_what_was_not_drawn_is_read_as_before(client: Client, drawn: Sample, carla: User) -> None:
    others = drawn.round.tasks.exclude(drawn__sample=drawn)
    for task in others:
        client.force_login(carla)
        assert is_told(client.get(f"/p/quality/dialogues/{task.dialogue_id}/").content.decode())


def test_who_judges_nothing_reads_labels(
    client: Client, drawn: Sample, mara: User, anna: User, quality: Project
) -> None:
    first = items(drawn)[0]
    assert is_told(dialogue(client, mara, first))
    set_member(project=quality, actor=None, user=anna, roles=[Role.ANNOTATOR, Role.CONTROLLER])
    assert is_told(dialogue(client, anna, first))  # her own work, which she cannot judge


def test_of_a_shared_sample_what_another_judged_is_read(
    client: Client, drawn: Sample, carla: User, chris: User
) -> None:
    first = items(drawn)[0]
    judges(carla, first, right=True)
    assert is_told(dialogue(client, chris, first))
    Sample.objects.update(is_double=True)
    assert not is_told(dialogue(client, chris, first))


def test_after_the_verdict_everything_is_read(
    client: Client, drawn: Sample, carla: User, chris: User
) -> None:
    judges_all(carla, drawn)
    accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    assert is_told(dialogue(client, chris, items(drawn)[0]))


def test_an_open_sample_hides_nothing(client: Client, sealed: Round, carla: User) -> None:
    BatchPlan.objects.update(is_blind=False)
    sample = draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())
    assert is_told(dialogue(client, carla, items(sample)[0]))


@pytest.fixture
def doubled(drawn: Sample, carla: User) -> Sample:
    """Carla has judged all of it, half of it wrong."""
    Sample.objects.update(is_double=True)
    drawn.refresh_from_db()
    judges_all(carla, drawn, wrong=2)
    return drawn


def test_the_second_controller_counts_alone(client: Client, doubled: Sample, chris: User) -> None:
    judges(chris, items(doubled)[3], right=True)
    client.force_login(chris)
    said = client.get(f"/api/v1/rounds/{doubled.round_id}/sample/").json()
    assert (said["standing"]["judged"], said["standing"]["right"]) == (1, 1)
    assert (said["standing"]["decision"], said["standing"]["spare"], said["cells"]) == ("open", 1, "...r")
    shown = batch_page(client, chris)
    for told in ("Look again.", "mistaken", "The sample fails", "2 / 4"):
        assert told not in shown
    assert "1 / 4" in shown


def test_who_has_ended_sees_both(client: Client, doubled: Sample, carla: User, chris: User) -> None:
    assert "The sample fails" in batch_page(client, carla)
    judges_all(chris, doubled, wrong=1)
    shown = batch_page(client, chris)
    assert "Two controllers judged 4 dialogues; they agree on 3" in shown
    assert "The sample fails" in shown  # the first one's judgements count


def test_managers_see_how_far_it_is(client: Client, doubled: Sample, mara: User) -> None:
    assert "4 / 4" in batch_page(client, mara)


def test_what_people_disagreed_on_stays_hidden_from_who_may_judge_it(
    client: Client, drawn: Sample, quality: Project, tina: User, mara: User
) -> None:
    """A trainer may judge samples, too."""
    first = items(drawn)[0]
    Task.objects.filter(pk=first.task_id).update(disagreement=0.5)
    for reader, expected in ((tina, []), (mara, [first.task])):
        assert [case.task for case in most_disagreed(quality, reader=reader).cases] == expected
    Round.objects.filter(pk=drawn.round_id).update(state="accepted", ended_at=timezone.now())
    assert [case.task for case in most_disagreed(quality, reader=tina).cases] == [first.task]


def test_a_decided_dispute_tells_no_label_either(
    client: Client, drawn: Sample, tina: User, mara: User
) -> None:
    address = f"disputes/{items(drawn)[0].task_id}/"
    client.force_login(tina)
    page, api = client.get(f"/p/quality/{address}?anew=1"), client.get(f"/api/v1/{address}")
    assert (page.status_code, api.status_code) == (403, 403)
    assert HIDDEN in page.content.decode()
    assert HIDDEN in api.json()["detail"]


def proposed(client: Client, trainer: User, item: SampleItem) -> Any:
    """The answers with which the page that makes a gold dialogue begins."""
    client.force_login(trainer)
    answer = client.get(f"/p/quality/training/gold/{item.task.dialogue_id}/")
    assert answer.status_code == 200
    return answer.context["data"]["answers"]


def test_right_answers_of_a_gold_dialogue_begin_empty_for_who_may_judge_it(
    client: Client, drawn: Sample, tina: User
) -> None:
    first, second, *_rest = items(drawn)
    assert proposed(client, tina, first) is None
    judges(tina, first, right=True)
    assert proposed(client, tina, first) == says(int(first.label))
    assert proposed(client, tina, second) is None
    Round.objects.filter(pk=drawn.round_id).update(state="accepted", ended_at=timezone.now())
    assert proposed(client, tina, second) == says(int(second.label))


def listed(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/api/v1/projects/quality/appeals/").json()["results"]
    return found


@pytest.mark.parametrize("is_blind", [True, False])
def test_who_may_be_the_second_to_judge_reads_no_appeal(
    client: Client, doubled: Sample, anna: User, tina: User, is_blind: bool
) -> None:
    Sample.objects.update(is_blind=is_blind)
    wrong = items(doubled)[0]
    made = raise_appeal(by=anna, item_id=wrong.pk, appeal_id=uuid4(), reason="It was fine.")
    client.force_login(tina)
    assert listed(client) == []
    assert "It was fine." not in client.get("/p/quality/appeals/").content.decode()
    settles: dict[str, Any] = {"upheld": True, "settlement": "It was."}
    address = f"/api/v1/appeals/{made.pk}/settlement/"
    assert client.post(address, settles, "application/json").status_code == 404
    judges(tina, wrong, right=True)
    assert [one["reason"] for one in listed(client)] == ["It was fine."]


def test_who_may_be_the_second_to_judge_disputes_nothing(client: Client, doubled: Sample, tina: User) -> None:
    wrong, sent = items(doubled)[0], {"id": str(uuid4()), "reason": "Why?"}
    client.force_login(tina)
    address = f"/api/v1/sample-items/{wrong.pk}/appeals/"
    refused = client.post(address, sent, "application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    assert HIDDEN in refused.json()["detail"]
    judges(tina, wrong, right=True)
    assert client.post(address, sent, "application/json").status_code == 201
