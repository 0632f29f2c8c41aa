"""A project's pages in the browser's words: forms sent, pages read, both languages."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from annotation.authoring.services.settings import update_authoring
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment, Task
from dialogues.models import Dialogue, Utterance
from frontend.ui.markdown import to_html
from generation.models import BackendKind, Generator
from jobs.services import record_heartbeat
from projects.models import Event, Membership, Project, Role
from projects.roles import Capability
from projects.selectors import capabilities_of
from projects.services import archive_project, project_version, update_project
from tests.conftest import Joins

pytestmark = pytest.mark.django_db
PAGES = ["project", "guidelines", "project_settings", "members", "jobs"]


def text_of(response: Any) -> str:
    html: str = response.content.decode()
    return html


def sent(project: Project, **changes: str) -> dict[str, str]:
    names = ("title", "description", "language", "guidelines_en", "guidelines_zh")
    return {name: getattr(project, name) for name in names} | {"version": project_version(project)} | changes


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_in_both_languages(
    maras_browser: Client, project: Project, page: str, language: str
) -> None:
    User.objects.update(language=language)
    html = text_of(maras_browser.get(reverse(page, args=[project.slug])))
    assert f'<html lang="{"zh-Hans" if language == "zh-hans" else "en"}"' in html
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)(?![^>]*application/json)", html)


@pytest.mark.parametrize("page", PAGES)
def test_guests_are_asked_to_sign_in(client: Client, project: Project, page: str) -> None:
    address = reverse(page, args=[project.slug])
    assert client.get(address).headers["Location"] == f"{reverse('account_login')}?next={address}"


@pytest.mark.parametrize("page", PAGES)
def test_strangers_find_nothing(client: Client, project: Project, joins: Joins, page: str) -> None:
    client.force_login(joins("stranger"))
    assert client.get(reverse(page, args=[project.slug])).status_code == 404


@pytest.mark.parametrize("page", ["project_settings", "members", "jobs"])
def test_annotators_learn_which_role_is_needed(
    client: Client, project: Project, ann: User, page: str
) -> None:
    client.force_login(ann)
    assert client.get(reverse(page, args=[project.slug])).status_code == 403


# --- overview ---------------------------------------------------------------------------------------------------------


def test_an_annotator_is_led_to_the_open_dialogue(
    client: Client, anns_assignment: Assignment, ann: User
) -> None:
    client.force_login(ann)
    html = text_of(client.get(reverse("project", args=["chit-chat"])))
    assert "You have 1 open dialogue." in html
    assert "Continue writing" in html
    assert "0 of 20 dialogues today" in html
    assert (
        "No worker is running that generates candidates" not in html
    )  # nothing that an annotator could mend


def test_a_manager_sees_what_is_missing(maras_browser: Client, project: Project) -> None:
    Project.objects.update(guidelines_en="", guidelines_zh=" ")
    html = text_of(maras_browser.get(reverse("project", args=["chit-chat"])))
    for missing in [
        "no guidelines",
        "Nobody has the role",
        "No dialogue is left",
        "No worker is running that generates candidates",
    ]:
        assert html.count(missing) == 1  # not again beside the step that mends it


@pytest.mark.parametrize(("speakers", "says_so"), [(("A", "B"), True), (("customer", "helpdesk"), False)])
def test_a_manager_reads_that_the_questions_name_other_speakers(
    maras_browser: Client, mara: User, speakers: tuple[str, str], says_so: bool
) -> None:
    helpdesk = create_project(slug="helpdesk", preset="dch", actor=mara)
    dialogue = Dialogue.objects.create(project=helpdesk, origin="imported", state="finished", split="train")
    Utterance.objects.bulk_create(
        Utterance(dialogue=dialogue, position=n, speaker=speaker, text="Hello.")
        for n, speaker in enumerate(speakers)
    )
    html = text_of(maras_browser.get(reverse("project", args=["helpdesk"])))
    assert ("only where the speaker is customer, helpdesk. Here the speakers are A, B, so" in html) is says_so


def test_a_complete_setup_is_not_called_missing(maras_browser: Client, planned: Project, ann: User) -> None:
    record_heartbeat(name="worker", queues=["gpu", "default"], details={})
    html = text_of(maras_browser.get(reverse("project", args=["chit-chat"])))
    assert "Before people can work well" not in html
    assert "0 of 3 dialogues finished" in html


@pytest.mark.parametrize("role", list(Role))
def test_the_tabs_are_those_of_the_role(client: Client, project: Project, joins: Joins, role: Role) -> None:
    nora = joins("nora", project, role)
    client.force_login(nora)
    html = text_of(client.get(reverse("project", args=["chit-chat"])))
    granted = capabilities_of(nora, project)
    for name, needed in [
        ("members", Capability.MANAGE_MEMBERS),
        ("project_settings", Capability.CONFIGURE),
        ("queue", Capability.ANNOTATE),
    ]:
        link = f'href="{reverse(name, args=["chit-chat"])}"'
        assert (link in html) == (needed in granted), (role, name)


def test_the_description_is_shown_as_text(maras_browser: Client, project: Project) -> None:
    Project.objects.update(description="<script>alert(1)</script> **bold**")
    html = text_of(maras_browser.get(reverse("project", args=["chit-chat"])))
    assert "<script>alert" not in html
    assert "<strong>bold</strong>" in html


# --- guidelines -------------------------------------------------------------------------------------------------------


def test_guidelines_come_in_the_readers_language(client: Client, project: Project, ann: User) -> None:
    User.objects.update(language="zh-hans")
    client.force_login(ann)
    address = reverse("guidelines", args=["chit-chat"])
    assert "你要做什么" in text_of(client.get(address))
    assert "What you make" in text_of(client.get(address, {"language": "en"}))
    assert "你要做什么" in text_of(client.get(address, {"language": "tlh"}))


def test_guidelines_in_one_language_are_shown_to_everybody(
    client: Client, project: Project, ann: User
) -> None:
    Project.objects.update(guidelines_en="")
    client.force_login(ann)
    assert "你要做什么" in text_of(client.get(reverse("guidelines", args=["chit-chat"])))


def test_without_guidelines_the_page_says_whom_to_ask(client: Client, project: Project, ann: User) -> None:
    Project.objects.update(guidelines_en="", guidelines_zh="")
    client.force_login(ann)
    assert "There are no guidelines yet" in text_of(client.get(reverse("guidelines", args=["chit-chat"])))


@pytest.mark.parametrize(
    "text",
    [
        "<img src=x onerror=alert(1)>",
        "![picture](https://elsewhere.example/spy.png)",
        "[link](javascript:alert(1))",
        "[link](data:text/html,x)",
        "| a |\n|--:|\n| 1 |",
    ],
)
def test_markdown_makes_nothing_dangerous(text: str) -> None:
    html = to_html(text)
    assert not re.search(r"<img|<script|href=\"(javascript|data):|style=", html)


def test_markdown_puts_no_blank_between_chinese_lines() -> None:
    assert to_html("今天，\n天气很好") == "<p>今天，天气很好</p>\n"
    assert to_html("one\ntwo") == "<p>one\ntwo</p>\n"


def test_headings_lie_below_the_pages_own() -> None:
    assert to_html("# One\n\n###### Six") == "<h2>One</h2>\n<h6>Six</h6>\n"


# --- settings ---------------------------------------------------------------------------------------------------------


def test_saving_stores_the_text_as_it_was_written(maras_browser: Client, project: Project) -> None:
    text = "# 规范\r\n\r\n  - indented\r\n"
    maras_browser.post(reverse("project_settings", args=["chit-chat"]), sent(project, guidelines_zh=text))
    project.refresh_from_db()
    assert project.guidelines_zh == "# 规范\n\n  - indented\n"
    event = Event.objects.get(kind="edited")
    assert event.data["changed"] == ["guidelines_zh"]


def test_an_empty_title_is_refused_beside_the_field(maras_browser: Client, project: Project) -> None:
    answer = maras_browser.post(reverse("project_settings", args=["chit-chat"]), sent(project, title=" "))
    assert answer.status_code == 422
    assert "errorlist" in text_of(answer)


def test_nobody_overwrites_what_another_person_saved(
    maras_browser: Client, project: Project, eric: User
) -> None:
    mine = sent(project, title="Mine")
    update_project(project=project, actor=eric, changes={"title": "Eric's"})
    answer = maras_browser.post(reverse("project_settings", args=["chit-chat"]), mine)
    html = text_of(answer)
    assert answer.status_code == 422
    assert "Somebody else has changed this project" in html
    assert 'value="Mine"' in html  # the words are still there
    project.refresh_from_db()
    assert project.title == "Eric's"
    version = re.search(r'name="version" value="(\w+)"', html)
    assert version is not None
    maras_browser.post(
        reverse("project_settings", args=["chit-chat"]), {**mine, "version": version[1]}
    )  # knowingly
    project.refresh_from_db()
    assert project.title == "Mine"


def test_the_preview_shows_what_readers_will_see(maras_browser: Client, project: Project) -> None:
    answer = maras_browser.post(
        reverse("guidelines_preview", args=["chit-chat"]), {"guidelines_zh": "# 好\n<b>"}
    )
    assert text_of(answer) == "<h2>好</h2>\n<p>&lt;b&gt;</p>\n"


def test_how_dialogues_are_written_is_changed(maras_browser: Client, project: Project) -> None:
    settings = project.authoring
    fields = [field.name for field in settings._meta.fields if field.name != "project"]
    values = {name: getattr(settings, name) for name in fields}
    left_out = ("generator", "second_generator", "generate_ahead")
    form = {name: value for name, value in values.items() if name not in left_out}
    form["initial-generator"] = settings.generator_id
    maras_browser.post(reverse("project_authoring", args=["chit-chat"]), {**form, "candidates": 5})
    settings.refresh_from_db()
    assert (settings.candidates, settings.generate_ahead, settings.generator) == (5, False, None)
    refused = maras_browser.post(reverse("project_authoring", args=["chit-chat"]), {**form, "candidates": 50})
    assert refused.status_code == 422


def test_a_settings_page_that_was_open_during_a_promotion_does_not_take_it_back(
    maras_browser: Client, project: Project
) -> None:
    settings = project.authoring
    fields = [field.name for field in settings._meta.fields if field.name != "project"]
    form = {name: getattr(settings, name) for name in fields if getattr(settings, name) is not None}
    generator_id = settings.generator_id
    promoted = Generator.objects.create(slug="promoted", backend=BackendKind.SCRIPTED)
    update_authoring(project=project, actor=None, changes={"generator": promoted})
    form = {
        **form,
        "generator": generator_id,
        "initial-generator": generator_id,
        "initial-second_generator": "",
    }
    maras_browser.post(reverse("project_authoring", args=["chit-chat"]), {**form, "candidates": 5})
    settings.refresh_from_db()
    assert (settings.candidates, settings.generator) == (5, promoted)
    page = text_of(maras_browser.get(reverse("project_settings", args=["chit-chat"])))
    assert f'name="initial-generator" value="{promoted.pk}"' in page


def test_planning_twice_with_one_form_plans_once(maras_browser: Client, project: Project) -> None:
    form = {"count": "4", "plan_id": str(uuid4())}
    for _time in range(2):
        maras_browser.post(reverse("project_plan", args=["chit-chat"]), form)
    assert Task.objects.filter(project=project).count() == 4


@pytest.mark.parametrize("count", ["0", "-1", "many", "", "1000000000"])
def test_a_senseless_plan_is_refused(maras_browser: Client, project: Project, count: str) -> None:
    form = {"count": count, "plan_id": str(uuid4())}
    assert maras_browser.post(reverse("project_plan", args=["chit-chat"]), form).status_code == 422
    assert not Task.objects.exists()


def test_archiving_is_undone_on_the_same_page(maras_browser: Client, project: Project) -> None:
    address = reverse("project_archive", args=["chit-chat"])
    maras_browser.post(address, {"archived": "1"})
    html = text_of(maras_browser.get(reverse("project_settings", args=["chit-chat"])))
    assert "This project is archived" in html
    assert "Restore the project" in html
    maras_browser.post(address, {"archived": "0"})
    project.refresh_from_db()
    assert project.archived_at is None


@pytest.mark.parametrize("page", ["/p/chit-chat/", "/projects/archived/"])
@pytest.mark.parametrize(("role", "restores"), [(Role.MANAGER, True), (Role.TRAINER, False)])
def test_managers_restore_from_the_notice_and_from_the_list(
    client: Client, project: Project, mara: User, joins: Joins, page: str, role: Role, restores: bool
) -> None:
    archive_project(project=project, actor=mara)
    client.force_login(joins("somebody", project, role))
    html = text_of(client.get(page))
    assert (html.count('action="/p/chit-chat/settings/archive/"') == 1) is restores


def test_the_confirmation_says_what_archiving_stops(
    maras_browser: Client, anns_assignment: Assignment
) -> None:
    html = text_of(maras_browser.get(reverse("project_settings", args=["chit-chat"])))
    assert "2 members no longer find it in their lists." in html
    assert "Nobody can write or begin a dialogue." in html
    assert "1 dialogue in progress stops; saved work is kept." in html


def test_a_manager_makes_another_project(maras_browser: Client, project: Project, mara: User) -> None:
    form = {
        "id": str(uuid4()), "title": "Help desk", "slug": "helpdesk", "preset": "diamante", "language": "zh",
    }  # fmt: skip
    answer = maras_browser.post(reverse("new_project"), form)
    assert answer.headers["Location"] == reverse("project", args=["helpdesk"])
    assert Membership.objects.get(project__slug="helpdesk").user == mara
    taken = text_of(maras_browser.post(reverse("new_project"), {**form, "id": str(uuid4())}))
    assert "There is already a project" in taken


def test_a_short_name_is_made_from_the_title(maras_browser: Client, project: Project, mara: User) -> None:
    form = {"title": "Chit chat 闲聊", "slug": "", "preset": "diamante", "language": "zh"}
    addresses = []
    for title in ("Chit chat 闲聊", "客服", "客服 "):
        sent = {**form, "id": str(uuid4()), "title": title}
        addresses.append(maras_browser.post(reverse("new_project"), sent).headers["Location"])
        assert maras_browser.post(reverse("new_project"), sent).headers["Location"] == addresses[-1]
    assert addresses == ["/p/chit-chat-2/", "/p/project/", "/p/project-2/"]


def test_an_empty_short_name_is_said_to_get_a_number(maras_browser: Client, project: Project) -> None:
    page = text_of(maras_browser.get(reverse("new_project")))
    assert "if another project has that name, a number is added" in page


def test_an_annotator_makes_no_project(client: Client, project: Project, ann: User) -> None:
    client.force_login(ann)
    assert client.get(reverse("new_project")).status_code == 403
