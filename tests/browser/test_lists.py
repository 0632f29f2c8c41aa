"""Lists in a browser: a click on a head sorts, ticked dialogues are changed together, narrow screens scroll nothing."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from annotation.labelling.services.planning import plan_labelling
from annotation.labelling.services.submissions import SentLabels, skip_task, submit_labels
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Task
from annotation.tasks.services.claiming import claim_next_task
from dialogues.models import Dialogue, Utterance
from projects.models import Project, Role
from projects.services import set_member
from tests.annotation.conftest import imported
from tests.annotation.onboarding.conftest import RIGHT
from tests.browser.conftest import SignedIn
from tests.browser.labelling import annotator
from tests.browser.test_disputes import trainer


@pytest.fixture
def quality(mara: User, ann: User) -> Project:
    """Four dialogues in two languages, planned."""
    project = create_project(slug="quality", preset="diqad", actor=mara)
    set_member(project=project, actor=mara, user=ann, roles=[Role.ANNOTATOR])
    for number, dialogue in enumerate(imported(project, 4)):
        Dialogue.objects.filter(pk=dialogue.pk).update(
            language=("en", "zh")[number % 2], utterance_count=number % 3
        )
    plan_labelling(project=project, actor=mara, plan_id=uuid4())
    return project


@pytest.fixture
def page(quality: Project, mara: User, signs_in: SignedIn) -> Page:
    return signs_in(mara)


def test_a_click_sorts_and_ticked_dialogues_are_changed_together(page: Page, quality: Project) -> None:
    page.goto("/p/quality/dialogues/")
    page.get_by_role("link", name="Utterances").click()
    expect(page.get_by_role("columnheader", name="Utterances")).to_have_attribute("aria-sort", "descending")
    change = page.get_by_role("button", name="Change the selected ones")
    expect(change).to_be_disabled()
    page.get_by_label("Select all on this page").check()
    expect(change).to_contain_text("4")
    page.get_by_role("checkbox", name="Select dialogue").first.uncheck()
    expect(change).to_contain_text("3")
    change.click()
    expect(page.get_by_text("Only the 3 dialogues that you selected.")).to_be_visible()
    page.get_by_label("Priority").fill("-2")
    page.get_by_role("button", name="Show what it changes").click()
    page.get_by_role("button", name="Change them").click()
    expect(page.get_by_text("3 dialogues changed.")).to_be_visible()
    assert Task.objects.filter(priority=-2).count() == 3


def test_a_manager_chooses_the_languages_of_a_member(page: Page, quality: Project, ann: User) -> None:
    page.goto("/p/quality/members/")
    row = page.locator(f"#member-{ann.pk}")
    row.locator("details.reads summary").first.click()
    row.get_by_label("中文").check()
    row.get_by_role("button", name="Save").click()
    expect(row.locator("details.reads summary").first).to_contain_text("中文")
    ann.refresh_from_db()
    assert ann.reading_languages == ["zh"]


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_sticks_out(page: Page, quality: Project, mara: User, language: str, width: int) -> None:
    User.objects.filter(pk=mara.pk).update(language=language)
    page.set_viewport_size({"width": width, "height": 800})
    for name, address in (
        ("dialogues", "/p/quality/dialogues/?sort=-utterances"),
        ("members", "/p/quality/members/?sort=name"),
        (
            "replan",
            f"/p/quality/settings/labelling/replan/?of_dialogues={Dialogue.objects.earliest('pk').pk}&priority=2",
        ),
        ("profile", "/account/"),
    ):
        page.goto(address)
        if name == "members":
            page.locator("details.reads summary").first.click()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address


DIFFERENT = {
    "dialogue": {
        "verify": 1,
        "quality": 1,
        "reasons_1": ["incomplete", "less_informative", "less_proactive"],
    },
    "utterances": {},
}


def disagreed(project: Project) -> None:
    """Two people differ on three dialogues and skip the last; every opening is long and has no space in it."""
    project.labelling.min_seconds = 0
    project.labelling.save()
    skipped = Dialogue.objects.filter(project=project).latest("pk")
    Utterance.objects.filter(dialogue__project=project).update(text="www.example.org/" + "long-address" * 20)
    by_person: dict[str, Mapping[str, Any]] = {
        "anna": RIGHT,
        "annegret-with-a-very-long-sign-in-name": DIFFERENT,
    }
    for name, answers in by_person.items():
        person = annotator(name, project)
        for _n in range(4):
            held = claim_next_task(annotator=person, project=project, claim_id=uuid4())
            sent = SentLabels(id=uuid4(), schema=1, answers=answers)
            if held.dialogue == skipped:
                skip_task(annotator=person, assignment_id=held.pk, reason="It is cut off.")
            else:
                submit_labels(annotator=person, assignment_id=held.pk, sent=sent)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_disagreement_does_not_stick_out(quality: Project, signs_in: SignedIn, language: str) -> None:
    disagreed(quality)
    tina = trainer(quality)
    User.objects.filter(pk=tina.pk).update(language=language)
    page = signs_in(tina, viewport={"width": 390, "height": 800})
    for question in ("", "quality"):
        page.goto(f"/p/quality/disagreed/?question={question}")
        expect(page.locator(".label-facts")).to_have_count(3)
        expect(page.locator("#skipped-title")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), question
