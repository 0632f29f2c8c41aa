"""Pages of batches: cutting, the plan, one batch with its verdict, and the boards."""

import re
from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from annotation.batch_review.models import BatchPlan, Sample
from annotation.batch_review.services.cutting import cut_batches
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.undoing import undo_return
from annotation.batch_review.services.verdicts import accept_round, return_round
from annotation.labelling.selectors.workbench import count_submitted
from annotation.labelling.services.planning import plan_labelling
from annotation.overview.selectors import overviews
from annotation.tasks.models.rounds import Batch, Round, RoundState
from projects.models import Event, Project, Role
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
PLAN = {
    "batch_size": 50, "sample_size": 10, "overall_percent": "95", "class_percent": "0",
    "question": "quality", "double_every": 3, "relabel": "other",
}  # fmt: skip
EVERY_CLASS_IS_SMALL = "but every class has fewer than 10 in the sample, and in such a class none may be."


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


def test_a_project_without_dialogues_asks_for_an_import(
    client: Client, quality: Project, joins: Joins, mara: User
) -> None:
    """Not that every dialogue is in a batch. A trainer may cut batches, but not import."""
    tara = joins("tara", quality, Role.TRAINER)
    pages = [get_page(client, person, LIST) for person in (mara, tara)]
    assert all("Import dialogues first" in page and "is in a batch" not in page for page in pages)
    link = re.compile(r'href="/p/quality/imports/"[^>]*>[^<]*(<svg.*?</svg>)?\s*Import a file', re.DOTALL)
    assert [bool(link.search(page)) for page in pages] == [True, False]


def test_dialogues_are_planned_before_they_are_cut(client: Client, quality: Project, mara: User) -> None:
    imported(quality, 2)
    page = get_page(client, mara, LIST)
    assert "Plan dialogues first" in page
    assert 'href="/p/quality/settings/#plan"' in page


def test_without_dialogues_left_there_is_nothing_to_cut(client: Client, quality: Project, mara: User) -> None:
    cut_one_batch(quality, 4)
    page = get_page(client, mara, LIST)
    assert "Every dialogue that can be labelled is in a batch." in page


def test_mara_changes_the_plan(client: Client, quality: Project, mara: User) -> None:
    assert post_form(client, mara, f"{LIST}plan/", **PLAN, is_blind="on").status_code == 302
    plan = BatchPlan.objects.get()
    assert (plan.batch_size, int(plan.overall_percent), plan.relabel) == (50, 95, "other")
    assert not plan.is_stratified
    assert 'name="overall_percent" value="95"' in get_page(client, mara, LIST)


def test_a_plan_with_an_unknown_question_is_refused(client: Client, quality: Project, mara: User) -> None:
    response = post_form(client, mara, f"{LIST}plan/", question="nonsense")
    assert response.status_code == 422
    assert BatchPlan.objects.get().question == "quality"


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("overall_percent", "120", "less than or equal to 100"),
        ("sample_size", "51", "A sample cannot be larger than its batch of 50."),
    ],
)
def test_a_refused_plan_says_why_beside_the_field(
    client: Client, quality: Project, mara: User, field: str, value: str, words: str
) -> None:
    response = post_form(client, mara, f"{LIST}plan/", **{**PLAN, field: value})
    assert response.status_code == 422
    beside = re.search(
        rf'<input[^>]*name="{field}"[^>]*>.*?</div>\s*<div class="field', response.content.decode(), re.DOTALL
    )
    assert beside is not None
    assert 'aria-invalid="true"' in beside[0]
    assert words in beside[0]
    assert BatchPlan.objects.get().sample_size == 4


def test_a_plan_with_a_sample_larger_than_its_batch_can_be_changed_in_all_else(
    client: Client, quality: Project, mara: User
) -> None:
    """The form sends both sizes whatever was changed."""
    BatchPlan.objects.update(batch_size=50, sample_size=100)
    sent = {**PLAN, "sample_size": 100}
    assert post_form(client, mara, f"{LIST}plan/", **sent).status_code == 302
    assert BatchPlan.objects.get().overall_percent == 95
    assert post_form(client, mara, f"{LIST}plan/", **{**sent, "sample_size": 90}).status_code == 422
    assert post_form(client, mara, f"{LIST}plan/", **{**sent, "batch_size": 60}).status_code == 422
    assert post_form(client, mara, f"{LIST}plan/", **{**sent, "sample_size": 40}).status_code == 302


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
    assert re.search(r'<input id="confirm"[^>]*aria-invalid="true"', refused.content.decode())
    assert "Read twice." in refused.content.decode()
    assert Round.objects.get().state == RoundState.IN_REVIEW


