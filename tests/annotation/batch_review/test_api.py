"""The REST API of batches."""

from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from annotation.batch_review.models import BatchPlan, Judgement, Sample, SampleItem
from annotation.batch_review.services.cutting import cut_batches
from annotation.batch_review.services.verdicts import accept_round
from annotation.labelling.services.planning import plan_labelling
from annotation.tasks.models.rounds import Round
from projects.models import Project, Role
from projects.services import set_member
from tests.annotation.batch_review.conftest import diqad_answers, judge_all, judge_item, sample_items, seeded
from tests.annotation.conftest import Joins, imported

JSON = "application/json"
ANSWERS = {"2": diqad_answers(2), "1": diqad_answers(1)}


@pytest.fixture(autouse=True)
def _no_reservations() -> None:
    cache.clear()


def post(client: Client, address: str, expected: int = 200, **sent: object) -> dict[str, Any]:
    response = client.post(f"/api/v1/{address}", sent, JSON)
    assert response.status_code == expected, response.content
    body: dict[str, Any] = response.json()
    return body


def get(client: Client, address: str, expected: int = 200) -> dict[str, Any]:
    response = client.get(f"/api/v1/{address}")
    assert response.status_code == expected, response.content
    body: dict[str, Any] = response.json()
    return body


def test_an_engineer_cuts_once_and_lists_rounds_in_pages(
    client: Client, quality: Project, joins: Joins
) -> None:
    imported(quality, 5)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    client.force_login(joins("eric", quality, Role.ENGINEER))
    sent: dict[str, Any] = {"id": str(uuid4()), "size": 2, "groups": [], "with_rest": False}
    for _send in range(2):
        assert [
            entry["number"] for entry in post(client, "projects/quality/batches/", 201, **sent)["batches"]
        ] == [1, 2]
    page = get(client, "projects/quality/rounds/?page_size=1")
    [newest] = page["results"]
    assert (newest["batch"], newest["state"], newest["total"], newest["done"]) == (2, "open", 2, 0)
    [older] = client.get(page["next"]).json()["results"]
    assert older["batch"] == 1
    assert get(client, "projects/quality/rounds/?state=sealed")["results"] == []


def test_the_list_of_rounds_does_not_read_their_history(
    client: Client, quality: Project, sealed: Round, mara: User
) -> None:
    """Only the pages show when a round made its last step."""
    client.force_login(mara)
    with CaptureQueriesContext(connection) as seen:
        assert len(get(client, "projects/quality/rounds/")["results"]) == 1
    assert not [query["sql"] for query in seen.captured_queries if "projects_event" in query["sql"]]
    assert "page_size" in get(client, "projects/quality/rounds/?page_size=x", 400)["field"]


def test_the_number_of_queries_does_not_grow_with_rounds(
    client: Client, quality: Project, carla: User, django_assert_max_num_queries: Any
) -> None:
    imported(quality, 40)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    client.force_login(carla)
    cut_batches(project=quality, actor=None, cut_id=uuid4(), size=2)
    with django_assert_max_num_queries(8):
        assert len(get(client, "projects/quality/rounds/?page_size=20")["results"]) == 20


def test_annotators_see_no_batches_and_strangers_no_project(
    client: Client, sealed: Round, anna: User, joins: Joins
) -> None:
    client.force_login(anna)
    for address in ("projects/quality/rounds/", f"rounds/{sealed.pk}/", f"rounds/{sealed.pk}/sample/"):
        assert get(client, address, 403)["code"] == "not_allowed"
    client.force_login(joins("otto"))
    assert get(client, f"rounds/{sealed.pk}/", 404)["code"] == "not_found"


def test_sealed_batches_are_opened_again_and_sealed(client: Client, sealed: Round, tina: User) -> None:
    client.force_login(tina)
    assert post(client, f"rounds/{sealed.pk}/unseal/", 400)["code"] == "invalid"
    assert post(client, f"rounds/{sealed.pk}/unseal/", reason="A wrong label.")["state"] == "open"
    assert post(client, f"rounds/{sealed.pk}/group/", 400, group="nowhere")["field"] == "group"
    for _send in range(2):
        assert post(client, f"rounds/{sealed.pk}/seal/")["state"] == "sealed"


def test_controllers_do_not_seal(client: Client, sealed: Round, carla: User) -> None:
    client.force_login(carla)
    assert post(client, f"rounds/{sealed.pk}/seal/", 403)["code"] == "not_allowed"


