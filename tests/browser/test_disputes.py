"""A trainer decides disputes by keyboard only; a person confirms from the list."""

from collections.abc import Callable, Sequence
from uuid import uuid4

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from accounts.models import User
from annotation.labelling.models.labels import FinalLabel, LabelOrigin
from annotation.labelling.services.resolution import decide_dispute
from annotation.labelling.services.submissions import SentLabels, serve, submit_labels
from annotation.tasks.models.work import Assignment, Task, TaskState
from annotation.tasks.services.claiming import claim_next_task
from projects.models import Membership, Project, Role
from tests.browser.conftest import SignedIn
from tests.browser.labelling import annotator, planned

Eventually = Callable[[Callable[[], bool], str], None]
NUGGETS = {"0": "CNUG0", "1": "CNUG", "2": "HNUG", "3": "HNUG*"}


def helpdesk(satisfied: int, **nuggets: str) -> dict[str, object]:
    """Answers to the questions of DCH for four utterances."""
    answers = NUGGETS | {place.removeprefix("u"): label for place, label in nuggets.items()}
    return {
        "dialogue": {"TS": 1, "TA": 1, "CS": satisfied, "HA": 1, "CA": 1},
        "utterances": {place: {"nugget": label} for place, label in answers.items()},
    }


def helpdesk_project(manager: User, count: int) -> Project:
    return planned("dch", manager, count=count, overlap=2, resolution="agreement")


def trainer(project: Project, name: str = "tina") -> User:
    person = annotator(name, project)
    Membership.objects.filter(project=project, user=person).update(roles=[Role.TRAINER])
    return person


def disputed(project: Project, *, rounds: int = 2, names: Sequence[str] = ("anna", "bela")) -> Task:
    """Two people differ on the satisfaction and one nugget; with one round they have not confirmed yet."""
    people = [annotator(name, project) for name in names]
    held = [claim_next_task(annotator=person, project=project, claim_id=uuid4()) for person in people]
    for _round in range(rounds):
        for assignment, answers in zip(held, (helpdesk(1), helpdesk(-1, u1="CNUG0")), strict=True):
            note = "The customer says thank you." if assignment.annotator == people[0] else ""
            sent = SentLabels(id=uuid4(), schema=1, answers=answers, note=note)
            serve(assignment=Assignment.objects.get(pk=assignment.pk))
            submit_labels(annotator=assignment.annotator, assignment_id=assignment.pk, sent=sent)
    return Task.objects.get(pk=held[0].task_id)


def ready(page: Page) -> Page:
    page.wait_for_selector("html[data-ready]")
    return page


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_disputes_by_keyboard_only(mara: User, signs_in: SignedIn) -> None:
    project = helpdesk_project(mara, 2)
    first, second = disputed(project), disputed(project)
    page = signs_in(trainer(project))
    page.goto(f"/p/{project.slug}/disputes/")
    page.wait_for_load_state("networkidle")
    press(page, "Enter")
    page.wait_for_url(f"**/disputes/{first.pk}/")
    ready(page)
    active = page.locator("[data-path][data-active]")
    expect(active).to_have_attribute("data-path", "CS")
    expect(active.locator(".spread")).to_contain_text("anna")
    press(page, "4")
    expect(active).to_have_attribute("data-path", "1/nugget")
    press(page, "t", "t", "Enter")
    expect(page.locator("#reason")).to_be_focused()
    page.keyboard.type("She thanks, and the post names no new problem.")
    press(page, "Control+Enter")
    page.wait_for_url(f"**/disputes/{second.pk}/")
    ready(page)
    final = FinalLabel.objects.get(task=first, superseded_at=None)
    assert final.origin == LabelOrigin.DECIDED
    assert final.answers == helpdesk(1, u1="CNUG0")
    expect(page.locator("[data-path=CS]")).to_have_attribute("data-differs", "")