def test_the_field_of_a_confirmation_says_what_it_expects(
    client: Client, failed: Sample, carla: User
) -> None:
    """Browsers show the title with their own words if the number is another one."""
    page = get_page(client, carla, BATCH)
    assert re.search(r'<input id="confirm"[^>]*title="Type 8, the number of labels', page)


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


def test_carla_undoes_an_acceptance(client: Client, drawn: Sample, carla: User) -> None:
    judge_all(carla, drawn)
    assert "The acceptance can be undone for 10 minutes." in get_page(client, carla, BATCH)
    accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    page = get_page(client, carla, BATCH)
    assert "Undo the acceptance" in page
    sent = {"decision_id": re.findall(r'name="decision_id" value="(.*?)"', page)[0]}
    for _again in range(2):
        address = f"/p/quality/rounds/{drawn.round_id}/undo-acceptance/"
        assert post_form(client, carla, address, **sent).headers["Location"] == BATCH
    assert Round.objects.get().state == RoundState.IN_REVIEW
    assert "Accept the batch" in get_page(client, carla, BATCH)


def test_an_early_verdict_on_a_blind_sample_says_that_it_stands(
    client: Client, drawn: Sample, carla: User
) -> None:
    for item in sample_items(drawn)[1:]:
        judge_item(carla, item, right=True)
    page = get_page(client, carla, BATCH)
    assert "The acceptance cannot be undone: not all of the sample is judged yet" in page
    accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    page = get_page(client, carla, BATCH)
    assert "Undo the acceptance" not in page
    assert "The verdict came before the whole sample was judged" in page


def test_an_undone_return_leaves_its_reason_in_the_form(client: Client, failed: Sample, carla: User) -> None:
    return_round(
        controller=carla, round_id=failed.round_id, decision_id=(key := uuid4()), reason="Read twice."
    )
    undo_return(controller=carla, round_id=failed.round_id, decision_id=key)
    assert ">Read twice.</textarea>" in get_page(client, carla, BATCH)


def test_wrong_labels_of_an_accepted_batch_stay_and_every_page_says_so(
    client: Client, drawn: Sample, carla: User, anna: User, tina: User
) -> None:
    judge_all(carla, drawn, wrong=1)
    wrong = sample_items(drawn)[0]
    stay = "The 1 label found wrong stays as it is and is exported like the others"
    assert stay in get_page(client, carla, BATCH)
    dialogue = f"/p/quality/dialogues/{wrong.task.dialogue_id}/"
    assert "found this label wrong" not in get_page(client, tina, dialogue)
    accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    batch = get_page(client, carla, BATCH)
    assert stay in batch
    assert "Found wrong in the sample" in batch
    for person in (tina, anna):
        page = get_page(client, person, dialogue)
        assert "A controller found this label wrong in the sample of batch 1." in page
        assert "The batch was accepted, so the label stays as it is." in page
        assert "Look again." in page
        assert "carla" not in page
    own = get_page(client, anna, "/p/quality/accuracy/")
    assert "The batch was accepted, so the label stays as it is." in own
    assert "Found wrong in the sample" in own


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
    assert "at most 1 wrong of 4 (at least 75\u00a0% right)" in page
    assert page.count("rule: at most 1 of 4") == 2  # in a wide and in a narrow plot
    assert page.index("How the sample was drawn") < page.index(f"the seed {failed.seed}")


def test_a_class_that_decides_is_named(client: Client, drawn: Sample, carla: User) -> None:
    Sample.objects.update(class_percent=90, overall_percent=10)
    judge_all(carla, drawn, wrong=1)
    page = get_page(client, carla, BATCH)
    assert "Return the batch: of the class “" in page
    assert "is wrong, and none may be." in page


@pytest.mark.parametrize(
    ("is_blind", "class_percent", "words"),
    [
        (False, 0, "of all 8, at most 2 may be."),
        (False, 75, "of all 8, at most 2 may be, and none of the class “1 · "),
        (False, 90, f"of all 8, at most 2 may be, {EVERY_CLASS_IS_SMALL}"),
        (False, 100, "of all 8, at most 2 may be, but none in any class."),
        (True, 75, "of all 8, at most 2 may be, and of no class more than 25\u00a0%."),
        (True, 90, f"of all 8, at most 2 may be, {EVERY_CLASS_IS_SMALL}"),
    ],
)
def test_the_headline_heeds_the_classes(
    client: Client, sealed: Round, carla: User, is_blind: bool, class_percent: int, words: str
) -> None:
    BatchPlan.objects.update(is_blind=is_blind, class_percent=class_percent, sample_size=8)
    draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())
    page = get_page(client, carla, BATCH)
    assert f"Not decided yet: nothing is judged yet; {words}" in page
    for limits in ("The plot shows the chance by the overall rule alone", "overall rule: at most 2 of 8"):
        assert (limits in page) == (class_percent > 0)


