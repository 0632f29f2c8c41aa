"""Copying a project, the list of archived ones, the history, and presets explained."""

from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from annotation.batch_review.services.batch_plan import update_batch_plan
from annotation.labelling.services.settings import update_labelling
from annotation.project_setup.presets.registry import PRESETS
from annotation.project_setup.services import create_project
from annotation.tasks.models.rounds import Batch, Round
from assessment.setup.services import update_assessment
from assessment.systems.services.systems import update_system
from dialogues.models import Dialogue
from jobs.models import Job
from projects.models import Event, Membership, Project, Role
from projects.services import archive_project, set_group, set_member, set_member_languages, update_project
from projects.webhooks.services import CHOICES, change_webhook, create_webhook
from tests.annotation.conftest import imported
from tests.assessment.steps import add_systems
from tests.conftest import Joins

pytestmark = pytest.mark.django_db
EVERYTHING = {"kind": "everything"}


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


def test_every_copy_is_offered_a_title_of_its_own(maras_browser: Client, quality: Project) -> None:
    for title in ("Quality (copy)", "Quality (copy 2)", "Quality (copy 3)"):
        form = maras_browser.get("/p/quality/settings/copy/").context["form"]
        assert form["title"].value() == title
        maras_browser.post("/p/quality/settings/copy/", {"title": title, "slug": "", "id": str(uuid4())})
        assert Project.objects.filter(title=title).count() == 1
    quality.title = "Q" * 200
    quality.save()
    form = maras_browser.get("/p/quality/settings/copy/").context["form"]
    assert len(form["title"].value()) <= 200


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
    [
        (
            "en",
            {
                "labelling": "People per dialogue: 2 → 7 · Shortest time per dialogue, in seconds: 20 → 3<",
                "order": "Order of the dialogues: At random → As they were imported<",
                "waiting": "3 people per dialogue · group medicine · 158 dialogues<",
                "group": "anna · none → medicine<",
                "edited": "Title<",
                "roles": "Annotator → Annotator, Trainer<",
                "languages": "every language → English<",
            },
        ),
        (
            "zh-hans",
            {
                "labelling": "每段对话的标注人数：2 → 7",
                "waiting": "每段对话 3 人 · 组 medicine · 158 段对话<",
            },
        ),
    ],
)
def test_the_history_says_what_changed_and_what_its_numbers_count(
    maras_browser: Client, quality: Project, mara: User, language: str, words: dict[str, str]
) -> None:
    anna = User.objects.get(username="anna")
    update_labelling(project=quality, actor=mara, changes={"order": "given"})
    update_project(project=quality, actor=mara, changes={"title": "Quality of chats"})
    set_member(project=quality, actor=mara, user=anna, roles=[Role.ANNOTATOR, Role.TRAINER])
    set_member_languages(project=quality, actor=mara, user=anna, languages=["en"])
    Event.objects.create(
        project=quality, kind="replanned", subject_type="annotation.replan", subject_id=str(uuid4()),
        data={"overlap": 3, "group": "medicine", "priority": None, "changed": 158, "before": []},
    )  # fmt: skip
    User.objects.update(language=language)
    html = maras_browser.get("/p/quality/history/").content.decode()
    for name, text in words.items():
        assert text in html, name


def test_a_setting_has_one_name_in_its_form_and_in_the_history(
    maras_browser: Client, quality: Project, mara: User
) -> None:
    update_labelling(project=quality, actor=mara, changes={"daily_goal": 31})
    assert "Daily goal per person" in maras_browser.get("/p/quality/settings/").content.decode()
    history = maras_browser.get("/p/quality/history/").content.decode()
    assert "Daily goal per person: 20 → 31<" in history


def test_the_history_opens_with_events_of_other_releases(maras_browser: Client, quality: Project) -> None:
    for subject, values in (
        ("annotation.gone", {"size": 1}),
        ("annotation.labellingsettings", {"gone": True}),
    ):
        Event.objects.create(
            project=quality, kind="labelling_changed", subject_type=subject, subject_id="1",
            data={"before": {}, "after": values},
        )  # fmt: skip
    html = maras_browser.get("/p/quality/history/").content.decode()
    assert "Size: none → 1<" in html
    assert "Gone: none → yes<" in html


def test_the_history_opens_with_changes_of_lists_and_names_only_what_changed(
    maras_browser: Client, mara: User
) -> None:
    study = create_project(slug="study", preset="live-assessment", actor=mara, title="Study")
    hook, _secret = create_webhook(
        project=study, actor=mara, webhook_id=uuid4(), url="https://example.org/in", events=[CHOICES[0]]
    )
    change_webhook(webhook=hook, actor=mara, events=CHOICES[:2])
    update_system(system=add_systems(study)[-1], actor=mara, identity_words=["parrot"])
    statements = study.assessment.statements[:-1]
    update_assessment(project=study, actor=mara, changes={"statements": statements})
    html = maras_browser.get("/p/study/history/").content.decode()
    for changed in (">Events<", ">Words that identify it<", ">Statements<"):
        assert changed in html
    for same in ("https://example.org/in →", "degraded →"):
        assert same not in html


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
    html = maras_browser.get("/p/quality/history/", EVERYTHING).content.decode()
    assert words in html
    assert "labellingsettings" not in html


