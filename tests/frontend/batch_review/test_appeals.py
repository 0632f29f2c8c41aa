"""Pages of appeals and of one's own accuracy."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import User
from annotation.batch_review.models import Appeal, AppealState, Judgement, Sample
from annotation.batch_review.services.appeals import raise_appeal, settle_appeal
from annotation.batch_review.services.verdicts import accept_round
from annotation.labelling.models.labels import Submission
from annotation.tasks.models.rounds import Round
from annotation.tasks.models.work import Task
from projects.models import Role
from tests.annotation.batch_review.conftest import (
    diqad_answers,
    get_page,
    judge_all,
    label_next,
    post_form,
    sample_items,
)
from tests.annotation.conftest import Joins

LIST, BATCH = "/p/quality/batches/", "/p/quality/batches/1/"


def test_anna_sees_only_her_own_accuracy(client: Client, returned: Round, anna: User, carla: User) -> None:
    assert client.get(BATCH).status_code == 302
    client.force_login(anna)
    assert client.get(BATCH).status_code == 403
    page = get_page(client, anna, "/p/quality/accuracy/")
    assert "2 of 4 right" in page
    assert "Look again." in page
    assert "carla" not in page


def test_nothing_of_a_sample_in_review_is_shown_to_anna(client: Client, failed: Sample, anna: User) -> None:
    assert "Nothing was judged yet" in get_page(client, anna, "/p/quality/accuracy/")


def test_an_appeal_is_raised_and_settled(client: Client, returned: Round, anna: User, tina: User) -> None:
    item = Judgement.objects.filter(is_right=False).earliest("judged_at").item
    sent = {"request_id": uuid4(), "reason": "It was fine.", "own": "1"}
    for _again in range(2):
        post_form(client, anna, f"/p/quality/samples/{item.pk}/appeal/", **sent)
    appeal = Appeal.objects.get()
    assert "It was fine." in get_page(client, tina, "/p/quality/appeals/")
    post_form(client, tina, f"/p/quality/appeals/{appeal.pk}/", upheld="1", settlement="Anna is right.")
    appeal.refresh_from_db()
    assert appeal.state == AppealState.UPHELD
    page = get_page(client, anna, "/p/quality/accuracy/")
    assert "3 of 4 right" in page


def test_a_rejected_appeal_shows_its_settlement(
    client: Client, returned: Round, anna: User, tina: User
) -> None:
    item = Judgement.objects.filter(is_right=False).earliest("judged_at").item
    post_form(client, anna, f"/p/quality/samples/{item.pk}/appeal/", request_id=uuid4(), reason="Fine.")
    [appeal] = Appeal.objects.all()
    post_form(client, tina, f"/p/quality/appeals/{appeal.pk}/", upheld="0", settlement="See the guidelines.")
    assert "See the guidelines." in get_page(client, anna, "/p/quality/accuracy/")


def test_a_refused_appeal_keeps_its_words(client: Client, returned: Round, anna: User, tina: User) -> None:
    item = Judgement.objects.filter(is_right=False).earliest("judged_at").item
    address, sent = f"/p/quality/samples/{item.pk}/appeal/", {"request_id": uuid4(), "own": "1"}
    refused = post_form(client, anna, address, **sent, reason="Fine. " * 1000)
    page = refused.content.decode()
    assert refused.status_code == 400
    assert "A reason has at most 5,000 characters." in page
    assert f'value="{"Fine. " * 1000}"' in page
    assert 'name="own" value="1"' in page  # leads back to her own accuracy
    post_form(client, tina, address, request_id=uuid4(), reason="I see it so too.")
    late = post_form(client, anna, address, **sent, reason="It names the step.")
    assert late.status_code == 409
    assert "Somebody has already disputed this correction." in late.content.decode()
    assert "It names the step." in late.content.decode()


def test_a_refused_settlement_keeps_its_words(
    client: Client, returned: Round, anna: User, tina: User, joins: Joins
) -> None:
    first, second = [
        judgement.item for judgement in Judgement.objects.filter(is_right=False).order_by("judged_at")
    ]
    appeals = [
        raise_appeal(by=anna, item_id=item.pk, appeal_id=uuid4(), reason="Fine.") for item in (first, second)
    ]
    address = f"/p/quality/appeals/{appeals[0].pk}/"
    refused = post_form(client, tina, address, upheld="1", settlement="Right. " * 1000)
    assert refused.status_code == 400
    page = refused.content.decode()
    assert f'value="{"Right. " * 1000}"' in page
    assert page.index("at most 5,000") < page.index("Right. ")
    tom = joins("tom", returned.project, Role.TRAINER)
    settle_appeal(trainer=tom, appeal_id=appeals[0].pk, upheld=False, settlement="See page 2.")
    late = post_form(client, tina, address, upheld="1", settlement="Anna is right.")
    page = late.content.decode()
    assert late.status_code == 409
    assert "has already settled this appeal" in page
    assert "Anna is right." in page
    assert page.index("Anna is right.") < page.index(
        f"/p/quality/appeals/{appeals[1].pk}/"
    )  # the refused one comes first


def test_a_dialogue_of_a_returned_batch_does_not_claim_that_nobody_answered(
    client: Client, returned: Round, tina: User
) -> None:
    again = Task.objects.filter(project=returned.project, submissions=None, round__isnull=False).latest("id")
    client.force_login(tina)
    page = client.get(f"/p/{returned.project.slug}/dialogues/{again.dialogue_id}/").content.decode()
    assert "Its batch was returned: nobody has answered again yet." in page


def test_anna_cannot_settle(client: Client, returned: Round, anna: User) -> None:
    assert post_form(client, anna, f"/p/quality/appeals/{uuid4()}/", upheld="1").status_code == 403


def test_accuracy_takes_a_bounded_number_of_queries(
    client: Client, returned: Round, anna: User, django_assert_max_num_queries: Any
) -> None:
    get_page(client, anna, "/p/quality/accuracy/")
    with django_assert_max_num_queries(28):
        get_page(client, anna, "/p/quality/accuracy/")


def test_accuracy_notes_when_only_the_newest_are_counted(
    client: Client, returned: Round, anna: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "newest" not in get_page(client, anna, "/p/quality/accuracy/")
    monkeypatch.setattr("annotation.batch_review.selectors.annotator_accuracy.MAX_COUNTED", 3)
    page = get_page(client, anna, "/p/quality/accuracy/")
    assert "The newest 3 are counted." in page
    assert "of 3 right" in page
    assert "lines: 95\u00a0% intervals · Grey: n is below 5" in page
    assert '<tr class="muted">' in page


def test_anna_reads_why_her_batch_came_back(
    client: Client, returned: Round, anna: User, joins: Joins
) -> None:
    assert "Read twice." in get_page(client, anna, "/p/quality/accuracy/")
    bela = joins("bela", returned.project, Role.ANNOTATOR)
    assert "Read twice." not in get_page(client, bela, "/p/quality/accuracy/")
    label_next(returned.project, bela, [1] * 8)  # the next round
    assert "Read twice." in get_page(client, bela, "/p/quality/accuracy/")


def test_only_a_corrected_label_can_be_disputed(
    client: Client, drawn: Sample, anna: User, carla: User
) -> None:
    """Anna was outvoted: the label is right, her own response is not."""
    judge_all(carla, drawn)
    first = sample_items(drawn)[0]
    Submission.objects.filter(task=first.task_id).update(answers=diqad_answers(0))
    accept_round(controller=carla, round_id=drawn.round_id, decision_id=uuid4())
    page = get_page(client, anna, "/p/quality/accuracy/")
    assert "3 of 4 right" in page
    assert f"/samples/{first.pk}/appeal/" not in page


def test_accuracy_is_downloadable(client: Client, returned: Round, anna: User) -> None:
    assert "How often are my answers right?" in get_page(client, anna, "/p/quality/accuracy/")
    numbers = get_page(client, anna, "/p/quality/accuracy/classes.csv")
    assert "All,2,4,50.0" in numbers
    assert get_page(client, anna, "/p/quality/accuracy/classes.svg").startswith("<svg")
    assert client.get("/p/quality/accuracy/nonsense.csv").status_code == 404