@pytest.mark.parametrize(("overall", "by_class"), [(75, 90), (90, 75)])
def test_without_a_checked_question_the_larger_percentage_is_the_only_rule(
    client: Client, sealed: Round, carla: User, mara: User, overall: int, by_class: int
) -> None:
    BatchPlan.objects.update(question="", overall_percent=overall, class_percent=by_class, sample_size=8)
    intro = get_page(client, mara, LIST).partition('id="plan"')[0]
    assert "90&nbsp;% must be right." in intro
    before = get_page(client, carla, BATCH)
    assert "at least 90&nbsp;% of the labels in the sample are right. Otherwise" in before
    sample = draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())
    page = get_page(client, carla, BATCH)
    assert "Not decided yet: nothing is judged yet; of all 8, none may be." in page
    assert "at most 0 wrong of 8 (at least 90\u00a0% right)." in page
    assert page.count("rule: at most 0 of 8") == 2  # in a wide and in a narrow plot
    judge_item(carla, sample_items(sample)[0], right=False)
    failed = get_page(client, carla, BATCH)
    assert "1 of 1 is wrong; of all 8, none may be." in failed
    assert "at most 0 <small" in failed
    for text in (intro, before, page, failed):
        assert not re.search(r"75(&nbsp;|\u00a0)%|(every|each) class\b|overall rule", text)
    progress = client.get(f"/api/v1/rounds/{sealed.pk}/sample/").json()["sample_progress"]
    assert (progress["needed"], progress["needed_by_class"], progress["failing"]) == (0.9, None, [])
    assert (progress["decision"], progress["spare"]) == ("return", -1)


def test_headline_explanation_and_plot_name_the_same_rules(
    client: Client, drawn: Sample, carla: User
) -> None:
    """Each class allows none, although all together may have one."""
    Sample.objects.update(class_percent=90)
    judge_all(carla, drawn)
    page = get_page(client, carla, BATCH)
    assert f"Accept the batch: 0 of 4 are wrong; overall at most 1 may be, {EVERY_CLASS_IS_SMALL}" in page
    assert "at most 1 wrong of 4 (at least 75\u00a0% right). In addition, at least 90\u00a0% of every" in page
    assert "in a class with fewer than 10 in the sample, no label may be wrong" in page
    assert page.count("overall rule: at most 1 of 4") == 2  # in a wide and in a narrow plot


def test_an_acceptance_says_how_many_labels_may_be_wrong(client: Client, drawn: Sample, carla: User) -> None:
    judge_all(carla, drawn, wrong=1)
    page = get_page(client, carla, BATCH)
    assert "3 to 7 of the 8 labels are right (95\u00a0% interval 37.5\u00a0% – 87.5\u00a0%)." in page
    assert "With 95\u00a0% confidence, at most 5 of the 8 labels are wrong." in page


def test_a_return_does_not_say_how_many_labels_may_be_wrong(
    client: Client, failed: Sample, carla: User
) -> None:
    assert "confidence" not in get_page(client, carla, BATCH)


def test_the_list_names_the_rule_of_the_classes(client: Client, quality: Project, carla: User) -> None:
    assert "75&nbsp;% must be right." in get_page(client, carla, LIST)
    BatchPlan.objects.update(class_percent=60)
    assert "75&nbsp;% must be right, and 60&nbsp;% of every class." in get_page(client, carla, LIST)


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
    assert "Nothing in this sample is left for you" in page
    assert "Continue judging" not in page
    assert "Not decided yet: nothing is judged yet; of all 4, at most" in page
    assert "Continue judging" in get_page(client, carla, BATCH)


def test_the_previous_round_keeps_its_page(client: Client, returned: Round, carla: User) -> None:
    page = get_page(client, carla, f"{BATCH}?round=1")
    assert "Read twice." in page
    assert "When the verdict was given, the labels of 2 of 4 judged dialogues were right." in page
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


def queries_of(client: Client, person: User, address: str) -> list[str]:
    get_page(client, person, address)
    with CaptureQueriesContext(connection) as seen:
        get_page(client, person, address)
    return [query["sql"] for query in seen.captured_queries]


def test_the_list_looks_for_dialogues_only_if_none_can_be_cut(
    client: Client, quality: Project, mara: User
) -> None:
    def asks() -> bool:
        return any('FROM "dialogues_dialogue"' in sql for sql in queries_of(client, mara, LIST))

    assert asks()
    imported(quality, 2)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    assert not asks()


