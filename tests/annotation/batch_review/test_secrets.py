"""What a controller must not learn before judging: labels of a blind sample, and the first controller's results."""

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
from tests.annotation.batch_review.conftest import diqad_answers, judge_all, judge_item, sample_items

BATCH = "/p/quality/batches/1/"
HIDDEN = "You may have to judge this dialogue"


def dialogue(client: Client, reader: User, item: SampleItem) -> str:
    client.force_login(reader)
    answer = client.get(f"/p/quality/dialogues/{item.task.dialogue_id}/")
    assert answer.status_code == 200
    return answer.content.decode()


def batch_page(client: Client, reader: User) -> str:
    client.force_login(reader)
    return client.get(BATCH).content.decode()


def shows_label(page: str) -> bool:
    """Whether the page of a dialogue shows its final label and people's answers."""
    assert ("Final label" in page) == ("Answers, person by person" in page) == (HIDDEN not in page)
    return HIDDEN not in page


def test_a_dialogue_of_a_blind_sample_shows_no_label(client: Client, drawn: Sample, carla: User) -> None:
    first, second, *_rest = sample_items(drawn)
    assert not shows_label(dialogue(client, carla, first))
    judge_item(carla, first, right=True)
    assert shows_label(dialogue(client, carla, first))
    assert not shows_label(dialogue(client, carla, second))


def test_labels_of_a_blind_sample_are_not_found_by_their_value(
    client: Client, drawn: Sample, carla: User, mara: User
) -> None:
    def found_by(reader: User) -> set[int]:
        client.force_login(reader)
        addresses = [f"/p/quality/dialogues/?final=quality%3D{value}" for value in (2, 1, 0, -1, -2)]
        return {
            dialogue.pk for address in addresses for dialogue, _actions in client.get(address).context["rows"]
        }

    secret = {item.task.dialogue_id for item in sample_items(drawn)}
    assert secret <= found_by(mara)
    assert found_by(carla) == found_by(mara) - secret


def test_dialogues_outside_the_sample_show_their_labels(client: Client, drawn: Sample, carla: User) -> None:
    others = drawn.round.tasks.exclude(drawn__sample=drawn)
    for task in others:
        client.force_login(carla)
        assert shows_label(client.get(f"/p/quality/dialogues/{task.dialogue_id}/").content.decode())


def test_people_who_cannot_judge_read_labels(
    client: Client, drawn: Sample, mara: User, anna: User, quality: Project
) -> None:
    first = sample_items(drawn)[0]
    assert shows_label(dialogue(client, mara, first))
    set_member(project=quality, actor=None, user=anna, roles=[Role.ANNOTATOR, Role.CONTROLLER])
    assert shows_label(dialogue(client, anna, first))  # her own work, which she cannot judge


def test_a_label_that_another_controller_judged_is_shown(
    client: Client, drawn: Sample, carla: User, chris: User
) -> None:
    first = sample_items(drawn)[0]
    judge_item(carla, first, right=True)
    assert shows_label(dialogue(client, chris, first))
    Sample.objects.update(is_double=True)
    assert not shows_label(dialogue(client, chris, first))


def test_after_the_verdict_every_label_is_shown(
    client: Client, drawn: Sample, carla: User, chris: User
) -> None:
    judge_all(carla, drawn)
    accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    assert shows_label(dialogue(client, chris, sample_items(drawn)[0]))


def test_an_open_sample_hides_nothing(client: Client, sealed: Round, carla: User) -> None:
    BatchPlan.objects.update(is_blind=False)
    sample = draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())
    assert shows_label(dialogue(client, carla, sample_items(sample)[0]))


@pytest.fixture
def doubled(drawn: Sample, carla: User) -> Sample:
    """A sample that two controllers judge. Carla has judged all of it, half of it wrong."""
    Sample.objects.update(is_double=True)
    drawn.refresh_from_db()
    judge_all(carla, drawn, wrong=2)
    return drawn


def test_the_second_controller_sees_only_their_own_judgements(
    client: Client, doubled: Sample, chris: User
) -> None:
    judge_item(chris, sample_items(doubled)[3], right=True)
    client.force_login(chris)
    sample = client.get(f"/api/v1/rounds/{doubled.round_id}/sample/").json()
    assert (sample["sample_progress"]["judged"], sample["sample_progress"]["right"]) == (1, 1)
    assert (sample["sample_progress"]["decision"], sample["sample_progress"]["spare"], sample["cells"]) == (
        "open",
        1,
        "...r",
    )
    page = batch_page(client, chris)
    for hidden in ("Look again.", "mistaken", "Return the batch: ", "2 / 4"):
        assert hidden not in page
    assert "1 / 4" in page