def test_the_history_shows_decisions_and_settings_first_and_everyday_work_if_asked(
    maras_browser: Client, quality: Project
) -> None:
    for subject in ("annotation.task", "annotation.round"):
        Event.objects.create(
            project=quality, kind="state", subject_type=subject, subject_id="5", before="open", after="sealed"
        )
    html = maras_browser.get("/p/quality/history/").content.decode()
    assert html.split("<tbody>")[1].count("State changed") == 1
    html = maras_browser.get("/p/quality/history/", EVERYTHING).content.decode()
    assert html.split("<tbody>")[1].count("State changed") == 2
    assert ">task 5<" in html


def test_the_history_says_what_the_system_did(maras_browser: Client, quality: Project) -> None:
    Event.objects.create(project=quality, kind="registered", subject_type="preference.model", subject_id="5")
    html = maras_browser.get("/p/quality/history/").content.decode()
    assert html.split("<tbody>")[1].count("automatically") == 1


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ([{"overlap": 2, "dialogues": [1]}], {"overlap": 3}, "People per dialogue: 2 → 3 · 2 dialogues<"),
        (
            [{"overlap": 1, "dialogues": [1]}, {"overlap": 2, "dialogues": [2]}],
            {"overlap": 3},
            "People per dialogue: 1, 2 → 3 · 2 dialogues<",
        ),
        (
            [{"group": "", "priority": 0, "dialogues": [1]}],
            {"group": "medicine", "priority": -5},
            "Labelled by: everybody → medicine · Priority: 0 → -5 · 2 dialogues<",
        ),
        ([{"group": "medicine", "dialogues": [1]}], {"group": ""}, "Labelled by: medicine → everybody"),
        (None, {"overlap": 3, "group": ""}, "3 people per dialogue · 2 dialogues · labelled by everybody<"),
    ],
)
def test_the_history_says_what_waiting_dialogues_had_before(
    maras_browser: Client,
    quality: Project,
    before: list[dict[str, Any]] | None,
    after: dict[str, Any],
    shown: str,
) -> None:
    data = {"overlap": None, "group": None, "priority": None, "changed": 2, **after, "before": before}
    Event.objects.create(
        project=quality, kind="replanned", subject_type="annotation.replan", subject_id="1", data=data
    )
    assert shown in maras_browser.get("/p/quality/history/").content.decode()


def test_a_value_that_stays_is_neither_recorded_nor_shown(
    maras_browser: Client, quality: Project, mara: User
) -> None:
    changes = {"overall_percent": Decimal("92.00"), "class_percent": Decimal("100.00")}
    update_batch_plan(project=quality, actor=mara, changes=changes)
    event = Event.objects.get(project=quality, kind="batch_plan_changed")
    assert event.data == {"before": {"class_percent": "90"}, "after": {"class_percent": "100"}}
    event.data = {"before": {"overall_percent": 92}, "after": {"overall_percent": "92"}}  # an earlier release
    event.save()
    assert "92" not in maras_browser.get("/p/quality/history/").content.decode().split("<tbody>")[1]


def test_the_history_names_the_job_that_changed_its_state(maras_browser: Client, quality: Project) -> None:
    job = Job.objects.create(project=quality, kind="export", parameters={"format": "sft"})
    for key in (str(job.pk), str(uuid4())):
        Event.objects.create(
            project=quality, kind="state", subject_type="jobs.job", subject_id=key,
            before="running", after="done", data={"kind": "export"},
        )  # fmt: skip
    html = maras_browser.get("/p/quality/history/", EVERYTHING).content.decode()
    assert ">Export as sft</span>" in html
    assert ">Export</span>" in html


def test_the_history_names_and_filters_batches_imports_and_invitations(
    maras_browser: Client, quality: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    job = Job.objects.create(project=quality, kind="import", parameters={"name": "chats.jsonl"})
    batch = Batch.objects.create(project=quality, number=3, size=2)
    row = Round.objects.create(project=quality, batch=batch, number=2)
    about: dict[str, dict[str, Any]] = {
        "imports": {
            "kind": "state",
            "subject_type": "jobs.job",
            "subject_id": str(job.pk),
            "data": {"kind": "import"},
        },
        "batches": {"kind": "state", "subject_type": "annotation.round", "subject_id": str(row.pk)},
        "invitations": {"kind": "invited_by_link", "subject_type": "projects.invitations", "subject_id": "7"},
    }
    for event in about.values():
        for _n in range(10):
            Event.objects.create(project=quality, **event)
    Event.objects.create(
        project=quality, kind="cut", subject_type="cut", subject_id="1", data={"batches": [batch.pk]}
    )
    words = {
        "imports": f'href="/p/quality/imports/{job.pk}/" dir="auto">Import of chats.jsonl</a>',
        "batches": 'href="/p/quality/batches/3/" dir="auto">batch 3, round 2</a>',
        "invitations": "People were invited by link",
    }
    for kind in words:
        with django_assert_max_num_queries(16):
            html = maras_browser.get("/p/quality/history/", {"kind": kind}).content.decode()
        for other, text in words.items():
            assert html.count(text) == (10 if other == kind else 0), (kind, other)
        assert ('dir="auto">batch 3</a>' in html) == (kind == "batches")


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