def test_a_sample_is_drawn_once(client: Client, sealed: Round, carla: User) -> None:
    client.force_login(carla)
    sent: dict[str, Any] = {"id": str(uuid4())}
    with seeded(7):
        first = post(client, f"rounds/{sealed.pk}/sample/", 201, **sent)
    assert (first["seed"], first["cells"], first["left"], first["is_blind"]) == (7, "....", 4, True)
    assert post(client, f"rounds/{sealed.pk}/sample/", 201, **sent)["id"] == first["id"]
    assert post(client, f"rounds/{sealed.pk}/sample/", 409, id=str(uuid4()))["code"] == "already_drawn"
    assert get(client, f"rounds/{sealed.pk}/")["sample"] == first["id"]


def test_a_controller_does_not_choose_the_seed(client: Client, sealed: Round, carla: User) -> None:
    client.force_login(carla)
    refused = post(client, f"rounds/{sealed.pk}/sample/", 400, id=str(uuid4()), seed=7)
    assert "seed" in str(refused)
    assert not Sample.objects.exists()


def test_a_blind_sample_shows_the_label_after_the_judgement(
    client: Client, drawn: Sample, carla: User
) -> None:
    client.force_login(carla)
    [item] = get(client, f"rounds/{drawn.round_id}/sample/next/")["items"]
    assert (item["place"], item["label"], item["judgement"]) == (0, None, None)
    assert get(client, f"sample-items/{item['id']}/")["label"] is None
    progress = get(client, f"rounds/{drawn.round_id}/sample/")["sample_progress"]
    assert {entry["drawn"] for entry in progress["classes"]} == {None}
    assert {entry["population"] for entry in progress["classes"]} == {None}
    address = f"sample-items/{item['id']}/judgements/"
    assert post(client, address, 409, id=str(uuid4()))["code"] == "blind"
    row = SampleItem.objects.get(pk=item["id"])
    sent: dict[str, Any] = {
        "id": str(uuid4()),
        "answers": ANSWERS[row.label],
        "next": 2,
        "held": [item["id"]],
    }
    for _send in range(2):
        judged = post(client, address, 201, **sent)
    assert judged["is_right"]
    assert judged["label"] == row.final.answers
    assert [entry["place"] for entry in judged["next"]] == [1, 2]
    assert {entry["label"] for entry in judged["next"]} == {None}
    assert (judged["cells"], judged["left"], judged["sample_progress"]["judged"]) == ("r...", 3, 1)
    assert Judgement.objects.count() == 1
    assert get(client, f"sample-items/{item['id']}/")["judgement"]["is_right"]


def test_an_open_sample_shows_the_label(client: Client, sealed: Round, carla: User) -> None:
    BatchPlan.objects.update(is_blind=False)
    client.force_login(carla)
    drawn = post(client, f"rounds/{sealed.pk}/sample/", 201, id=str(uuid4()))
    [item] = get(client, f"rounds/{sealed.pk}/sample/next/")["items"]
    assert item["label"]["dialogue"]["quality"] in (1, 2)
    assert sum(entry["drawn"] for entry in drawn["sample_progress"]["classes"]) == 4
    assert post(client, f"sample-items/{item['id']}/judgements/", 201, id=str(uuid4()))["is_right"]


def test_the_first_look_counts_and_a_later_one_is_shown_apart(
    client: Client, drawn: Sample, carla: User
) -> None:
    client.force_login(carla)
    item = sample_items(drawn)[0]
    judge_item(carla, item, right=False)
    address = f"sample-items/{item.pk}/judgements/"
    judged = post(client, address, 201, id=str(uuid4()), answers=ANSWERS[item.label], reason="Read it again.")
    assert (judged["cells"], judged["sample_progress"]["right"], judged["is_right"]) == ("w...", 0, False)
    for own in (judged["judgement"], get(client, f"sample-items/{item.pk}/")["judgement"]):
        assert (own["is_right"], own["later"]["is_right"]) == (False, True)
        assert own["later"]["reason"] == "Read it again."


def test_invalid_answers_are_named(client: Client, drawn: Sample, carla: User) -> None:
    client.force_login(carla)
    address = f"sample-items/{sample_items(drawn)[0].pk}/judgements/"
    wrong = {"dialogue": {"quality": 77}, "utterances": {}}
    refused = post(client, address, 400, id=str(uuid4()), answers=wrong)
    assert refused["code"] == "invalid"
    assert refused["problems"][0]["path"] == "quality"


def test_two_controllers_are_given_different_dialogues(
    client: Client, drawn: Sample, carla: User, chris: User
) -> None:
    address = f"rounds/{drawn.round_id}/sample/next/?count=2"
    client.force_login(carla)
    first = {entry["id"] for entry in get(client, address)["items"]}
    client.force_login(chris)
    second = {entry["id"] for entry in get(client, address)["items"]}
    assert len(first | second) == 4
    client.force_login(carla)
    judge_item(carla, SampleItem.objects.get(pk=min(first)), right=True)
    judge_item(carla, SampleItem.objects.get(pk=max(first)), right=True)
    assert get(client, address)["items"] == []
    cache.clear()  # the reservations expire
    assert {entry["id"] for entry in get(client, address)["items"]} == second


