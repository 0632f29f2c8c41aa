"""A person's page: for managers only, with the numbers of their work, and the cost at the project's rate."""

from datetime import timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import strip_tags

from accounts.models import User
from annotation.batch_review.models import BatchPlan, SampleItem
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.verdicts import return_round
from annotation.labelling.models.labels import Submission
from annotation.labelling.services.statistics import current_statistics, store_statistics
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.onboarding.services.admission_tests import update_admission_test
from annotation.people.selectors import person_report
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Invalid
from projects.models import Event, Project, Role
from projects.services import set_hourly_rate
from tests.annotation.batch_review.conftest import (
    cut_one_batch,
    diqad_answers,
    judge_item,
    label_next,
    latest_round,
    sample_items,
)
from tests.annotation.conftest import Joins
from tests.annotation.onboarding.conftest import (
    RIGHT,
    SLIP,
    answer_place,
    begin_try,
    store_gold,
    take_test,
)

pytestmark = pytest.mark.django_db


def label_all(project: Project, person: User, score: int) -> None:
    for _n in range(3):
        held = claim_next_task(annotator=person, project=project, claim_id=uuid4())
        sent = SentLabels(id=uuid4(), schema=1, answers=diqad_answers(score))
        submit_labels(annotator=person, assignment_id=held.pk, sent=sent)
    Submission.objects.filter(annotator=person).update(active_ms=1_200_000)


def test_the_numbers_are_those_of_the_persons_work(
    quality: Project, anna: User, bela: User, mara: User
) -> None:
    label_all(quality, anna, 2)
    label_all(quality, bela, 2)
    current_statistics(project=quality)
    set_hourly_rate(project=quality, actor=mara, hourly_rate=Decimal(30), currency="EUR")
    quality.refresh_from_db()
    report = person_report(quality, anna)
    assert (report.seconds.value, report.seconds.n, report.finished) == (1200, 3, 3)
    assert (report.active_hours, report.cost, report.cost_per_dialogue) == (1.0, Decimal(30), Decimal(10))
    assert [n for _monday, n in report.weeks] == [3]
    agreement = {one.name: (one.share, one.n, one.is_faint) for one in report.agreement}
    assert agreement["quality"] == (1.0, 3, True)


def test_a_week_without_work_is_shown(quality: Project, anna: User) -> None:
    label_all(quality, anna, 2)
    first = Assignment.objects.filter(annotator=anna).earliest("pk")
    assert first.submitted_at is not None
    Assignment.objects.filter(pk=first.pk).update(submitted_at=first.submitted_at - timedelta(days=14))
    assert [n for _monday, n in person_report(quality, anna).weeks] == [1, 0, 2]


def shown_fact(client: Client, manager: User, project: Project, person: User, name: str) -> str:
    """What the person's page says of this number, without tags and line breaks."""
    client.force_login(manager)
    page = client.get(f"/p/{project.slug}/people/{person.pk}/").text
    after = page.partition(f"<dt>{name}</dt>")[2].partition("</dd>")[0]
    return " ".join(strip_tags(after).split())


def test_gold_dialogues_without_a_mistake_are_counted_and_shown(
    quality: Project, anna: User, bela: User, tina: User, mara: User, client: Client
) -> None:
    for n in range(2):
        store_gold(tina, quality, n)
    update_admission_test(trainer=tina, project=quality, changes={"is_on": True, "tries": 2})
    take_test(anna, quality, RIGHT, SLIP)
    take_test(bela, quality, SLIP, SLIP)
    answer_place(begin_try(anna, quality), 0, RIGHT)  # the second dialogue of this try is not answered yet
    gold = person_report(quality, anna).gold
    assert (gold.count, gold.n) == (2, 3)
    name = "Gold dialogues without a mistake"
    assert shown_fact(client, mara, quality, anna, name) == "66.7 % n = 3"
    assert shown_fact(client, mara, quality, bela, name) == "0.0 % n = 2"
    assert shown_fact(client, mara, quality, tina, name) == "– n = 0"


