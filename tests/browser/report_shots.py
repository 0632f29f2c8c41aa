"""Pictures of the report of a study, and of its conversations."""

from __future__ import annotations

from typing import Any, Final

from playwright.sync_api import Page

from tests.browser.shots import Shot, open_tables

SLUG: Final = "rated"


def in_rated(_world: object) -> tuple[str]:
    return (SLUG,)


def of_conversation(_world: object) -> tuple[str, int]:
    from dialogues.models import Dialogue

    return SLUG, Dialogue.objects.filter(project__slug=SLUG, state="finished").latest("id").pk


def scroll_to_systems(page: Page) -> None:
    page.locator("#scores-title").evaluate("title => title.scrollIntoView()")


REPORT_SHOTS: Final = [
    Shot("assessment_report", who="mara", args=in_rated, file="assessment-report-rated", main=True),
    Shot("assessment_report", who="mara", args=in_rated, act=open_tables, file="assessment-report-tables"),
    Shot(
        "assessment_report", who="mara", args=lambda _world: ("empty-study",), file="assessment-report-empty"
    ),
    Shot(
        "assessment_report",
        who="mara",
        args=in_rated,
        act=scroll_to_systems,
        file="assessment-report-systems",
        whole=False,
    ),
    Shot("dialogues", who="mara", args=in_rated, file="dialogues-study"),
    Shot("dialogue", who="mara", args=of_conversation, file="dialogue-study"),
    Shot("exports", who="mara", args=in_rated, file="exports-study"),
]


def fill_report(mara: Any) -> None:
    """A study with a closed run and one that is open, and a study without a run."""
    from annotation.project_setup.services import create_project
    from assessment.sessions.models.runs import Run
    from assessment.sessions.services.runs import close_run
    from tests.assessment.taken_part import create_study, fill_run

    study = create_study(mara, SLUG)
    fill_run(study, "may", careful=6, careless=2)
    close_run(run=Run.objects.get(project=study), actor=mara)
    fill_run(study, "june", careful=5, careless=2)
    create_project(slug="empty-study", preset="live-assessment", actor=mara, title="New study 新评测")