def test_everybody_sees_the_progress_of_a_shared_sample(
    client: Client, drawn: Sample, carla: User, chris: User
) -> None:
    first, second, *_rest = sample_items(drawn)
    judge_item(carla, first, right=False)
    judge_item(chris, second, right=True)
    client.force_login(chris)
    body = get(client, f"rounds/{drawn.round_id}/sample/")
    assert (body["cells"], body["left"], body["sample_progress"]["spare"]) == ("Wr..", 2, 0)
    refused = post(
        client, f"sample-items/{first.pk}/judgements/", 409, id=str(uuid4()), answers=diqad_answers(2)
    )
    assert refused["code"] == "judged_already"


def test_a_second_controller_sees_nothing_of_the_first(
    client: Client, drawn: Sample, carla: User, chris: User
) -> None:
    Sample.objects.update(is_double=True)
    judge_all(carla, drawn, wrong=1)
    client.force_login(chris)
    body = get(client, f"rounds/{drawn.round_id}/sample/")
    assert (body["cells"], body["left"]) == ("....", 4)
    [item] = get(client, f"rounds/{drawn.round_id}/sample/next/")["items"]
    assert (item["place"], item["label"]) == (0, None)


def test_own_work_is_marked_and_not_given_out(
    client: Client, drawn: Sample, anna: User, quality: Project
) -> None:
    set_member(project=quality, actor=None, user=anna, roles=[Role.ANNOTATOR, Role.CONTROLLER])
    client.force_login(anna)
    assert get(client, f"rounds/{drawn.round_id}/sample/")["cells"] == "oooo"
    assert get(client, f"rounds/{drawn.round_id}/sample/next/")["items"] == []


def test_a_verdict_may_be_certain_before_all_is_judged(client: Client, drawn: Sample, carla: User) -> None:
    first, second, *_rest = sample_items(drawn)
    client.force_login(carla)
    judge_item(carla, first, right=False)
    assert post(client, f"rounds/{drawn.round_id}/accept/", 409, id=str(uuid4()))["code"] == "not_decided"
    judge_item(carla, second, right=False)
    progress = get(client, f"rounds/{drawn.round_id}/sample/")["sample_progress"]
    assert (progress["decision"], progress["is_early"], progress["spare"]) == ("return", True, -1)
    assert post(client, f"rounds/{drawn.round_id}/accept/", 409, id=str(uuid4()))["code"] == "fails"
    sent: dict[str, Any] = {"id": str(uuid4()), "reason": "Two of two are wrong."}
    for _send in range(2):
        body = post(client, f"rounds/{drawn.round_id}/return/", **sent)
        assert (body["round"]["state"], body["next"]["round"], body["next"]["state"]) == (
            "returned",
            2,
            "open",
        )
    assert body["round"]["figures"]["early"]
    assert Round.objects.count() == 2


def test_a_class_that_cannot_pass_is_named(client: Client, drawn: Sample, carla: User) -> None:
    Sample.objects.update(class_percent=90, overall_percent=10)
    wrong = sample_items(drawn)[0]
    judge_item(carla, wrong, right=False)
    client.force_login(carla)
    progress = get(client, f"rounds/{drawn.round_id}/sample/")["sample_progress"]
    assert (progress["failing"], progress["decision"]) == ([wrong.label], "return")


def test_a_passing_batch_is_accepted_once(client: Client, drawn: Sample, carla: User) -> None:
    judge_all(carla, drawn, wrong=1)
    client.force_login(carla)
    sent: dict[str, Any] = {"id": str(uuid4()), "reason": "Good work."}
    for _send in range(2):
        body = post(client, f"rounds/{drawn.round_id}/accept/", **sent)
    assert (body["state"], body["ended_by"], body["reason"]) == ("accepted", "carla", "Good work.")
    assert post(client, f"rounds/{drawn.round_id}/return/", 409, id=str(uuid4()), reason="No.")["code"] == (
        "not_in_review"
    )


def accept_with_one_correction(sample: Sample, controller: User) -> SampleItem:
    """Returns the corrected item."""
    judge_all(controller, sample, wrong=1)
    accept_round(controller=controller, round_id=sample.round_id, decision_id=uuid4())
    return sample_items(sample)[0]