def test_answers_that_were_right_in_judged_samples_are_counted_and_shown(
    mara: User, joins: Joins, client: Client
) -> None:
    project = create_project(slug="judged", preset="diqad", actor=mara)
    project.labelling.min_seconds, project.labelling.overlap = 0, 1
    project.labelling.save()
    BatchPlan.objects.create(project=project, question="quality", sample_size=6, double_every=0)
    anna, bela = (joins(name, project, Role.ANNOTATOR) for name in ("anna", "bela"))
    carla = joins("carla", project, Role.CONTROLLER)
    batch = cut_one_batch(project, dialogues=6)
    label_next(project, anna, [2, 2, 1, 1])
    label_next(project, bela, [2, 2])
    judged_round = latest_round(batch)
    sample = draw_sample(controller=carla, round_id=judged_round.pk, sample_id=uuid4())
    annas = [item for item in sample_items(sample) if is_by(anna, item)]
    for item in sample_items(sample):
        judge_item(carla, item, right=item in annas[1:])
    assert person_report(project, anna).judged.n == 0  # the round has not ended
    return_round(controller=carla, round_id=judged_round.pk, decision_id=uuid4(), reason="Read twice.")
    judged = person_report(project, anna).judged
    assert (judged.count, judged.n, judged.share) == (3, 4, 0.75)
    assert judged.low is not None
    assert judged.high is not None
    shown = f"75.0 % ({100 * judged.low:.1f} %–{100 * judged.high:.1f} %) n = 4"
    assert shown_fact(client, mara, project, anna, "Right in judged samples") == shown
    assert shown_fact(client, mara, project, bela, "Right in judged samples").startswith("0.0 % (")
    assert shown_fact(client, mara, project, bela, "Right in judged samples").endswith(" n = 2")


def is_by(person: User, item: SampleItem) -> bool:
    return Submission.objects.filter(task=item.task_id, annotator=person).exists()


def test_agreement_that_is_not_computed_yet_is_called_so(
    client: Client, quality: Project, mara: User, anna: User
) -> None:
    client.force_login(mara)
    address = f"/p/quality/people/{anna.pk}/"
    assert "Not computed yet" in client.get(address).text
    store_statistics(project=quality)
    html = client.get(address).text
    assert "Not computed yet" not in html
    assert "nobody else has labelled the same dialogues" in html


def test_the_page_is_for_managers_and_sets_the_rate(
    quality: Project, anna: User, tina: User, mara: User, client: Client
) -> None:
    label_all(quality, anna, 2)
    address = f"/p/quality/people/{anna.pk}/"
    client.force_login(mara)
    assert address in client.get("/p/quality/members/").text
    shown = client.get(address).text
    assert "Time per label, median" in shown
    assert f"?annotator={anna.pk}" in shown
    assert "Cost of an hour" in shown
    client.post(f"{address}rate/", {"hourly_rate": "12.50", "currency": "EUR"})
    client.post(f"{address}rate/", {"hourly_rate": "12.50", "currency": "EUR"})
    assert "12.50 EUR" in client.get(address).text
    assert Event.objects.filter(kind="rate_changed").count() == 1
    assert client.get(f"{address}weeks.csv").status_code == 200
    answer = client.get(f"/api/v1/projects/quality/members/{anna.username}/report/").json()
    assert (answer["finished"], answer["cost"], answer["seconds"]["n"]) == (3, "12.50", 3)
    for other in (anna, tina):
        client.force_login(other)
        assert client.get(address).status_code == 403


def test_the_page_needs_as_many_queries_for_much_as_for_little(
    quality: Project, anna: User, mara: User, client: Client
) -> None:
    client.force_login(mara)
    label_all(quality, anna, 2)
    address = f"/p/quality/people/{anna.pk}/"
    client.get(address)  # statistics and caches are there from now on
    few = count_queries(client, address)
    first = Submission.objects.earliest("stored_at")
    for number in range(2, 12):
        first.pk, first.revision, first.superseded_at = uuid4(), number, first.stored_at
        first.save(force_insert=True)
    assert count_queries(client, address) == few
    assert few <= 40


def count_queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as seen:
        assert client.get(address).status_code == 200
    return len(seen)


def test_the_rate_is_in_the_api(client: Client, quality: Project, mara: User, anna: User) -> None:
    address = f"/api/v1/projects/{quality.slug}/rate/"
    client.force_login(mara)
    sent = {"hourly_rate": "12.50", "currency": "EUR"}
    for _again in range(2):
        assert client.put(address, sent, content_type="application/json").json() == sent
    assert Event.objects.filter(kind="rate_changed").count() == 1
    assert client.get(address).json() == sent
    wrong = client.put(address, {"hourly_rate": "-1"}, content_type="application/json")
    assert (wrong.status_code, wrong.json()["errors"]["hourly_rate"] != []) == (400, True)
    none = client.put(address, {"hourly_rate": None}, content_type="application/json")
    assert none.json() == {"hourly_rate": None, "currency": ""}
    client.force_login(anna)
    assert client.get(address).status_code == 403


def test_a_rate_must_be_a_rate(quality: Project, mara: User) -> None:
    with pytest.raises(Invalid):
        set_hourly_rate(project=quality, actor=mara, hourly_rate=Decimal(-1), currency="EUR")
