"""Pages of batches: cutting, the plan, one batch with its verdict, and the boards."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from annotation.batch_review.models import BatchPlan, Sample
from annotation.batch_review.services.cutting import cut_batches
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.verdicts import return_round
from annotation.labelling.services.planning import plan_labelling
from annotation.overview.selectors import overviews
from annotation.tasks.models.rounds import Batch, Round, RoundState
from frontend.pages.labelling.workbench import count_submitted
from projects.models import Project, Role
from tests.annotation.batch_review.conftest import (
    cut_one_batch,
    get_page,
    judge_all,
    judge_item,
    label_next,
    post_form,
    sample_items,
)
from tests.annotation.conftest import Joins, imported

LIST, BATCH = "/p/quality/batches/", "/p/quality/batches/1/"


def test_mara_cuts_batches_once(client: Client, quality: Project, mara: User) -> None:
    imported(quality, 8)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    sent = {"size": 4, "with_rest": "on", "cut_id": uuid4()}
    for _again in range(2):
        assert post_form(client, mara, f"{LIST}cut/", **sent).status_code == 302
    assert [batch.size for batch in Batch.objects.all()] == [4, 4]
    assert "Batch 2" in get_page(client, mara, LIST)


def test_cutting_nothing_says_why(client: Client, quality: Project, mara: User) -> None:
    response = post_form(client, mara, f"{LIST}cut/", size=4, cut_id=uuid4())
    assert response.status_code == 422
    assert "not enough dialogues" in response.content.decode()


def test_mara_changes_the_plan(client: Client, quality: Project, mara: User) -> None:
    sent = {
        "batch_size": 50, "sample_size": 10, "overall_percent": "95", "class_percent": "0",
        "question": "quality", "is_blind": "on", "double_every": 3, "relabel": "other",
    }  # fmt: skip
    assert post_form(client, mara, f"{LIST}plan/", **sent).status_code == 302
    plan = BatchPlan.objects.get()
    assert (plan.batch_size, int(plan.overall_percent), plan.relabel) == (50, 95, "other")
    assert not plan.is_stratified
    assert 'name="overall_percent" value="95"' in get_page(client, mara, LIST)


def test_a_plan_with_an_unknown_question_is_refused(client: Client, quality: Project, mara: User) -> None:
    response = post_form(client, mara, f"{LIST}plan/", question="nonsense")
    assert response.status_code == 422
    assert BatchPlan.objects.get().question == "quality"


def test_carla_draws_on_the_page(client: Client, sealed: Round, carla: User) -> None:
    sent = {"request_id": uuid4()}
    for _again in range(2):
        response = post_form(client, carla, f"/p/quality/rounds/{sealed.pk}/draw/", **sent)
        assert response.headers["Location"] == f"{BATCH}sample/"
    assert Sample.objects.get().pk == sent["request_id"]


def test_a_passing_sample_is_accepted(client: Client, drawn: Sample, carla: User) -> None:
    judge_all(carla, drawn)
    assert "Accept the batch" in get_page(client, carla, BATCH)
    post_form(client, carla, f"/p/quality/rounds/{drawn.round_id}/accept/", request_id=uuid4())
    assert Round.objects.get().state == RoundState.ACCEPTED


def test_a_failing_batch_is_returned_with_a_reason(client: Client, failed: Sample, carla: User) -> None:
    address, sent = f"/p/quality/rounds/{failed.round_id}/return/", {"request_id": uuid4(), "confirm": "8"}
    without = post_form(client, carla, address, **sent)
    assert "Say why the batch goes back" in without.content.decode()
    assert str(sent["request_id"]) in without.content.decode()
    for _again in range(2):
        assert (
            post_form(client, carla, address, **sent, reason="Read twice.", group="plan").status_code == 302
        )
    states = Round.objects.order_by("number").values_list("state", flat=True)
    assert list(states) == [RoundState.RETURNED, RoundState.OPEN]


@pytest.mark.parametrize("typed", ["", "7", "88"])
def test_a_return_is_confirmed_with_its_number(
    client: Client, failed: Sample, carla: User, typed: str
) -> None:
    address = f"/p/quality/rounds/{failed.round_id}/return/"
    refused = post_form(client, carla, address, request_id=uuid4(), reason="Read twice.", confirm=typed)
    assert refused.status_code == 400
    assert "Type 8 to confirm" in refused.content.decode()
    assert "Read twice." in refused.content.decode()
    assert Round.objects.get().state == RoundState.IN_REVIEW


def test_carla_undoes_a_return(client: Client, returned: Round, carla: User) -> None:
    page = get_page(client, carla, BATCH)
    assert "Round 1 was returned, and its 8 labels are withdrawn." in page
    sent = {"decision_id": re.findall(r'name="decision_id" value="(.*?)"', page)[0]}
    assert (
        post_form(client, carla, f"/p/quality/rounds/{returned.pk}/undo-return/", **sent).status_code == 409
    )
    first = Round.objects.get(number=1)
    for _again in range(2):
        address = f"/p/quality/rounds/{first.pk}/undo-return/"
        assert post_form(client, carla, address, **sent).headers["Location"] == BATCH
    assert Round.objects.get().state == RoundState.IN_REVIEW
    assert "Undo the return" not in get_page(client, carla, BATCH)


def test_a_return_that_somebody_works_on_says_why_it_stays(
    client: Client, returned: Round, carla: User, anna: User
) -> None:
    label_next(returned.project, anna, [1])
    page = get_page(client, carla, BATCH)
    assert "Undo the return" not in page
    assert "Somebody has already worked on the next round" in page


def test_an_accepted_batch_speaks_of_no_earlier_return(client: Client, returned: Round, carla: User) -> None:
    assert "Round 1 was returned" in get_page(client, carla, BATCH)
    Round.objects.filter(number=2).update(state=RoundState.ACCEPTED, ended_at=timezone.now())
    page = get_page(client, carla, BATCH)
    assert "Round 1 was returned" not in page
    assert "can no longer be undone" not in page


def test_the_verdict_is_said_in_counts(client: Client, failed: Sample, carla: User) -> None:
    page = get_page(client, carla, BATCH)
    assert "Return the batch: 2 of 4 are wrong; at most 1 may be." in page
    assert "2 to 6 of the 8 labels" in page
    assert "at most 1 wrong of 4 (at least 75 % right)" in page
    assert page.count("rule: at most 1 of 4") == 2  # in a wide and in a narrow plot
    assert page.index("How the sample was drawn") < page.index(f"the seed {failed.seed}")


def test_a_class_that_decides_is_named(client: Client, drawn: Sample, carla: User) -> None:
    Sample.objects.update(class_percent=90, overall_percent=10)
    judge_all(carla, drawn, wrong=1)
    page = get_page(client, carla, BATCH)
    assert "Return the batch: of the class “" in page
    assert "is wrong, and at most 0 may be." in page


@pytest.mark.parametrize(
    ("is_blind", "class_percent", "words"),
    [
        (False, 0, "of all 8, at most 2 may be."),
        (False, 75, "of all 8, at most 1 may be, and none of the class “1 · "),
        (False, 90, "of all 8, at most 0 may be."),
        (True, 75, "of all 8, at most 2 may be, and of no class more than 25 %."),
        (True, 90, "of all 8, at most 0 may be."),
    ],
)
def test_the_headline_heeds_the_classes(
    client: Client, sealed: Round, carla: User, is_blind: bool, class_percent: int, words: str
) -> None:
    BatchPlan.objects.update(is_blind=is_blind, class_percent=class_percent, sample_size=8)
    draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())
    page = get_page(client, carla, BATCH)
    assert f"Not decided yet: nothing is judged yet; {words}" in page
    for limits in ("they make acceptance rarer", "The plot shows the overall rule only"):
        assert (limits in page) == (class_percent > 0)


def test_the_list_names_the_rule_of_the_classes(client: Client, quality: Project, carla: User) -> None:
    assert "75 % must be right." in get_page(client, carla, LIST)
    BatchPlan.objects.update(class_percent=60)
    assert "75 % must be right, and 60 % of every class." in get_page(client, carla, LIST)


def test_the_start_page_leads_to_the_batch_that_waits(
    client: Client, drawn: Sample, carla: User, chris: User, mara: User
) -> None:
    straight = f'href="{BATCH}"'
    assert straight in get_page(client, carla, "/")
    assert straight in get_page(client, chris, "/")
    judge_item(carla, sample_items(drawn)[0], right=True)
    for item in sample_items(drawn)[1:]:
        judge_item(chris, item, right=True)
    assert straight in get_page(client, carla, "/")  # for the verdict
    Round.objects.update(state=RoundState.ACCEPTED)
    assert straight not in get_page(client, carla, "/")


def test_a_batch_that_waits_for_other_controllers_is_not_offered(
    client: Client, drawn: Sample, carla: User, anna: User, joins: Joins
) -> None:
    joins("anna", drawn.round.project, Role.ANNOTATOR, Role.CONTROLLER)  # who labelled every dialogue of it
    assert f'href="{BATCH}"' not in get_page(client, anna, "/")
    page = get_page(client, anna, BATCH)
    assert "Nothing in this sample waits for you" in page
    assert "Continue judging" not in page
    assert "Not decided yet: nothing is judged yet; of all 4, at most" in page
    assert "Continue judging" in get_page(client, carla, BATCH)


def test_the_previous_round_keeps_its_page(client: Client, returned: Round, carla: User) -> None:
    page = get_page(client, carla, f"{BATCH}?round=1")
    assert "Read twice." in page
    assert "The verdict rested on 2 right of 4 judged." in page
    assert "What is mistaken for what?" in page


def test_a_sample_in_review_shows_no_label(client: Client, drawn: Sample, carla: User) -> None:
    for item in sample_items(drawn)[:-1]:
        judge_item(carla, item, right=item.place != 0)
    page = get_page(client, carla, BATCH)
    judged = {item.label for item in sample_items(drawn)[:-1]}
    for name in drawn.classes:
        assert (f'dir="auto">{name} · ' in page) == (name in judged)
    assert "mistaken" not in page
    assert "Look again." not in page


def test_a_refused_return_keeps_its_reason(client: Client, failed: Sample, carla: User, chris: User) -> None:
    address = f"/p/quality/rounds/{failed.round_id}/return/"
    refused = post_form(client, carla, address, request_id=uuid4(), reason="Read. " * 1000, confirm="8")
    assert "Read. " * 999 in refused.content.decode()
    return_round(controller=chris, round_id=failed.round_id, decision_id=uuid4(), reason="Too hasty.")
    late = post_form(client, carla, address, request_id=uuid4(), reason="Read both halves.", confirm="8")
    assert late.status_code == 409
    assert "Read both halves." in late.content.decode()  # although the batch is no longer in review


def test_a_refused_opening_keeps_its_reason(client: Client, sealed: Round, mara: User, carla: User) -> None:
    address = f"/p/quality/rounds/{sealed.pk}/unseal/"
    refused = post_form(client, mara, address, reason="Wrong. " * 1000)
    assert f'value="{"Wrong. " * 1000}"' in refused.content.decode()
    draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())
    late = post_form(client, mara, address, reason="The guidelines changed.")
    assert late.status_code == 409
    assert "The guidelines changed." in late.content.decode()


@pytest.mark.parametrize("act", ["seal", "unseal", "group"])
def test_carla_configures_nothing(client: Client, sealed: Round, carla: User, act: str) -> None:
    response = post_form(client, carla, f"/p/quality/rounds/{sealed.pk}/{act}/", reason="x")
    assert response.status_code == 403


def test_mara_unseals_a_batch_but_does_not_judge(client: Client, sealed: Round, mara: User) -> None:
    assert post_form(client, mara, f"/p/quality/rounds/{sealed.pk}/draw/").status_code == 403
    post_form(client, mara, f"/p/quality/rounds/{sealed.pk}/unseal/", reason="A mistake.")
    sealed.refresh_from_db()
    assert sealed.state == RoundState.OPEN


def test_boards_are_downloadable(client: Client, returned: Round, mara: User) -> None:
    page = get_page(client, mara, f"{LIST}boards/")
    assert "Whose batches are accepted?" in page
    assert (
        page.count('class="mark c1 faint"') == page.count('<circle class="mark') > 0
    )  # one round is below 5
    numbers = get_page(client, mara, f"{LIST}boards/groups.csv")
    assert "Everybody,0,1,0.0" in numbers
    assert get_page(client, mara, f"{LIST}boards/load.svg").startswith("<svg")
    assert client.get(f"{LIST}boards/nonsense.csv").status_code == 404


def test_boards_without_batches(client: Client, quality: Project, mara: User) -> None:
    assert "Nothing to show yet" in get_page(client, mara, f"{LIST}boards/")


@pytest.mark.parametrize(
    ("address", "most"), [(LIST, 26), (BATCH, 30), (f"{BATCH}?round=1", 30), (f"{LIST}boards/", 22)]
)
def test_queries_are_bounded(
    client: Client,
    returned: Round,
    mara: User,
    address: str,
    most: int,
    django_assert_max_num_queries: Any,
) -> None:
    get_page(client, mara, address)
    with django_assert_max_num_queries(most):
        get_page(client, mara, address)


def test_an_open_batch_shows_its_progress(client: Client, quality: Project, mara: User) -> None:
    cut_one_batch(quality)
    assert "0 of 8 dialogues have their final label" in get_page(client, mara, BATCH)


@pytest.mark.parametrize(("language", "words"), [("en", "Rate the quality"), ("zh-hans", "质量判断")])
def test_the_plan_names_questions_in_words(
    client: Client, quality: Project, mara: User, language: str, words: str
) -> None:
    client.force_login(mara)
    page = client.get(LIST, headers={"accept-language": language}).content.decode()
    assert f'<option value="quality" selected>{words}' in page


def test_a_round_keeps_its_thresholds(client: Client, returned: Round, carla: User) -> None:
    BatchPlan.objects.update(overall_percent=99)
    page = get_page(client, carla, f"{BATCH}?round=1")
    assert "≥ 75 %" in page
    assert "≥ 99 %" not in page


@pytest.mark.parametrize("reason", ["\0", "Read\0 twice."])
def test_a_reason_with_nul_characters(client: Client, failed: Sample, carla: User, reason: str) -> None:
    address = f"/p/quality/rounds/{failed.round_id}/return/"
    response = post_form(client, carla, address, request_id=uuid4(), reason=reason, group="plan", confirm="8")
    stored = Round.objects.get(number=1)
    if reason == "\0":
        assert (response.status_code, stored.state) == (400, RoundState.IN_REVIEW)
    else:
        assert (response.status_code, stored.reason) == (302, "Read twice.")


def test_batches_are_listed_by_state(client: Client, returned: Round, carla: User) -> None:
    def rounds(query: str) -> list[str]:
        return re.findall(r'<td class="num">(\d+)</td>\s*<td dir', get_page(client, carla, LIST + query))

    assert rounds("") == ["2", "1"]
    assert rounds("?state=returned") == ["1"]
    assert rounds("?state=open") == ["2"]
    assert rounds("?state=nonsense") == ["2", "1"]
    assert "No batch is in this state." in get_page(client, carla, f"{LIST}?state=sealed")


def test_withdrawn_work_does_not_count_as_done(client: Client, returned: Round, anna: User) -> None:
    assert count_submitted(anna, returned.project) == 0
    label_next(returned.project, anna, [1, 1])
    assert count_submitted(anna, returned.project) == 2


def test_only_accepted_dialogues_count_as_labelled(quality: Project, anna: User, mara: User) -> None:
    imported(quality, 4)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    label_next(quality, anna, [2, 2])
    assert overviews(mara, [quality])[quality.pk].labelled == 2
    cut_batches(project=quality, actor=None, cut_id=uuid4(), size=3, with_rest=False)
    label_next(quality, anna, [2, 2])
    assert overviews(mara, [quality])[quality.pk].labelled == 0
    Round.objects.update(state=RoundState.ACCEPTED)
    assert overviews(mara, [quality])[quality.pk].labelled == 3
