"""The statistics of a labelling project in a browser: no axe violation, nothing wider than the window."""

from typing import Any
from uuid import uuid4

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from accounts.models import User
from annotation.labelling.models.statistics import LabelStatistics
from annotation.labelling.services.statistics import start_statistics
from annotation.project_setup.services import create_project
from projects.models import Membership, Project, Role
from tests.annotation.labelling.test_agreement import labels, task_in
from tests.browser.conftest import SignedIn
from tests.sizes import LOOKS

PAGE = "/p/helpdesk/statistics/"
ANSWERS = [
    ({"A": 1, "S": 0, "E": 2}, "CNUG0 HNUG CNUG*"),
    ({"A": 0, "S": -1, "E": 1}, "CNUG0 HNUG CNaN"),
    ({"A": -1, "S": 1, "E": 2}, "CNUG0 HNaN CNaN"),
]


@pytest.fixture
def helpdesk(mara: User) -> Project:
    """Twelve dialogues by three people over two weeks, who agree now and then."""
    project = create_project(slug="helpdesk", preset="dialeval", actor=mara)
    Membership.objects.get_or_create(project=project, user=mara, defaults={"roles": [Role.MANAGER]})
    people = [User.objects.create(username=name) for name in ("ann", "bob", "carla")]
    for n in range(12):
        task = task_in(project, f"d{n}")
        for at, person in enumerate(people):
            answers: tuple[dict[str, Any], str] = ANSWERS[(n + at * (n % 4 == 0)) % 3]
            labels(task, person, *answers, stored_at=f"2026-03-{n + 1:02}T12:00Z", active_ms=9000 + 500 * n)
    return project


@pytest.mark.soak
@pytest.mark.parametrize(("width", "language", "theme"), LOOKS)
def test_the_page_is_accessible_and_fits(
    helpdesk: Project, mara: User, signs_in: SignedIn, language: str, theme: str, width: int, request: Any
) -> None:
    User.objects.filter(pk=mara.pk).update(language=language, theme=theme)
    page = signs_in(User.objects.get(pk=mara.pk), viewport={"width": width, "height": 800})
    page.goto(PAGE)
    for summary in page.locator(".plot summary").all():
        summary.click()
    report = Axe().run(page)
    assert not report.violations_count, report.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 1


def test_a_question_is_chosen_by_its_form(helpdesk: Project, mara: User, signs_in: SignedIn) -> None:
    page = signs_in(mara)
    page.goto(PAGE)
    page.get_by_label("Question", exact=True).select_option("S")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_label("Question", exact=True)).to_have_value("S")
    chosen = page.locator("#question option:checked")
    expect(chosen).to_have_text("Customer satisfaction")


def test_the_page_shows_a_finished_job_by_itself(helpdesk: Project, mara: User, signs_in: SignedIn) -> None:
    page = signs_in(mara)
    start_statistics(job_id=uuid4(), project=helpdesk, actor=mara)
    page.goto(PAGE)
    expect(page.locator("#agreement")).to_be_visible(timeout=20_000)
    assert LabelStatistics.objects.get().submissions == 36