def test_a_batch_looks_for_annotators_only_while_it_is_labelled(
    client: Client, sealed: Round, mara: User
) -> None:
    def asks() -> bool:
        return any("ANNOTATOR" in sql.upper() for sql in queries_of(client, mara, BATCH))

    assert not asks()
    Round.objects.update(state=RoundState.OPEN)
    assert asks()


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
    assert "75&nbsp;% of all must be right" in page
    assert "99&nbsp;%" not in page


@pytest.mark.parametrize(("class_percent", "is_named"), [(0, False), (60, True)])
def test_the_row_of_all_says_that_classes_have_rules_of_their_own(
    client: Client, returned: Round, carla: User, class_percent: int, is_named: bool
) -> None:
    Sample.objects.update(class_percent=class_percent)
    row = (
        get_page(client, carla, f"{BATCH}?round=1")
        .partition('<th scope="row">All</th>')[2]
        .partition("</tr>")[0]
    )
    assert ("overall rule" in row) == is_named


@pytest.mark.parametrize("reason", ["\0", "Read\0 twice."])
def test_a_reason_with_nul_characters(client: Client, failed: Sample, carla: User, reason: str) -> None:
    address = f"/p/quality/rounds/{failed.round_id}/return/"
    response = post_form(client, carla, address, request_id=uuid4(), reason=reason, group="plan", confirm="8")
    stored = Round.objects.get(number=1)
    if reason == "\0":
        assert (response.status_code, stored.state) == (400, RoundState.IN_REVIEW)
    else:
        assert (response.status_code, stored.reason) == (302, "Read twice.")


def test_batches_that_wait_for_the_controller_come_first_and_the_next_follows_a_verdict(
    client: Client, quality: Project, carla: User, anna: User, mara: User
) -> None:
    imported(quality, 12)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    cut_batches(project=quality, actor=None, cut_id=uuid4(), size=4)
    label_next(quality, anna, [2] * 8)  # the third batch is still being labelled

    def listed(person: User, query: str = "") -> list[str]:
        return re.findall(r">Batch (\d+)</a></th>", get_page(client, person, LIST + query))

    assert listed(carla) == ["1", "2"]
    assert listed(carla, "?state=all") == listed(mara) == ["3", "2", "1"]
    first = Round.objects.get(batch__number=1)
    sample = draw_sample(controller=carla, round_id=first.pk, sample_id=uuid4())
    judge_all(carla, sample)
    assert "Next batch to judge" not in get_page(client, carla, BATCH)
    accept_round(controller=carla, round_id=first.pk, decision_id=uuid4())
    page = get_page(client, carla, BATCH)
    assert "Next batch to judge: batch 2" in page
    assert 'href="/p/quality/batches/2/"' in page
    assert "Next batch to judge" not in get_page(client, mara, BATCH)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("size=4&with_rest=on", "This cuts 2 batches of 4 dialogues and a smaller one of 2."),
        ("size=4", "This cuts 2 batches of 4 dialogues. 2 dialogues stay outside batches."),
        ("size=5", "This cuts 2 batches of 5 dialogues."),
        ("size=20&with_rest=on", "This cuts 1 batch of 10 dialogues."),
        ("size=1", "This cuts 10 batches of 1 dialogue."),
        ("size=20", "This cuts no batch. 10 dialogues stay outside batches."),
        ("size=0", ""),
    ],
)
def test_a_cut_says_beforehand_what_it_makes(
    client: Client, quality: Project, mara: User, carla: User, query: str, words: str
) -> None:
    imported(quality, 10)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    assert "This cuts 1 batch of 10 dialogues." in get_page(client, mara, LIST)
    assert get_page(client, mara, f"{LIST}?part=cut&{query}") == words
    client.force_login(carla)
    assert client.get(f"{LIST}?part=cut&{query}").status_code == 403


def test_annotators_read_that_their_batch_was_returned(
    client: Client, returned: Round, anna: User, carla: User
) -> None:
    words = "Batch 1 was returned: 8 dialogues wait to be labelled again."
    for address in ("/p/quality/", "/p/quality/queue/"):
        page = get_page(client, anna, address)
        assert words in page
        assert "Read twice." in page
    assert words not in get_page(client, carla, "/p/quality/")
    label_next(returned.project, anna, [2] * 7)
    assert "Batch 1 was returned: 1 dialogue waits" in get_page(client, anna, "/p/quality/")
    label_next(returned.project, anna, [2])
    assert "was returned" not in get_page(client, anna, "/p/quality/")