def test_missing_answers_get_the_focus_first_and_the_reason_last(mara: User, signs_in: SignedIn) -> None:
    project = helpdesk_project(mara, 1)
    task = disputed(project)
    page = signs_in(trainer(project))
    page.goto(f"/p/{project.slug}/disputes/{task.pk}/")
    ready(page)
    press(page, "Control+Enter")
    expect(page.locator("[data-path=CS]")).to_contain_text("Please answer this question.")
    press(page, "4", "2", "Control+Enter")
    expect(page.locator("#reason")).to_be_focused()
    page.keyboard.type("Half written")
    page.reload()
    ready(page)
    expect(page.locator("#reason")).to_have_value("Half written")
    expect(page.locator("[data-path=CS] [aria-pressed=true]")).to_have_count(1)


def test_an_overtaken_trainer_reads_the_decision_and_keeps_the_draft(mara: User, signs_in: SignedIn) -> None:
    project = helpdesk_project(mara, 1)
    task = disputed(project)
    page = signs_in(trainer(project))
    page.goto(f"/p/{project.slug}/disputes/{task.pk}/")
    ready(page)
    press(page, "4", "2")
    page.keyboard.type("Mine.")
    decide_dispute(
        trainer=trainer(project, "tom"),
        task_id=task.pk,
        decision_id=uuid4(),
        answers=helpdesk(0),
        reason="Neither thanks nor complains.",
    )
    press(page, "Control+Enter")
    expect(page.get_by_text("tom has decided this dialogue")).to_be_visible()
    ready(page)
    expect(page.get_by_text("Neither thanks nor complains.")).to_be_visible()
    expect(page.locator("#reason")).to_have_value("Mine.")
    press(page, "Control+Enter")  # goes on; nobody overrules by pressing twice
    page.wait_for_url(f"**/p/{project.slug}/disputes/")
    assert FinalLabel.objects.get(superseded_at=None).answers == helpdesk(0)


def test_a_confirmation_is_opened_from_the_list(
    mara: User, signs_in: SignedIn, eventually: Eventually
) -> None:
    project = helpdesk_project(mara, 1)
    task = disputed(project, rounds=1)
    page = signs_in(annotator("anna", project))
    page.goto(f"/p/{project.slug}/confirmations/")
    page.wait_for_load_state("networkidle")
    press(page, "Enter")
    page.wait_for_url("**/label/*/")
    ready(page)
    press(page, "t", "t", "Control+Enter")
    final = FinalLabel.objects.filter(task=task, origin=LabelOrigin.CONFIRMED)
    eventually(final.exists, "the final label")
    assert Task.objects.get(pk=task.pk).state == TaskState.FINAL


@pytest.mark.parametrize(("language", "theme", "width"), [("en", "light", 1440), ("zh-hans", "dark", 360)])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_window(
    language: str, theme: str, width: int, mara: User, signs_in: SignedIn
) -> None:
    project = helpdesk_project(mara, 3)
    open_, done, confirming = disputed(project), disputed(project), disputed(project, rounds=1)
    tina = trainer(project)
    decide_dispute(
        trainer=tina, task_id=done.pk, decision_id=uuid4(), answers=helpdesk(1), reason="She thanks."
    )
    User.objects.update(language=language, theme=theme)
    widths = {
        tina: [f"disputes/{part}" for part in ("", f"{open_.pk}/", f"{done.pk}/", f"{done.pk}/?again=1")]
        + [f"dialogues/{task.dialogue_id}/" for task in (open_, done, confirming)],
        annotator("anna", project): ["confirmations/", f"dialogues/{done.dialogue_id}/"],
    }
    for person, addresses in widths.items():
        person.refresh_from_db()
        page = signs_in(person, viewport={"width": width, "height": 800})
        for address in addresses:
            page.goto(f"/p/{project.slug}/{address}")
            page.wait_for_load_state("networkidle")
            for summary in page.locator(".person > summary").all():
                summary.click()
            report = Axe().run(page)
            assert report.violations_count == 0, (address, report.generate_report())
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
