"""The page that changes overlap, group and priority of the dialogues that wait, and its operation of the API."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from annotation.labelling.services.planning import plan_labelling
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Task
from dialogues.models import Dialogue
from jobs.models import Job
from projects.models import Project, Role
from projects.services import set_group
from tests.annotation.conftest import imported

pytestmark = pytest.mark.django_db
ADDRESS = "/p/quality/settings/labelling/replan/"
API = "/api/v1/projects/quality/labelling/"


@pytest.fixture
def quality(mara: object) -> Project:
    project = create_project(slug="quality", preset="diqad", actor=mara)  # type: ignore[arg-type]
    imported(project, 3)
    plan_labelling(project=project, actor=None, plan_id=uuid4())
    return project


def test_the_preview_says_what_it_adds_and_changes_nothing(maras_browser: Client, quality: Project) -> None:
    html = maras_browser.get(ADDRESS, {"overlap": 5}).content.decode()
    assert "Adds 9 assignments to 3 dialogues." in html
    assert set(Task.objects.values_list("overlap", flat=True)) == {2}


@pytest.mark.parametrize(
    ("query", "waiting"), [({}, 3), ({"of_group": "-"}, 1), ({"of_group": "=medicine", "show": "1"}, 2)]
)
def test_the_filters_say_how_many_dialogues_they_choose(
    maras_browser: Client,
    quality: Project,
    joins: Callable[..., User],
    query: dict[str, str],
    waiting: int,
) -> None:
    anna = joins("anna", quality, Role.ANNOTATOR)
    set_group(project=quality, actor=None, user=anna, group="medicine")
    Task.objects.filter(pk__in=Task.objects.values("pk")[:2]).update(group="medicine")
    response = maras_browser.get(ADDRESS, query)
    assert response.context["waiting"] == waiting
    html = response.content.decode()
    assert html.index("Which dialogues") < html.index('name="of_group"') < html.index("What changes")


def test_more_people_than_there_are_annotators_are_named(
    maras_browser: Client, quality: Project, mara: User, joins: Callable[..., User]
) -> None:
    joins("anna", quality, Role.ANNOTATOR)
    joins("bela", quality, Role.ANNOTATOR)
    warning = "3 dialogues need more people than there are annotators for them"
    assert warning not in maras_browser.get(ADDRESS, {"overlap": 1}).content.decode()
    assert warning in maras_browser.get(ADDRESS, {"overlap": 3}).content.decode()
    assert warning not in maras_browser.get("/p/quality/").content.decode()
    Task.objects.update(overlap=3, open_slots=3)
    assert warning in maras_browser.get("/p/quality/").content.decode()


def test_the_confirmed_preview_is_carried_out_once(maras_browser: Client, quality: Project) -> None:
    sent = {
        "overlap": 5,
        "group": "-",
        "priority": "",
        "of_group": "",
        "of_import": "",
        "request_id": uuid4(),
    }
    for _n in range(2):
        response = maras_browser.post(ADDRESS, sent, follow=True)
        assert "3 dialogues changed. 9 assignments more." in response.content.decode()
    assert set(Task.objects.values_list("overlap", "open_slots")) == {(5, 5)}


def test_a_form_without_values_says_so(maras_browser: Client, quality: Project) -> None:
    response = maras_browser.post(ADDRESS, {"request_id": uuid4()})
    assert response.status_code == 422
    assert "Nothing would change." in response.content.decode()


def test_showing_what_nothing_changes_says_so(maras_browser: Client, quality: Project) -> None:
    response = maras_browser.get(ADDRESS, {"overlap": "", "group": "", "show": "1"})
    assert response.status_code == 422
    assert "Nothing would change." in response.content.decode()


def test_undone_imports_are_left_out_and_equal_names_told_apart(
    maras_browser: Client, quality: Project
) -> None:
    jobs = [
        Job.objects.create(project=quality, kind="import", state="done", parameters={"name": name})
        for name in ("same.jsonl", "same.jsonl", "other.jsonl", "undone.jsonl")
    ]
    for dialogue, job in zip(Dialogue.objects.order_by("pk"), jobs[:3], strict=True):
        Dialogue.objects.filter(pk=dialogue.pk).update(import_job=job)
    html = maras_browser.get(ADDRESS).content.decode()
    assert html.count("same.jsonl · ") == 2
    assert "other.jsonl · " not in html
    assert "other.jsonl" in html
    assert "undone.jsonl" not in html


def test_an_import_alone_shows_the_form(maras_browser: Client, quality: Project) -> None:
    response = maras_browser.get(ADDRESS, {"of_import": ""})
    assert response.status_code == 200
    assert "What it changes" not in response.content.decode()


def test_a_changed_overlap_in_the_settings_leads_to_the_preview(
    maras_browser: Client, quality: Project
) -> None:
    settings = quality.labelling
    names = [
        "overlap", "resolution", "ties", "order", "min_seconds", "balance", "lease_minutes", "saved_days",
        "open_tasks_per_person", "daily_goal",
    ]  # fmt: skip
    sent = {name: getattr(settings, name) for name in names} | {"overlap": 4, "plan_imported": "on"}
    response = maras_browser.post(reverse("project_labelling", args=["quality"]), sent, follow=True)
    assert "Adds 6 assignments to 3 dialogues." in response.content.decode()


def test_the_settings_and_the_change_are_in_the_api(maras_browser: Client, quality: Project) -> None:
    assert maras_browser.get(API).json()["overlap"] == 2
    answer = maras_browser.patch(API, {"overlap": 3}, content_type="application/json")
    assert answer.json()["overlap"] == 3
    wrong = maras_browser.patch(API, {"overlap": 200}, content_type="application/json")
    assert wrong.status_code == 400
    assert maras_browser.get(f"{API}replans/", {"overlap": 3}).json()["added"] == 3
    sent = {"id": str(uuid4()), "overlap": 3, "priority": -2}
    done = maras_browser.post(f"{API}replans/", sent, content_type="application/json")
    assert done.json() == {"changed": 3, "added": 3, "removed": 0, "job": None}
    assert set(Task.objects.values_list("overlap", "priority")) == {(3, -2)}


def test_dialogues_are_planned_in_the_api(maras_browser: Client, mara: User) -> None:
    project = create_project(slug="quality", preset="diqad", actor=mara)
    imported(project, 2)
    sent = {"plan_id": str(uuid4()), "overlap": 4, "group": "night", "priority": -1}
    for made in (2, 0):
        done = maras_browser.post(f"{API}plan/", sent, content_type="application/json")
        assert (done.status_code, done.json()) == (201, {"made": made})
    assert list(Task.objects.values_list("overlap", "group", "priority")) == [(4, "night", -1)] * 2
    other = maras_browser.post(f"{API}plan/", sent | {"overlap": 2}, content_type="application/json")
    assert (other.status_code, other.json()["code"]) == (409, "id_in_use")
    wrong = maras_browser.post(f"{API}plan/", sent | {"overlap": 0}, content_type="application/json")
    assert wrong.status_code == 400


def test_the_last_change_is_undone_on_the_page(maras_browser: Client, quality: Project) -> None:
    assert "Undo this change" not in maras_browser.get(ADDRESS).content.decode()
    change = str(uuid4())
    maras_browser.post(ADDRESS, {"priority": 5, "request_id": change})
    page = maras_browser.get(ADDRESS).content.decode()
    address = f"{ADDRESS}{change}/undo/"
    assert "affected 3 dialogues." in page
    assert f'action="{address}"' in page
    sent = {"request_id": str(uuid4())}
    for _again in range(2):
        done = maras_browser.post(address, sent, follow=True).content.decode()
        assert "3 dialogues have their earlier values again." in done
        assert "Undo this change" not in done
    assert set(Task.objects.values_list("priority", flat=True)) == {0}
    again = maras_browser.post(address, {"request_id": str(uuid4())}, follow=True).content.decode()
    assert "This change is undone already." in again


def test_a_change_is_undone_in_the_api(maras_browser: Client, quality: Project) -> None:
    change = str(uuid4())
    maras_browser.post(f"{API}replans/", {"id": change, "overlap": 4}, content_type="application/json")
    address = f"{API}replans/{change}/undo/"
    done = maras_browser.post(address, {"id": str(uuid4())}, content_type="application/json")
    assert done.json() == {"changed": 3, "kept": 0, "added": 0, "removed": 6, "job": None}
    again = maras_browser.post(address, {"id": str(uuid4())}, content_type="application/json")
    assert (again.status_code, again.json()["code"]) == (409, "already_undone")
