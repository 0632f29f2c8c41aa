"""The pages of batches: who sees and does what, and what they say."""

from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from annotation.models import Appeal, AppealState, Batch, BatchPlan, FinalLabel, Round, RoundState, Sample
from annotation.services.judging import raise_appeal, return_round
from annotation.services.planning import plan_labelling
from projects.models import Project
from projects.services import set_group
from tests.annotation.batches.conftest import cut, items, judges, judges_all, label
from tests.annotation.conftest import imported


def page(client: Client, user: User, name: str, *args: object) -> tuple[int, str]:
    client.force_login(user)
    answer = client.get(reverse(name, args=args))
    return answer.status_code, answer.content.decode()


def send(client: Client, user: User, name: str, *args: object, **data: object) -> tuple[int, str]:
    client.force_login(user)
    answer = client.post(reverse(name, args=args), data)
    return answer.status_code, answer.content.decode()


def test_batches_are_cut_and_planned_from_the_page(client: Client, batched: Project, mara: User) -> None:
    imported(batched, 5)
    plan_labelling(project=batched, actor=None, plan_id=uuid4())
    assert "5 dialogues are in no batch" in page(client, mara, "batches", "quality")[1]
    cut_id = uuid4()
    for _send in range(2):
        sent = send(client, mara, "batches_cut", "quality", size=2, with_rest="on", cut_id=cut_id)
        assert sent[0] == 302
    assert Batch.objects.count() == 3
    plan = {
        "batch_size": 50, "sample_size": 20, "overall_percent": "92.5", "class_percent": 90, "question": "quality",
        "double_every": 3, "relabel": "other",
    }  # fmt: skip
    assert send(client, mara, "batches_plan", "quality", **plan)[0] == 302
    stored = BatchPlan.objects.get(project=batched)
    assert (stored.sample_size, float(stored.overall_percent), stored.is_blind, stored.relabel) == (
        20,
        92.5,
        False,
        "other",
    )
    assert send(client, mara, "batches_plan", "quality", **plan | {"sample_size": 0})[0] == 422


def test_a_cut_that_finds_nothing_says_why(client: Client, batched: Project, mara: User) -> None:
    status, html = send(client, mara, "batches_cut", "quality", size=2, cut_id=uuid4())
    assert status == 422
    assert "not enough dialogues" in html


def test_annotators_see_no_batches(client: Client, batched: Project, anna: User) -> None:
    assert page(client, anna, "batches", "quality")[0] == 403


def test_controllers_do_not_change_the_plan(client: Client, batched: Project, carla: User) -> None:
    status, html = page(client, carla, "batches", "quality")
    assert (status, "batches/plan" in html) == (200, False)
    assert send(client, carla, "batches_plan", "quality")[0] == 403


def test_drawing_leads_to_the_sample(client: Client, sealed: Round, carla: User) -> None:
    assert "Draw a sample" in page(client, carla, "batch", "quality", 1)[1]
    client.force_login(carla)
    address = reverse("round_draw", args=["quality", sealed.pk])
    request_id = str(uuid4())
    for _send in range(2):
        assert client.post(address, {"request_id": request_id}).url == "/p/quality/batches/1/sample/"  # type: ignore[attr-defined]
    assert Sample.objects.count() == 1


def test_the_batch_says_what_the_sample_says(client: Client, drawn: Sample, carla: User) -> None:
    judges(carla, items(drawn)[0], right=True)
    html = page(client, carla, "batch", "quality", 1)[1]
    assert "1 of 4 judged" in html
    assert f"seed {drawn.seed}" in html
    assert "Accept the batch" not in html
    assert "What is mistaken" not in html  # while it is judged, nothing tells a label


def test_it_is_accepted_from_the_page(client: Client, drawn: Sample, carla: User) -> None:
    judges_all(carla, drawn)
    assert "Accept the batch" in page(client, carla, "batch", "quality", 1)[1]
    request_id = uuid4()
    for _send in range(2):
        assert send(client, carla, "round_accept", "quality", drawn.round_id, request_id=request_id)[0] == 302
    assert "Its labels may leave" in page(client, carla, "batch", "quality", 1)[1]