def test_controllers_who_have_finished_see_both(
    client: Client, doubled: Sample, carla: User, chris: User
) -> None:
    assert "Return the batch: " in batch_page(client, carla)
    judge_all(chris, doubled, wrong=1)
    page = batch_page(client, chris)
    assert "Two controllers judged 4 dialogues; they agree on 3" in page
    assert "Return the batch: " in page  # the first one's judgements count


def test_managers_see_the_progress(client: Client, doubled: Sample, mara: User) -> None:
    assert "4 / 4" in batch_page(client, mara)


def test_disagreements_are_hidden_from_people_who_may_judge_them(
    client: Client, drawn: Sample, quality: Project, tina: User, mara: User
) -> None:
    """A trainer may judge samples as well."""
    first = sample_items(drawn)[0]
    Task.objects.filter(pk=first.task_id).update(disagreement=0.5)
    for reader, expected in ((tina, []), (mara, [first.task])):
        assert [case.task for case in most_disagreed(quality, reader=reader).cases] == expected
    Round.objects.filter(pk=drawn.round_id).update(state="accepted", ended_at=timezone.now())
    assert [case.task for case in most_disagreed(quality, reader=tina).cases] == [first.task]


def test_a_decided_dispute_shows_no_label_either(
    client: Client, drawn: Sample, tina: User, mara: User
) -> None:
    address = f"disputes/{sample_items(drawn)[0].task_id}/"
    client.force_login(tina)
    page, api = client.get(f"/p/quality/{address}?again=1"), client.get(f"/api/v1/{address}")
    assert (page.status_code, api.status_code) == (403, 403)
    assert HIDDEN in page.content.decode()
    assert HIDDEN in api.json()["detail"]


def proposed_gold(client: Client, trainer: User, item: SampleItem) -> Any:
    """The answers that the page of a gold dialogue proposes."""
    client.force_login(trainer)
    answer = client.get(f"/p/quality/training/gold/{item.task.dialogue_id}/")
    assert answer.status_code == 200
    return answer.context["data"]["answers"]


def test_no_gold_answers_are_proposed_to_people_who_may_judge_the_label(
    client: Client, drawn: Sample, tina: User
) -> None:
    first, second, *_rest = sample_items(drawn)
    assert proposed_gold(client, tina, first) is None
    judge_item(tina, first, right=True)
    assert proposed_gold(client, tina, first) == diqad_answers(int(first.label))
    assert proposed_gold(client, tina, second) is None
    Round.objects.filter(pk=drawn.round_id).update(state="accepted", ended_at=timezone.now())
    assert proposed_gold(client, tina, second) == diqad_answers(int(second.label))


def list_appeals(client: Client) -> list[dict[str, Any]]:
    appeals: list[dict[str, Any]] = client.get("/api/v1/projects/quality/appeals/").json()["results"]
    return appeals


@pytest.mark.parametrize("is_blind", [True, False])
def test_a_possible_second_controller_reads_no_appeal(
    client: Client, doubled: Sample, anna: User, tina: User, is_blind: bool
) -> None:
    Sample.objects.update(is_blind=is_blind)
    wrong = sample_items(doubled)[0]
    appeal = raise_appeal(by=anna, item_id=wrong.pk, appeal_id=uuid4(), reason="It was fine.")
    client.force_login(tina)
    assert list_appeals(client) == []
    assert "It was fine." not in client.get("/p/quality/appeals/").content.decode()
    settlement: dict[str, Any] = {"upheld": True, "settlement": "It was."}
    address = f"/api/v1/appeals/{appeal.pk}/settlement/"
    assert client.post(address, settlement, "application/json").status_code == 404
    judge_item(tina, wrong, right=True)
    assert [appeal["reason"] for appeal in list_appeals(client)] == ["It was fine."]


def test_a_possible_second_controller_disputes_nothing(client: Client, doubled: Sample, tina: User) -> None:
    wrong, sent = sample_items(doubled)[0], {"id": str(uuid4()), "reason": "Why?"}
    client.force_login(tina)
    address = f"/api/v1/sample-items/{wrong.pk}/appeals/"
    refused = client.post(address, sent, "application/json")
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    assert HIDDEN in refused.json()["detail"]
    judge_item(tina, wrong, right=True)
    assert client.post(address, sent, "application/json").status_code == 201