def test_batches_are_listed_by_state(client: Client, returned: Round, carla: User) -> None:
    def rounds(query: str) -> list[str]:
        return re.findall(r'<td class="num">(\d+)</td>\s*<td dir', get_page(client, carla, LIST + query))

    assert rounds("") == ["2", "1"]
    assert rounds("?state=returned") == ["1"]
    assert rounds("?state=open") == ["2"]
    assert rounds("?state=nonsense") == ["2", "1"]
    assert "No batch is in this state." in get_page(client, carla, f"{LIST}?state=sealed")


def step_of(page: str) -> str:
    moments: list[str] = re.findall(r'<time class="small muted num" datetime="(.*?)"', page)
    assert len(moments) == 1
    return moments[0]


def test_the_list_has_the_newest_step_of_a_batch(client: Client, failed: Sample, carla: User) -> None:
    """Neither a draw nor the undo of a return leaves its time in the round."""
    Round.objects.update(opened_at="2026-01-01T08:00Z", sealed_at="2026-01-02T08:00Z")
    steps = Event.objects.filter(subject_type=Round._meta.label_lower)
    return_round(controller=carla, round_id=failed.round_id, decision_id=(key := uuid4()), reason="Wrong.")
    undo_return(controller=carla, round_id=failed.round_id, decision_id=key)
    newest = steps.first()
    assert newest is not None
    assert newest.data["undone"] == str(key)
    page = get_page(client, carla, LIST)
    assert datetime.fromisoformat(step_of(page)) == newest.at


def test_the_list_is_sorted_by_the_newest_step(
    client: Client, quality: Project, carla: User, anna: User
) -> None:
    """The older batch has the newest step: a draw, of which the round keeps no time."""
    imported(quality, 8)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    cut_batches(project=quality, actor=None, cut_id=uuid4(), size=4)
    label_next(quality, anna, [2] * 8)
    first = Round.objects.get(batch__number=1)
    draw_sample(controller=carla, round_id=first.pk, sample_id=uuid4())
    Round.objects.update(opened_at="2026-01-01T08:00Z", sealed_at="2026-01-02T08:00Z")
    for sorting, expected in (
        ("?state=all", ["2", "1"]),
        ("?state=all&sort=-step", ["1", "2"]),
        ("?state=all&sort=step", ["2", "1"]),
    ):
        assert re.findall(r">Batch (\d+)</a></th>", get_page(client, carla, LIST + sorting)) == expected


def test_the_list_says_how_much_of_a_sample_is_judged(client: Client, drawn: Sample, carla: User) -> None:
    assert "0 of 4 judged" in get_page(client, carla, LIST)
    for item in sample_items(drawn)[:2]:
        judge_item(carla, item, right=True)
    assert "2 of 4 judged" in get_page(client, carla, LIST)
    judge_all(carla, drawn)
    accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    assert "4 / 4" in get_page(client, carla, LIST)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_one_sample_decides(client: Client, quality: Project, carla: User, language: str) -> None:
    BatchPlan.objects.update(class_percent=60)
    client.force_login(carla)
    page = client.get(LIST, headers={"accept-language": language}).content.decode()
    assert ("抽取 4 段对话，据此决定是否接受整批" in page) == (language == "zh-hans")
    assert "个样本决定" not in page


def test_a_batch_without_annotators_leads_to_the_people(
    client: Client, quality: Project, mara: User, carla: User
) -> None:
    cut_one_batch(quality)
    pages = [get_page(client, person, BATCH) for person in (mara, carla)]
    assert all("The project has no annotators, so nobody can label this batch." in page for page in pages)
    assert all("Nobody is left in the group" not in page for page in pages)
    link = '<a href="/p/quality/members/">Add people</a>'
    assert [link in page for page in pages] == [True, False]


def test_a_manager_reads_that_the_verdict_is_outstanding(
    client: Client, drawn: Sample, mara: User, carla: User
) -> None:
    first, second, *others = sample_items(drawn)
    assert "Controllers are judging the sample." in get_page(client, mara, BATCH)
    for item in (first, second):
        judge_item(carla, item, right=False)
    assert "a controller may give the verdict on this page now" in get_page(client, mara, BATCH)
    for item in others:
        judge_item(carla, item, right=False)
    page = get_page(client, mara, BATCH)
    assert "All of the sample is judged. The verdict is outstanding: a controller gives it" in page
    assert "Controllers are judging" not in page


def test_the_explanation_names_the_column_instead_of_its_place(
    client: Client, drawn: Sample, carla: User
) -> None:
    page = get_page(client, carla, BATCH)
    assert "The interval in the column “Right in the batch” allows for that" in page


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
