"""Every page of batches: read by a screen reader, in both themes and languages, on a telephone."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.core.cache import cache
from playwright.sync_api import Page, expect

from accounts.models import User
from annotation.batch_review.models import Appeal, BatchPlan, Sample, SampleItem
from annotation.batch_review.services.appeals import raise_appeal, settle_appeal
from annotation.batch_review.services.cutting import cut_batches
from annotation.batch_review.services.judgements import SentJudgement, judge
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.sealing import seal_when_complete
from annotation.batch_review.services.verdicts import return_round
from annotation.labelling.models.labels import FinalLabel
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.tasks.models.rounds import Round, RoundState
from annotation.tasks.services.claiming import claim_next_task
from projects.models import Membership, Project, Role
from tests.annotation.batch_review.conftest import diqad_answers
from tests.browser.conftest import SignedIn
from tests.browser.labelling import annotator, planned
from tests.browser.test_sample_review import controller

# By who opens them.
PAGES = {
    "mara": ["batches/", "batches/1/", "batches/2/", "batches/boards/"],
    "carla": ["batches/1/", "batches/1/?round=1", "batches/3/"],
    "tina": ["appeals/", "batches/1/?round=1"],
    "anna": ["accuracy/", "accuracy/?show=all"],
}
NARROW = {"width": 360, "height": 740}


@pytest.fixture
def people(mara: User) -> dict[str, User]:
    """Batch 1 was returned and is open again, 2 is sealed, 3 in review and can only fail; an appeal is open."""
    cache.clear()
    project = planned("diqad", mara, count=12, overlap=1)
    BatchPlan.objects.create(project=project, question="quality", batch_size=4, sample_size=4, double_every=0)
    cut_batches(project=project, actor=None, cut_id=uuid4(), groups=[])
    anna, carla, tina = annotator("anna", project), controller("carla", project), annotator("tina", project)
    Membership.objects.filter(project=project, user=tina).update(roles=[Role.TRAINER])
    for n in range(12):
        held = claim_next_task(annotator=anna, project=project, claim_id=uuid4())
        sent = SentLabels(id=uuid4(), schema=1, answers=diqad_answers(n % 3))
        submit_labels(annotator=anna, assignment_id=held.pk, sent=sent)
    first, second, third = Round.objects.filter(project=project).order_by("batch__number")
    for row in (first, second, third):
        seal_when_complete(round_id=row.pk)
    for row, count in ((third, 3), (first, 4)):
        judged_wrong(project, row, carla, count)
    item = SampleItem.objects.filter(sample__round=first).earliest("place")
    reason = "A long reason that names the guideline and what follows from it. " * 6
    return_round(controller=carla, round_id=first.pk, decision_id=uuid4(), reason=reason)
    raise_appeal(by=anna, item_id=item.pk, appeal_id=uuid4(), reason="It names every step.")
    return {"mara": mara, "carla": carla, "tina": tina, "anna": anna}


def judged_wrong(project: Project, row: Round, by: User, count: int) -> None:
    sample: Sample = draw_sample(controller=by, round_id=row.pk, sample_id=uuid4())
    for item in SampleItem.objects.filter(sample=sample).order_by("place")[:count]:
        answers = diqad_answers(2 if item.label != "2" else 0)
        sent = SentJudgement(id=uuid4(), answers=answers, reason="The second question has no answer.")
        judge(controller=by, item_id=item.pk, sent=sent)


def violations(page: Page) -> object:
    return [
        (violation["id"], violation["nodes"][0]["html"])
        for violation in Axe().run(page).response["violations"]
    ]


def each_page(
    people: dict[str, User], signs_in: SignedIn, check: Callable[[Page], object], **options: object
) -> dict[str, object]:
    """What is wrong, by page; nothing where `check` finds nothing."""
    violations_by_page = {}
    for name, addresses in PAGES.items():
        page = signs_in(people[name], **options)
        for address in addresses:
            page.goto(f"/p/diqad/{address}")
            if wrong := check(page):
                violations_by_page[f"{name}: {address}"] = wrong
        page.close()
    return violations_by_page


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_hinders_anybody(people: dict[str, User], signs_in: SignedIn, theme: str) -> None:
    assert each_page(people, signs_in, violations, color_scheme=theme) == {}


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_nothing_is_cut_off_on_a_telephone(people: dict[str, User], signs_in: SignedIn, locale: str) -> None:
    def too_wide(page: Page) -> object:
        return page.evaluate("document.documentElement.scrollWidth") != 360

    assert each_page(people, signs_in, too_wide, viewport=NARROW, locale=locale) == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_settlement_that_comes_too_late_can_still_be_read(
    people: dict[str, User], signs_in: SignedIn, theme: str
) -> None:
    page = signs_in(people["tina"], viewport=NARROW, color_scheme=theme)
    page.goto("/p/diqad/appeals/")
    page.get_by_role("textbox", name="Reason").fill("It does name them, see page 2 of the guidelines.")
    tom = annotator("tom", Project.objects.get())
    settle_appeal(trainer=tom, appeal_id=Appeal.objects.get().pk, upheld=False, settlement="It names three.")
    page.get_by_role("button", name="The label was right").click()
    expect(page.get_by_role("alert")).to_contain_text("tom has already settled this appeal.")
    expect(page.get_by_role("alert")).to_contain_text("It does name them, see page 2 of the guidelines.")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_a_refused_settlement_is_where_the_keys_go(people: dict[str, User], signs_in: SignedIn) -> None:
    Appeal.objects.update(by=people["tina"])
    page = signs_in(people["tina"])
    page.goto("/p/diqad/appeals/")
    page.get_by_role("textbox", name="Reason").fill("I said so.")
    page.get_by_role("button", name="The label was right").click()
    expect(page.get_by_role("alert")).to_contain_text("You raised this appeal")
    field = page.get_by_role("textbox", name="Reason")
    expect(field).to_have_value("I said so.")
    expect(field).to_be_focused()
    assert violations(page) == []


def test_both_explanations_of_the_sample_open(people: dict[str, User], signs_in: SignedIn) -> None:
    page = signs_in(people["carla"])
    page.goto("/p/diqad/batches/3/")
    for place, words in enumerate(
        ("Nobody checks every label of a batch.", "Each step is one count of wrong labels in the whole batch")
    ):
        explanation = page.get_by_text(words)
        expect(explanation).to_be_hidden()
        page.get_by_text("How to read this", exact=True).nth(place).click()
        expect(explanation).to_be_visible()
    expect(page.get_by_text("How to read this", exact=True)).to_have_count(2)


PAINTED = """one => {
  const probe = document.createElement("i");
  probe.style.color = "var(--bad)";
  document.body.append(probe);
  const colours = [getComputedStyle(one).backgroundColor, getComputedStyle(probe).color];
  probe.remove();
  return colours;
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_button_that_returns_a_batch_is_red(
    people: dict[str, User], signs_in: SignedIn, theme: str
) -> None:
    page = signs_in(people["carla"], color_scheme=theme)
    page.goto("/p/diqad/batches/3/")
    background, red = page.get_by_role("button", name="Return 4 labels").evaluate(PAINTED)
    assert background == red
    assert background == {"light": "rgb(172, 39, 36)", "dark": "rgb(246, 144, 136)"}[theme]


def live_labels(row: Round) -> int:
    return FinalLabel.objects.filter(task__round=row, superseded_at=None).count()


def test_a_batch_is_returned_only_with_its_number_and_the_return_is_undone(
    people: dict[str, User], signs_in: SignedIn
) -> None:
    row = Round.objects.get(batch__number=3)
    # The early return of a blind sample could not be undone.
    Sample.objects.filter(round=row).update(is_blind=False)
    page = signs_in(people["carla"])
    page.goto("/p/diqad/batches/3/")
    page.get_by_label("What the annotators should do differently").fill("Look for the next step.")
    number = page.get_by_label("Type 4, the number of labels that are withdrawn")
    button = page.get_by_role("button", name="Return 4 labels")
    for typed in ("", "3"):
        number.fill(typed)
        button.click()
        expect(number).to_be_focused()  # the browser names what is missing
        assert not number.evaluate("one => one.validity.valid")
    row.refresh_from_db()
    assert (row.state, live_labels(row)) == (RoundState.IN_REVIEW, 4)

    number.fill("4")
    button.click()
    expect(page.get_by_text("Returned: its labels are withdrawn")).to_be_visible()
    row.refresh_from_db()
    assert (row.state, live_labels(row)) == (RoundState.RETURNED, 0)

    page.get_by_role("button", name="Undo the return").click()
    expect(page.get_by_text("The return is undone: the labels count again.")).to_be_visible()
    expect(button).to_be_visible()  # the batch waits for its verdict again
    row.refresh_from_db()
    assert (row.state, live_labels(row)) == (RoundState.IN_REVIEW, 4)
    assert Round.objects.filter(batch__number=3).count() == 1
