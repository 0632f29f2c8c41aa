"""A batch from its first label to its file: labelled, sealed, drawn, a sample judged blind, returned, labelled again, a
sample judged with the labels in sight, accepted, exported."""

import json
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import cache
from playwright.sync_api import Page, expect

from accounts.models import User
from annotation.batch_review.models import BatchPlan, Judgement, Sample, SampleItem
from annotation.labelling.models.labels import FinalLabel
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.tasks.models.rounds import Round, RoundState
from annotation.tasks.models.work import AssignmentState, Task
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Refusal
from preference.data.selectors.selection import Filters, select
from projects.models import Project
from tests.annotation.batch_review.conftest import diqad_answers
from tests.browser.conftest import SignedIn
from tests.browser.labelling import LabelBench, annotator, planned, stored
from tests.browser.test_sample_review import KEYS, agrees, controller, press
from tests.processes import wait_until
from tests.sizes import SAMPLE

BATCH, REST, WRONG = SAMPLE + 4, 3, max(4, SAMPLE * 12 // 100)
BY_HAND = 2  # dialogues a person and round; the others are sent by the same service
GOOD, THIN = ["n", "2"], ["n", "1", "1", "Enter"]  # what is pressed for a 2, and for a 1


@pytest.fixture
def project(mara: User) -> Project:
    """Instead of the authoring project: two people a dialogue, the first sample is judged blind."""
    planned_project = planned("diqad", mara, count=BATCH + REST, utterances=2, overlap=2)
    BatchPlan.objects.create(
        project=planned_project, question="quality", batch_size=BATCH, sample_size=SAMPLE, double_every=0
    )
    return planned_project


def labels_by_hand(page: Page, project: Project, keys: list[str]) -> None:
    bench = LabelBench.open(page, project)
    for _n in range(BY_HAND):
        shown = bench.shown
        bench.press(*keys).submit().goes_on_from(shown)


def labels_the_rest(project: Project, person: User, quality: int) -> None:
    """What the page has taken ahead, then whatever is left."""
    while True:
        held = person.assignments.filter(project=project, state=AssignmentState.ACTIVE).first()
        try:
            held = held or claim_next_task(annotator=person, project=project, claim_id=uuid4())
        except Refusal:
            return
        sent = SentLabels(id=uuid4(), schema=1, answers=diqad_answers(quality))
        submit_labels(annotator=person, assignment_id=held.pk, sent=sent)


def has_sent(person: User, count: int) -> bool:
    return len(stored(person)) == count


def all_label(signs_in: SignedIn, project: Project, people: list[User], quality: int) -> None:
    before = {person: len(stored(person)) for person in people}
    for person in people:
        page = signs_in(person)
        labels_by_hand(page, project, GOOD if quality == 2 else THIN)
        wait_until(partial(has_sent, person, before[person] + BY_HAND), 15, "what was sent")
        page.close()
    for person in people:
        labels_the_rest(project, person, quality)


def drawn(page: Page, project: Project) -> list[SampleItem]:
    """Carla draws on the batch's page; in the order in which she judges."""
    page.goto(f"/p/{project.slug}/batches/1/")
    press(page, "d")
    page.wait_for_url("**/batches/1/sample/")
    page.wait_for_selector("html[data-ready]")
    sample = Sample.objects.filter(round__project=project).latest("drawn_at")
    return list(SampleItem.objects.filter(sample=sample).order_by("place"))


def shows(page: Page, place: int) -> None:
    """Waits until the dialogue of this place, or the end, is shown."""
    if place == SAMPLE:
        page.wait_for_selector("#end:not([hidden])")
        return
    is_at = "place => document.querySelector('#place').textContent === place"
    page.wait_for_function(is_at, arg=f"{place + 1} of {SAMPLE}")


def judges_blind(page: Page, items: list[SampleItem]) -> None:
    """Every label is right but the first twelve; the first one gets a reason."""
    for place, item in enumerate(items):
        shows(page, place)
        press(page, KEYS[0 if place < WRONG else int(item.label)], "Control+Enter")
        page.wait_for_selector("#comparison:not([hidden])")
        if place == 0:
            press(page, "Alt+n")
            page.keyboard.type("The question is not answered.")
            press(page, "Control+Enter")
        else:
            press(page, "Enter")
    shows(page, SAMPLE)


def judges_open(page: Page, items: list[SampleItem]) -> None:
    """Every label holds but the first."""
    for place in range(len(items)):
        shows(page, place)
        if place:
            agrees(page)
            continue
        press(page, "n", KEYS[0], "Alt+n")
        page.keyboard.type("It is about another card.")
        press(page, "Control+Enter")
    shows(page, SAMPLE)


def exported(page: Page, project: Project) -> list[dict[str, Any]]:
    page.goto(f"/p/{project.slug}/exports/")
    page.get_by_label("diqad", exact=True).check()
    expect(page.locator("#preview")).to_contain_text(f"{BATCH} of {BATCH + REST} dialogues would be exported")
    page.locator("#export button[type=submit]").click()
    link = page.locator("a[href$='/file/']")
    link.wait_for()
    body = page.request.get(link.get_attribute("href") or "").text()
    return [json.loads(line) for line in body.splitlines()]


@pytest.mark.soak
def test_a_batch_is_labelled_judged_returned_relabelled_accepted_and_exported(
    project: Project, mara: User, signs_in: SignedIn
) -> None:
    cache.clear()
    people, carla = [annotator(name, project) for name in ("anna", "bela")], controller("carla", project)
    managing, judging = signs_in(mara), signs_in(carla)
    address = f"/p/{project.slug}/batches/"

    managing.goto(address)
    managing.locator("#cut button[type=submit]").click()
    expect(managing.locator("table")).to_contain_text("Batch 2")
    all_label(signs_in, project, people, quality=2)
    managing.goto(f"{address}1/")
    expect(managing.locator("body")).to_contain_text("Sealed")

    # A blind sample: too many labels are wrong.
    items = drawn(judging, project)
    assert len(items) == SAMPLE
    judges_blind(judging, items)
    expect(judging.locator("#end")).to_contain_text("The sample does not pass.")
    press(judging, "Enter")
    judging.wait_for_url(f"**{address}1/")
    expect(judging.locator("body")).to_contain_text("What is mistaken for what?")
    judging.locator("#reason").focus()
    judging.keyboard.type("An answer to another question is a 0.")
    press(judging, "Control+Enter")  # returns nothing
    judging.get_by_label(f"Type {BATCH}, the number").fill(str(BATCH))
    judging.get_by_role("button", name=f"Return {BATCH} labels").click()
    expect(judging.locator("body")).to_contain_text("Returned: its labels are withdrawn")
    first = Round.objects.get(project=project, batch__number=1, number=1)
    assert (first.state, first.figures["right"], first.figures["judged"]) == (
        "returned",
        SAMPLE - WRONG,
        SAMPLE,
    )
    assert not FinalLabel.objects.filter(task__round=first, superseded_at=None).exists()
    assert not select(project, Filters()).dialogues().exists()

    # Anna learns from it, nameless; then everything is labelled again.
    learning = signs_in(people[0])
    learning.goto(f"/p/{project.slug}/accuracy/")
    expect(learning.locator("body")).to_contain_text(f"{SAMPLE - WRONG} of {SAMPLE} right")
    expect(learning.locator("body")).to_contain_text("The question is not answered.")
    assert "carla" not in learning.content()
    learning.close()
    all_label(signs_in, project, people, quality=1)

    # The next sample with the labels in sight.
    managing.goto(address)
    managing.get_by_label("controllers label first, then see the label").uncheck()
    managing.locator("#plan button[type=submit]").click()
    expect(managing.locator("body")).to_contain_text("Saved.")
    judges_open(judging, drawn(judging, project))
    expect(judging.locator("#end")).to_contain_text("The sample passes.")
    press(judging, "Enter")
    judging.wait_for_url(f"**{address}1/")
    expect(judging.locator("body")).to_contain_text(f"Accept the batch: 1 of {SAMPLE} is wrong")
    press(judging, "Control+Enter")
    expect(judging.locator("body")).to_contain_text("Accepted: its labels can be exported.")
    second = Round.objects.get(project=project, batch__number=1, number=2)
    assert (second.state, second.figures["right"], second.figures["judged"]) == (
        "accepted",
        SAMPLE - 1,
        SAMPLE,
    )
    assert Judgement.objects.filter(superseded_at=None, controller=carla).count() == 2 * SAMPLE
    assert Round.objects.get(project=project, batch__number=2).state == RoundState.SEALED

    # Only what was accepted leaves: nothing of the round before, nothing of the other batch.
    rows = exported(managing, project)
    of_batch = Task.objects.filter(round=second).values_list("dialogue__external_id", flat=True)
    assert sorted(row["id"] for row in rows) == sorted(of_batch)
    assert {(row["batch"], row["round"], row["review"]) for row in rows} == {(1, 2, "accepted")}
    assert {row["label"] for row in rows} == {1}
    assert {len(row["judgements"]) for row in rows} == {2}
    assert {judgement["quality"] for row in rows for judgement in row["judgements"]} == {1}