def test_it_is_returned_with_a_reason_that_its_page_keeps(client: Client, drawn: Sample, carla: User) -> None:
    judges_all(carla, drawn, wrong=3)
    html = page(client, carla, "batch", "quality", 1)[1]
    assert "All 8 labels are withdrawn" in html
    status, html = send(
        client, carla, "round_return", "quality", drawn.round_id, request_id=uuid4(), reason=""
    )
    assert (status, "Say why the batch goes back" in html) == (400, True)
    sent = send(
        client, carla, "round_return", "quality", drawn.round_id, request_id=uuid4(), reason="Too mild."
    )
    assert sent[0] == 302
    html = page(client, carla, "batch", "quality", 1)[1]
    assert "Too mild." in html
    assert "Round 2" in html
    assert not FinalLabel.objects.filter(superseded_at=None).exists()


def test_two_verdicts_at_once_the_second_is_told(
    client: Client, drawn: Sample, carla: User, chris: User
) -> None:
    judges_all(carla, drawn)
    send(client, carla, "round_accept", "quality", drawn.round_id, request_id=uuid4())
    status, html = send(
        client, chris, "round_return", "quality", drawn.round_id, request_id=uuid4(), reason="No."
    )
    assert (status, "verdict on this batch is given" in html) == (409, True)


def test_a_sealed_batch_is_opened_again_and_changes_hands(
    client: Client, batched: Project, sealed: Round, anna: User, mara: User
) -> None:
    set_group(project=batched, actor=None, user=anna, group="east")
    send(client, mara, "round_unseal", "quality", sealed.pk, reason="The guidelines changed.")
    send(client, mara, "round_group", "quality", sealed.pk, group="east")
    sealed.refresh_from_db()
    assert (sealed.state, sealed.group) == (RoundState.OPEN, "east")
    send(client, mara, "round_seal", "quality", sealed.pk)
    sealed.refresh_from_db()
    assert sealed.state == RoundState.SEALED


def test_annotators_see_their_accuracy_and_appeal(
    client: Client, drawn: Sample, anna: User, carla: User, tina: User
) -> None:
    judges_all(carla, drawn, wrong=2)
    assert "Nothing was judged yet" in page(client, anna, "accuracy", "quality")[1]
    return_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4(), reason="Look again.")
    html = page(client, anna, "accuracy", "quality")[1]
    assert "2 of 4 right" in html
    assert "carla" not in html
    wrong = items(drawn)[0]
    assert send(client, anna, "appeal", "quality", wrong.pk, reason="It is right.", own=1)[0] == 302
    made = Appeal.objects.get()
    assert send(client, anna, "appeal_settle", "quality", made.pk, upheld=1, settlement="Mine.")[0] == 403
    assert "It is right." in page(client, tina, "appeals", "quality")[1]
    send(client, tina, "appeal_settle", "quality", made.pk, upheld=1, settlement="Yes.")
    made.refresh_from_db()
    assert made.state == AppealState.UPHELD


def test_a_broken_settlement_is_told(
    client: Client, drawn: Sample, anna: User, carla: User, tina: User
) -> None:
    judges_all(carla, drawn, wrong=2)
    made = raise_appeal(by=anna, item_id=items(drawn)[0].pk, appeal_id=uuid4(), reason="No.")
    send(client, tina, "appeal_settle", "quality", made.pk, upheld=1, settlement="")
    assert "Give the reason" in page(client, tina, "appeals", "quality")[1]


@pytest.mark.parametrize("count", [3, 30])
def test_the_list_costs_the_same(
    client: Client,
    batched: Project,
    anna: User,
    carla: User,
    mara: User,
    count: int,
    django_assert_max_num_queries: object,
) -> None:
    cut(batched, 2)
    label(batched, anna, [2, 2])
    imported(batched, count)
    plan_labelling(project=batched, actor=None, plan_id=uuid4())
    send(client, mara, "batches_cut", "quality", size=1, cut_id=uuid4())
    client.force_login(carla)
    with django_assert_max_num_queries(24):  # type: ignore[operator]
        assert client.get(reverse("batches", args=["quality"])).status_code == 200
