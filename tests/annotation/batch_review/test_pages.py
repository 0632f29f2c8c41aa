"""Pages of batches: cutting, the plan, one batch with its verdict, corrections and appeals, boards."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import User
from annotation.batch_review.models import Appeal, AppealState, BatchPlan, Judgement, Sample
from annotation.batch_review.services.appeals import raise_appeal, settle_appeal
from annotation.batch_review.services.cutting import cut_batches
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.verdicts import accept_round, return_round
from annotation.labelling.models.labels import Submission
from annotation.labelling.services.planning import plan_labelling
from annotation.overview.selectors import overviews
from annotation.tasks.models.rounds import Batch, Round, RoundState
from frontend.pages.labelling.labelling import submitted_by
from projects.models import Project, Role
from tests.annotation.batch_review.conftest import cut, items, judges, judges_all, label, says
from tests.annotation.conftest import Joins, imported

LIST, BATCH = "/p/quality/batches/", "/p/quality/batches/1/"


def page(client: Client, user: User, address: str) -> str:
    client.force_login(user)
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def post(client: Client, user: User, address: str, **data: Any) -> Any:
    client.force_login(user)
    return client.post(address, data)


@pytest.fixture
def failed(drawn: Sample, carla: User) -> Sample:
    judges_all(carla, drawn, wrong=2)
    return drawn


@pytest.fixture
def returned(failed: Sample, carla: User) -> Round:
    return return_round(controller=carla, round_id=failed.round_id, decision_id=uuid4(), reason="Read twice.")


def test_mara_cuts_batches_once(client: Client, quality: Project, mara: User) -> None:
    imported(quality, 8)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    sent = {"size": 4, "with_rest": "on", "cut_id": uuid4()}
    for _again in range(2):
        assert post(client, mara, f"{LIST}cut/", **sent).status_code == 302
    assert [batch.size for batch in Batch.objects.all()] == [4, 4]
    assert "Batch 2" in page(client, mara, LIST)


def test_cutting_nothing_says_why(client: Client, quality: Project, mara: User) -> None:
    answer = post(client, mara, f"{LIST}cut/", size=4, cut_id=uuid4())
    assert answer.status_code == 422
    assert "not enough dialogues" in answer.content.decode()


def test_mara_changes_the_plan(client: Client, quality: Project, mara: User) -> None:
    sent = {
        "batch_size": 50, "sample_size": 10, "overall_percent": "95", "class_percent": "0",
        "question": "quality", "is_blind": "on", "double_every": 3, "relabel": "other",
    }  # fmt: skip
    assert post(client, mara, f"{LIST}plan/", **sent).status_code == 302
    plan = BatchPlan.objects.get()
    assert (plan.batch_size, int(plan.overall_percent), plan.relabel) == (50, 95, "other")
    assert not plan.is_stratified


def test_a_plan_of_a_question_that_is_none_is_refused(client: Client, quality: Project, mara: User) -> None:
    answer = post(client, mara, f"{LIST}plan/", question="nonsense")
    assert answer.status_code == 422
    assert BatchPlan.objects.get().question == "quality"


def test_carla_draws_on_the_page(client: Client, sealed: Round, carla: User) -> None:
    sent = {"request_id": uuid4()}
    for _again in range(2):
        answer = post(client, carla, f"/p/quality/rounds/{sealed.pk}/draw/", **sent)
        assert answer.headers["Location"] == f"{BATCH}sample/"
    assert Sample.objects.get().pk == sent["request_id"]


def test_a_passing_sample_is_accepted(client: Client, drawn: Sample, carla: User) -> None:
    judges_all(carla, drawn)
    assert "Accept the batch" in page(client, carla, BATCH)
    post(client, carla, f"/p/quality/rounds/{drawn.round_id}/accept/", request_id=uuid4())
    assert Round.objects.get().state == RoundState.ACCEPTED


def test_a_failing_sample_goes_back_with_a_reason(client: Client, failed: Sample, carla: User) -> None:
    address, sent = f"/p/quality/rounds/{failed.round_id}/return/", {"request_id": uuid4()}
    without = post(client, carla, address, **sent)
    assert "Say why the batch goes back" in without.content.decode()
    assert str(sent["request_id"]) in without.content.decode()
    for _again in range(2):
        assert post(client, carla, address, **sent, reason="Read twice.", group="plan").status_code == 302
    states = Round.objects.order_by("number").values_list("state", flat=True)
    assert list(states) == [RoundState.RETURNED, RoundState.OPEN]


def test_the_round_before_keeps_its_page(client: Client, returned: Round, carla: User) -> None:
    shown = page(client, carla, f"{BATCH}?round=1")
    assert "Read twice." in shown
    assert "The verdict rested on 2 right of 4 judged." in shown
    assert "What is mistaken for what?" in shown


def test_a_sample_in_review_tells_no_label(client: Client, drawn: Sample, carla: User) -> None:
    for item in items(drawn)[:-1]:
        judges(carla, item, right=item.place != 0)
    shown = page(client, carla, BATCH)
    judged = {item.label for item in items(drawn)[:-1]}
    for name in drawn.classes:
        assert (f'dir="auto">{name} · ' in shown) == (name in judged)
    assert "mistaken" not in shown
    assert "Look again." not in shown


def test_anna_sees_only_her_own_accuracy(client: Client, returned: Round, anna: User, carla: User) -> None:
    assert client.get(BATCH).status_code == 302
    client.force_login(anna)
    assert client.get(BATCH).status_code == 403
    shown = page(client, anna, "/p/quality/accuracy/")
    assert "2 of 4 right" in shown
    assert "Look again." in shown
    assert "carla" not in shown


def test_nothing_of_a_sample_in_review_is_shown_to_anna(client: Client, failed: Sample, anna: User) -> None:
    assert "Nothing was judged yet" in page(client, anna, "/p/quality/accuracy/")


def test_an_appeal_is_raised_and_settled(client: Client, returned: Round, anna: User, tina: User) -> None:
    item = Judgement.objects.filter(is_right=False).earliest("judged_at").item
    sent = {"request_id": uuid4(), "reason": "It was fine.", "own": "1"}
    for _again in range(2):
        post(client, anna, f"/p/quality/samples/{item.pk}/appeal/", **sent)
    appeal = Appeal.objects.get()
    assert "It was fine." in page(client, tina, "/p/quality/appeals/")
    post(client, tina, f"/p/quality/appeals/{appeal.pk}/", upheld="1", settlement="Anna is right.")
    appeal.refresh_from_db()
    assert appeal.state == AppealState.UPHELD
    shown = page(client, anna, "/p/quality/accuracy/")
    assert "3 of 4 right" in shown


def test_a_rejected_appeal_shows_its_settlement(
    client: Client, returned: Round, anna: User, tina: User
) -> None:
    item = Judgement.objects.filter(is_right=False).earliest("judged_at").item
    post(client, anna, f"/p/quality/samples/{item.pk}/appeal/", request_id=uuid4(), reason="Fine.")
    [appeal] = Appeal.objects.all()
    post(client, tina, f"/p/quality/appeals/{appeal.pk}/", upheld="0", settlement="See the guidelines.")
    assert "See the guidelines." in page(client, anna, "/p/quality/accuracy/")


def test_a_refused_appeal_keeps_its_words(client: Client, returned: Round, anna: User, tina: User) -> None:
    item = Judgement.objects.filter(is_right=False).earliest("judged_at").item
    address, sent = f"/p/quality/samples/{item.pk}/appeal/", {"request_id": uuid4(), "own": "1"}
    refused = post(client, anna, address, **sent, reason="Fine. " * 1000)
    shown = refused.content.decode()
    assert refused.status_code == 400
    assert "A reason has at most 5000 characters." in shown
    assert f'value="{"Fine. " * 1000}"' in shown
    assert 'name="own" value="1"' in shown  # and leads back to where she was
    post(client, tina, address, request_id=uuid4(), reason="I see it so too.")
    late = post(client, anna, address, **sent, reason="It names the step.")
    assert late.status_code == 409
    assert "Somebody has already disputed this correction." in late.content.decode()
    assert "It names the step." in late.content.decode()


def test_a_refused_settlement_keeps_its_words(
    client: Client, returned: Round, anna: User, tina: User, joins: Joins
) -> None:
    first, second = [one.item for one in Judgement.objects.filter(is_right=False).order_by("judged_at")]
    made = [
        raise_appeal(by=anna, item_id=item.pk, appeal_id=uuid4(), reason="Fine.") for item in (first, second)
    ]
    address = f"/p/quality/appeals/{made[0].pk}/"
    refused = post(client, tina, address, upheld="1", settlement="Right. " * 1000)
    assert refused.status_code == 400
    shown = refused.content.decode()
    assert f'value="{"Right. " * 1000}"' in shown
    assert shown.index("at most 5000") < shown.index("Right. ")
    tom = joins("tom", returned.project, Role.TRAINER)
    settle_appeal(trainer=tom, appeal_id=made[0].pk, upheld=False, settlement="See page 2.")
    late = post(client, tina, address, upheld="1", settlement="Anna is right.")
    shown = late.content.decode()
    assert late.status_code == 409
    assert "has already settled this appeal" in shown
    assert "Anna is right." in shown
    assert shown.index("Anna is right.") < shown.index(f"/p/quality/appeals/{made[1].pk}/")  # it comes first


def test_a_refused_return_keeps_its_reason(client: Client, failed: Sample, carla: User, chris: User) -> None:
    address = f"/p/quality/rounds/{failed.round_id}/return/"
    refused = post(client, carla, address, request_id=uuid4(), reason="Read. " * 1000)
    assert "Read. " * 999 in refused.content.decode()
    return_round(controller=chris, round_id=failed.round_id, decision_id=uuid4(), reason="Too hasty.")
    late = post(client, carla, address, request_id=uuid4(), reason="Read both halves.")
    assert late.status_code == 409
    assert "Read both halves." in late.content.decode()  # although nothing is left to be returned


def test_a_refused_opening_keeps_its_reason(client: Client, sealed: Round, mara: User, carla: User) -> None:
    address = f"/p/quality/rounds/{sealed.pk}/unseal/"
    refused = post(client, mara, address, reason="Wrong. " * 1000)
    assert f'value="{"Wrong. " * 1000}"' in refused.content.decode()
    draw_sample(controller=carla, round_id=sealed.pk, sample_id=uuid4())
    late = post(client, mara, address, reason="The guidelines changed.")
    assert late.status_code == 409
    assert "The guidelines changed." in late.content.decode()


def test_anna_cannot_settle(client: Client, returned: Round, anna: User) -> None:
    assert post(client, anna, f"/p/quality/appeals/{uuid4()}/", upheld="1").status_code == 403


@pytest.mark.parametrize("act", ["seal", "unseal", "group"])
def test_carla_configures_nothing(client: Client, sealed: Round, carla: User, act: str) -> None:
    answer = post(client, carla, f"/p/quality/rounds/{sealed.pk}/{act}/", reason="x")
    assert answer.status_code == 403


def test_mara_opens_a_sealed_batch_again_and_judges_nothing(
    client: Client, sealed: Round, mara: User
) -> None:
    assert post(client, mara, f"/p/quality/rounds/{sealed.pk}/draw/").status_code == 403
    post(client, mara, f"/p/quality/rounds/{sealed.pk}/unseal/", reason="A mistake.")
    sealed.refresh_from_db()
    assert sealed.state == RoundState.OPEN


def test_boards_answer_with_files(client: Client, returned: Round, mara: User) -> None:
    shown = page(client, mara, f"{LIST}boards/")
    assert "Whose batches are accepted?" in shown
    numbers = page(client, mara, f"{LIST}boards/groups.csv")
    assert "Everybody,0,1,0.0" in numbers
    assert page(client, mara, f"{LIST}boards/load.svg").startswith("<svg")
    assert client.get(f"{LIST}boards/nonsense.csv").status_code == 404


def test_boards_of_nothing(client: Client, quality: Project, mara: User) -> None:
    assert "Nothing to show yet" in page(client, mara, f"{LIST}boards/")


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
    page(client, mara, address)
    with django_assert_max_num_queries(most):
        page(client, mara, address)


def test_accuracy_costs_the_same_for_more_examples(
    client: Client, returned: Round, anna: User, django_assert_max_num_queries: Any
) -> None:
    page(client, anna, "/p/quality/accuracy/")
    with django_assert_max_num_queries(28):
        page(client, anna, "/p/quality/accuracy/")


def test_an_open_batch_says_how_far_it_is(client: Client, quality: Project, mara: User) -> None:
    cut(quality)
    assert "0 of 8 dialogues have their final label" in page(client, mara, BATCH)


@pytest.mark.parametrize(("language", "words"), [("en", "Rate the quality"), ("zh-hans", "质量判断")])
def test_the_plan_names_questions_in_words(
    client: Client, quality: Project, mara: User, language: str, words: str
) -> None:
    client.force_login(mara)
    shown = client.get(LIST, headers={"accept-language": language}).content.decode()
    assert f'<option value="quality" selected>{words}' in shown


def test_a_round_keeps_what_was_needed(client: Client, returned: Round, carla: User) -> None:
    BatchPlan.objects.update(overall_percent=99)
    shown = page(client, carla, f"{BATCH}?round=1")
    assert "≥ 75 %" in shown
    assert "≥ 99 %" not in shown


def test_accuracy_says_when_only_the_newest_are_counted(
    client: Client, returned: Round, anna: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "newest" not in page(client, anna, "/p/quality/accuracy/")
    monkeypatch.setattr("annotation.batch_review.selectors.annotator_accuracy.MAX_COUNTED", 3)
    shown = page(client, anna, "/p/quality/accuracy/")
    assert "The newest 3 are counted." in shown
    assert "of 3 right" in shown


@pytest.mark.parametrize("reason", ["\0", "Read\0 twice."])
def test_a_reason_with_what_postgresql_refuses(
    client: Client, failed: Sample, carla: User, reason: str
) -> None:
    address = f"/p/quality/rounds/{failed.round_id}/return/"
    answer = post(client, carla, address, request_id=uuid4(), reason=reason, group="plan")
    kept = Round.objects.get(number=1)
    if reason == "\0":
        assert (answer.status_code, kept.state) == (400, RoundState.IN_REVIEW)
    else:
        assert (answer.status_code, kept.reason) == (302, "Read twice.")


def test_batches_are_listed_by_state(client: Client, returned: Round, carla: User) -> None:
    def rounds(query: str) -> list[str]:
        return re.findall(r'<td class="num">(\d+)</td>\s*<td dir', page(client, carla, LIST + query))

    assert rounds("") == ["2", "1"]
    assert rounds("?state=returned") == ["1"]
    assert rounds("?state=open") == ["2"]
    assert rounds("?state=nonsense") == ["2", "1"]
    assert "No batch is in this state." in page(client, carla, f"{LIST}?state=sealed")


def test_anna_reads_why_her_batch_came_back(
    client: Client, returned: Round, anna: User, joins: Joins
) -> None:
    assert "Read twice." in page(client, anna, "/p/quality/accuracy/")
    bela = joins("bela", returned.project, Role.ANNOTATOR)
    assert "Read twice." not in page(client, bela, "/p/quality/accuracy/")
    label(returned.project, bela, [1] * 8)  # the next round
    assert "Read twice." in page(client, bela, "/p/quality/accuracy/")


def test_only_a_corrected_label_can_be_disputed(
    client: Client, drawn: Sample, anna: User, carla: User
) -> None:
    """Anna was outvoted: the label is right, her own answer is not."""
    judges_all(carla, drawn)
    first = items(drawn)[0]
    Submission.objects.filter(task=first.task_id).update(answers=says(0))
    accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    shown = page(client, anna, "/p/quality/accuracy/")
    assert "3 of 4 right" in shown
    assert f"/samples/{first.pk}/appeal/" not in shown


def test_ones_own_accuracy_as_files(client: Client, returned: Round, anna: User) -> None:
    assert "How often are my answers right?" in page(client, anna, "/p/quality/accuracy/")
    numbers = page(client, anna, "/p/quality/accuracy/classes.csv")
    assert "All,2,4,50.0" in numbers
    assert page(client, anna, "/p/quality/accuracy/classes.svg").startswith("<svg")
    assert client.get("/p/quality/accuracy/nonsense.csv").status_code == 404


def test_what_was_withdrawn_is_not_done(client: Client, returned: Round, anna: User) -> None:
    assert submitted_by(anna, returned.project) == 0
    label(returned.project, anna, [1, 1])
    assert submitted_by(anna, returned.project) == 2


def test_only_what_is_accepted_is_said_to_leave(quality: Project, anna: User, mara: User) -> None:
    imported(quality, 4)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    label(quality, anna, [2, 2])
    assert overviews(mara, [quality])[quality.pk].labelled == 2
    cut_batches(project=quality, actor=None, cut_id=uuid4(), size=3, with_rest=False)
    label(quality, anna, [2, 2])
    assert overviews(mara, [quality])[quality.pk].labelled == 0
    Round.objects.update(state=RoundState.ACCEPTED)
    assert overviews(mara, [quality])[quality.pk].labelled == 3
