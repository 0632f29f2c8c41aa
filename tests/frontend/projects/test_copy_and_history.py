"""Copying a project, the list of archived ones, the history, and presets explained."""

from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import User
from annotation.labelling.services.settings import update_labelling
from annotation.project_setup.presets.registry import PRESETS
from annotation.project_setup.services import create_project
from dialogues.models import Dialogue
from jobs.models import Job
from projects.models import Event, Membership, Project, Role
from projects.services import archive_project, set_group
from tests.annotation.conftest import imported
from tests.conftest import Joins

pytestmark = pytest.mark.django_db


@pytest.fixture
def quality(mara: User, joins: Joins) -> Project:
    project = create_project(slug="quality", preset="diqad", actor=mara, title="Quality")
    update_labelling(project=project, actor=mara, changes={"overlap": 7, "min_seconds": 3})
    anna = joins("anna", project, Role.ANNOTATOR)
    set_group(project=project, actor=mara, user=anna, group="medicine")
    imported(project, 2)
    return project


def copied(browser: Client, **more: str) -> Project:
    sent = {"title": "Quality 2", "slug": "quality-2", "id": str(uuid4()), **more}
    response = browser.post("/p/quality/settings/copy/", sent)
    assert response.headers["Location"] == "/p/quality-2/"
    return Project.objects.get(slug="quality-2")


def test_a_copy_has_the_settings_and_questions_but_no_dialogues(
    maras_browser: Client, quality: Project
) -> None:
    made = copied(maras_browser)
    assert (made.labelling.overlap, made.labelling.min_seconds) == (7, 3)
    source = Project.objects.get(pk=quality.pk).labelling.schema
    assert source is not None
    assert made.labelling.schema is not None
    assert made.labelling.schema.content == source.content
    assert made.guidelines_en == quality.guidelines_en
    assert not Dialogue.objects.filter(project=made).exists()
    assert Membership.objects.get(project=made).roles == [Role.MANAGER]


def test_people_come_along_if_asked(maras_browser: Client, quality: Project) -> None:
    made = copied(maras_browser, with_people="on")
    assert Membership.objects.get(project=made, user__username="anna").group == "medicine"


def test_a_taken_short_name_is_refused(maras_browser: Client, quality: Project) -> None:
    sent = {"title": "Again", "slug": "quality", "id": str(uuid4())}
    response = maras_browser.post("/p/quality/settings/copy/", sent)
    assert response.status_code == 422
    assert "There is already a project" in response.content.decode()


def test_an_authoring_project_and_a_study_are_copied(maras_browser: Client, mara: User) -> None:
    for preset in ("diamante", "live-assessment", "blank-labelling", "blank-authoring"):
        create_project(slug=preset, preset=preset, actor=mara)
        body = {"id": str(uuid4()), "slug": f"{preset}-2", "title": "Copy"}
        api = f"/api/v1/projects/{preset}/copies/"
        for _n in range(2):
            made = maras_browser.post(api, body, content_type="application/json")
            assert (made.status_code, made.json()["slug"]) == (201, f"{preset}-2")


def test_archived_projects_are_listed(maras_browser: Client, quality: Project, mara: User) -> None:
    archive_project(project=quality, actor=mara)
    assert "Archived projects" in maras_browser.get("/").content.decode()
    assert "Quality" in maras_browser.get("/projects/archived/").content.decode()
    api = "/api/v1/projects/"
    assert maras_browser.get(api).json()["results"] == []
    assert maras_browser.get(api, {"archived": "true"}).json()["results"][0]["slug"] == "quality"


def test_the_history_says_what_happened_and_who_did_it(maras_browser: Client, quality: Project) -> None:
    html = maras_browser.get("/p/quality/history/").content.decode()
    changed = "Labelling settings changed"
    assert html.count(changed) == 2  # in the filter and in the list
    assert "mara" in html
    only = maras_browser.get("/p/quality/history/", {"kind": "member_group"}).content.decode()
    assert only.count(changed) == 1
    assert "anna" in only


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "State changed: Saved for later → In work"), ("zh-hans", "状态有变化：已暂存 → 进行中")],
)
def test_the_history_names_states_and_no_rows_of_settings(
    maras_browser: Client, quality: Project, language: str, words: str
) -> None:
    User.objects.update(language=language)
    Event.objects.create(
        project=quality, kind="state", subject_type="annotation.assignment", subject_id="5",
        before="saved", after="active",
    )  # fmt: skip
    html = maras_browser.get("/p/quality/history/").content.decode()
    assert words in html
    assert "labellingsettings" not in html


def test_the_history_names_the_job_that_changed_its_state(maras_browser: Client, quality: Project) -> None:
    job = Job.objects.create(project=quality, kind="export", parameters={"format": "sft"})
    for key in (str(job.pk), str(uuid4())):
        Event.objects.create(
            project=quality, kind="state", subject_type="jobs.job", subject_id=key,
            before="running", after="done", data={"kind": "export"},
        )  # fmt: skip
    html = maras_browser.get("/p/quality/history/").content.decode()
    assert ">Export as sft</span>" in html
    assert ">Export</span>" in html


def test_every_preset_is_explained(maras_browser: Client, quality: Project) -> None:
    html = maras_browser.get("/projects/new/").content.decode()
    for preset in PRESETS.values():
        assert str(preset.title) in html
        assert str(preset.explanation) in html
        assert preset.paper in html


def test_the_api_searches_texts_and_takes_format_json(maras_browser: Client, quality: Project) -> None:
    first = Dialogue.objects.earliest("pk")
    address = "/api/v1/projects/quality/dialogues/"
    found = maras_browser.get(address, {"q": f"words 0 of {first.pk}", "format": "json"}).json()
    assert [row["id"] for row in found["results"]] == [first.pk]
    assert found["searched_to"] is None
    assert maras_browser.get(address, {"q": "words", "before": str(first.pk)}).json()["results"] == []
    assert maras_browser.get("/api/schema/", {"format": "json"}).json()["openapi"]