def test_annotators_learn_from_ended_rounds_without_names(
    client: Client, drawn: Sample, anna: User, carla: User
) -> None:
    client.force_login(anna)
    assert get(client, "projects/quality/judged/")["results"] == []
    wrong = accept_with_one_correction(drawn, carla)
    page = client.get("/api/v1/projects/quality/judged/")
    assert "carla" not in page.content.decode()
    rows = {row["item"]: row for row in page.json()["results"]}
    assert len(rows) == 4
    assert (rows[wrong.pk]["was_right"], rows[wrong.pk]["reason"]) == (False, "Look again.")


def test_an_appeal_is_raised_once_and_settled_by_a_trainer(
    client: Client, drawn: Sample, anna: User, carla: User, tina: User
) -> None:
    wrong = accept_with_one_correction(drawn, carla)
    sent: dict[str, Any] = {"id": str(uuid4()), "reason": "The question was answered."}
    client.force_login(anna)
    for _send in range(2):
        raised = post(client, f"sample-items/{wrong.pk}/appeals/", 201, **sent)
    assert (raised["state"], raised["correction_reason"]) == ("open", "Look again.")
    address = f"appeals/{raised['id']}/settlement/"
    settlement: dict[str, Any] = {"upheld": True, "settlement": "It was."}
    assert post(client, address, 403, **settlement)["code"] == "not_allowed"
    client.force_login(tina)
    [listed] = get(client, "projects/quality/appeals/?state=open")["results"]
    assert listed["by"] == "anna"
    for _send in range(2):
        assert post(client, address, **settlement)["state"] == "upheld"
    assert get(client, "projects/quality/appeals/?state=open")["results"] == []


def test_people_dispute_only_corrections_of_their_own_work(
    client: Client, drawn: Sample, carla: User, quality: Project, joins: Joins
) -> None:
    wrong = accept_with_one_correction(drawn, carla)
    client.force_login(joins("bela", quality, Role.ANNOTATOR))
    sent: dict[str, Any] = {"id": str(uuid4()), "reason": "No."}
    assert post(client, f"sample-items/{wrong.pk}/appeals/", 403, **sent)["code"] == "not_allowed"
    client.force_login(joins("otto"))
    assert post(client, f"sample-items/{wrong.pk}/appeals/", 404, **sent)["code"] == "not_found"


def test_a_round_without_a_sample_is_not_found(client: Client, sealed: Round, carla: User) -> None:
    client.force_login(carla)
    assert get(client, f"rounds/{sealed.pk}/sample/", 404)["code"] == "not_found"


def test_a_manager_reads_and_changes_the_plan(
    client: Client, quality: Project, mara: User, carla: User
) -> None:
    client.force_login(mara)
    plan = get(client, "projects/quality/batches/plan/")
    assert (plan["sample_size"], plan["overall_percent"], plan["question"]) == (4, "75.00", "quality")
    address = "/api/v1/projects/quality/batches/plan/"
    changed = client.patch(address, {"sample_size": 50, "overall_percent": "92.5"}, JSON).json()
    assert (changed["sample_size"], changed["overall_percent"], changed["class_percent"]) == (
        50,
        "92.50",
        "0.00",
    )
    for wrong in (
        {"question": "nonsense"},
        {"sample_size": 0},
        {"sample_size": 2001},
        {"batch_size": 49},
        {"overall_percent": 101},
        {"sampel_size": 5},
    ):
        response = client.patch(address, wrong, JSON)
        assert (response.status_code, response.headers["Content-Type"]) == (400, "application/problem+json")
    client.force_login(carla)
    assert get(client, "projects/quality/batches/plan/")["sample_size"] == 50
    assert client.patch(address, {"sample_size": 1}, JSON).status_code == 403
    assert BatchPlan.objects.get().sample_size == 50


def test_an_unknown_group_is_refused(client: Client, quality: Project, mara: User) -> None:
    imported(quality, 2)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    client.force_login(mara)
    refused = post(client, "projects/quality/batches/", 400, id=str(uuid4()), groups=["nowhere"])
    assert (refused["code"], refused["field"]) == ("invalid", "group")


def test_boards_in_numbers(client: Client, drawn: Sample, carla: User, mara: User) -> None:
    judge_all(carla, drawn, wrong=1)
    accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    client.force_login(mara)
    boards = get(client, "projects/quality/batches/boards/")
    assert boards["states"] == {"open": 0, "sealed": 0, "in_review": 0, "accepted": 1}
    assert (boards["rounds_needed"], boards["more_than_one"]) == ({"1": 1}, 0)
    [group] = boards["groups"]
    assert (group["group"], group["accepted"], group["rounds"]) == ("", 1, 1)
    [load] = boards["controllers"]
    assert (load["controller"], load["samples"], load["judged"], load["corrected"]) == ("carla", 1, 4, 0.25)
    client.force_login(carla)
    get(client, "projects/quality/batches/boards/", 403)
