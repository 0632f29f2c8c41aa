"""The workbench as the server makes it: whose it is, what its scripts begin with, and its service worker."""

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.test import Client

from accounts.models import User
from annotation.authoring.services.completion import finish_dialogue
from annotation.authoring.services.drafts import save_draft
from annotation.expert_review.services import Remark, claim_next_review, submit_verdict
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment, AssignmentState
from annotation.tasks.services.assignment import release
from dialogues.models import Dialogue
from projects.models import DialogueLanguage

OPENING = "My cat sheds all over the sofa."


@pytest.fixture
def anns_browser(client: Client, ann: User) -> Client:
    client.force_login(ann)
    return client


def address(assignment: Assignment) -> str:
    return f"/p/{assignment.project.slug}/a/{assignment.pk}/"


def data_in(page: bytes) -> dict[str, Any]:
    match = re.search(
        r'<script id="workbench" type="application/json">(.*?)</script>', page.decode(), re.DOTALL
    )
    assert match
    return dict(json.loads(match[1]))


def test_the_page_begins_with_the_whole_assignment(
    anns_browser: Client, anns_assignment: Assignment, writes: Callable[..., object]
) -> None:
    writes(anns_assignment, OPENING, 0)
    page = anns_browser.get(address(anns_assignment))
    data = data_in(page.content)
    assert [utterance["text"] for utterance in data["assignment"]["dialogue"]["utterances"]] == [OPENING]
    assert data["assignment"]["request"]["position"] == 1
    assert OPENING in page.content.decode().split("<script")[-2]  # shown before any script has run


def test_the_page_shows_the_draft_of_this_turn_only(
    anns_browser: Client, anns_assignment: Assignment, ann: User
) -> None:
    draft: dict[str, Any] = {"candidate_set": None, "source": None, "version": 0}
    save_draft(annotator=ann, assignment_id=anns_assignment.pk, position=0, text="My cat she", **draft)
    assert "My cat she</textarea>" in anns_browser.get(address(anns_assignment)).content.decode()
    save_draft(
        annotator=ann, assignment_id=anns_assignment.pk, position=4, text="Old", **draft | {"version": 1}
    )
    assert "Old</textarea>" not in anns_browser.get(address(anns_assignment)).content.decode()


def test_bob_does_not_see_anns_dialogue(client: Client, bob: User, anns_assignment: Assignment) -> None:
    client.force_login(bob)
    assert client.get(address(anns_assignment)).status_code == 404


def test_a_dialogue_is_found_under_its_own_project_only(
    anns_browser: Client, anns_assignment: Assignment, mara: User
) -> None:
    create_project(slug="other", preset="diamante", actor=mara)
    assert anns_browser.get(f"/p/other/a/{anns_assignment.pk}/").status_code == 404


def test_guests_are_sent_to_sign_in_and_back(client: Client, anns_assignment: Assignment) -> None:
    answer = client.get(address(anns_assignment))
    assert answer.headers["Location"] == f"/accounts/login/?next={address(anns_assignment)}"


def test_words_of_markup_stay_words(
    anns_browser: Client, anns_assignment: Assignment, writes: Callable[..., object]
) -> None:
    writes(anns_assignment, "</script><script>alert(1)</script>", 0)
    page = anns_browser.get(address(anns_assignment)).content.decode()
    assert "<script>alert" not in page
    assert data_in(page.encode())["assignment"]["dialogue"]["utterances"][0]["text"].startswith("</script>")


class Inline(HTMLParser):
    found: list[str]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        runs = tag == "script" and "src" not in attributes and attributes.get("type") != "application/json"
        if runs or "style" in attributes or any(name.startswith("on") for name in attributes):
            self.found.append(self.get_starttag_text() or tag)


def test_the_page_keeps_the_policy(anns_browser: Client, anns_assignment: Assignment) -> None:
    page = anns_browser.get(address(anns_assignment))
    parser = Inline()
    parser.found = []
    parser.feed(page.content.decode())
    assert parser.found == []
    assert "unsafe" not in page.headers["Content-Security-Policy"]


def test_ideas_are_of_the_projects_language_and_begin_with_the_readers(
    anns_browser: Client, anns_assignment: Assignment, ann: User
) -> None:
    def languages() -> list[str]:
        topics = data_in(anns_browser.get(address(anns_assignment)).content)["topics"]
        return [topic["language"] for topic in topics]

    assert languages()[0] == "en"
    User.objects.filter(pk=ann.pk).update(language="zh-hans")
    assert languages()[0] == "zh"
    assert set(languages()) == {"en", "zh"}


def test_the_language_of_the_dialogue_is_declared_where_there_is_one(
    anns_browser: Client, anns_assignment: Assignment
) -> None:
    project = anns_assignment.project
    for language, declared in [(DialogueLanguage.CHINESE, "zh"), (DialogueLanguage.MIXED, "")]:
        project.language = language
        project.save()
        assert data_in(anns_browser.get(address(anns_assignment)).content)["lang"] == declared


def test_the_page_costs_the_same_queries_however_long_the_dialogue(
    anns_browser: Client,
    anns_assignment: Assignment,
    writes: Callable[..., object],
    django_assert_max_num_queries: Any,
) -> None:
    for position in range(12):
        writes(anns_assignment, f"Turn {position}.", position)
    with django_assert_max_num_queries(16):
        anns_browser.get(address(anns_assignment))


def test_resume_takes_given_back_work_up_again(
    anns_browser: Client, anns_assignment: Assignment, ann: User
) -> None:
    release(annotator=ann, assignment_id=anns_assignment.pk)
    answer = anns_browser.post(f"{address(anns_assignment)}resume/")
    assert answer.headers["Location"] == address(anns_assignment)
    anns_assignment.refresh_from_db()
    assert anns_assignment.state == AssignmentState.ACTIVE


def test_the_service_worker_is_served_for_the_whole_site_and_never_from_a_cache(client: Client) -> None:
    answer = client.get("/service-worker.js")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/javascript")
    assert answer.headers["Service-Worker-Allowed"] == "/"
    assert answer.headers["Cache-Control"] == "no-cache"
    assert settings.STATIC_URL == "/static/"  # which the worker keeps


@pytest.fixture
def finished(anns_assignment: Assignment, writes: Callable[..., object]) -> Dialogue:
    for position in range(14):
        writes(anns_assignment, f"utterance {position}", position)
    return finish_dialogue(annotator=anns_assignment.annotator, assignment_id=anns_assignment.pk).dialogue


def test_a_finished_dialogue_can_be_taken_back_until_an_expert_has_it(
    anns_browser: Client, anns_assignment: Assignment, finished: Dialogue, carlos: User
) -> None:
    assert data_in(anns_browser.get(address(anns_assignment)).content)["decision"] == ""
    assert "/take-back/" in anns_browser.get("/p/chit-chat/queue/").content.decode()
    claim_next_review(reviewer=carlos, project=finished.project, claim_id=uuid4())
    assert data_in(anns_browser.get(address(anns_assignment)).content)["decision"] == "reading"
    assert "/take-back/" not in anns_browser.get("/p/chit-chat/queue/").content.decode()


@pytest.mark.parametrize(("verdict", "decision"), [("veto", "vetoed"), ("pass", "passed")])
def test_the_author_reads_the_verdict_and_its_reasons_and_no_name(
    anns_browser: Client,
    anns_assignment: Assignment,
    finished: Dialogue,
    carlos: User,
    verdict: str,
    decision: str,
) -> None:
    User.objects.filter(pk=carlos.pk).update(display_name="Carlos the Expert")
    submit_verdict(
        reviewer=carlos,
        dialogue_id=finished.pk,
        review_id=uuid4(),
        verdict=verdict,
        reason="It <b>wanders</b>.",
        remarks=[Remark(3, "Who is that?")],
    )
    page = anns_browser.get(address(anns_assignment)).content
    assert data_in(page)["decision"] == decision
    section = page.decode().split('id="verdicts"')[1].split("</section>")[0]
    assert "It &lt;b&gt;wanders&lt;/b&gt;." in section
    assert "Turn 4:" in section
    assert "Who is that?" in section
    assert "Carlos" not in page.decode()
    assert "carlos" not in page.decode()


def test_an_unknown_dialogue_says_so(anns_browser: Client, anns_assignment: Assignment) -> None:
    page = anns_browser.get(f"/p/chit-chat/a/{anns_assignment.pk + 1}/")
    assert page.status_code == 404
    assert "There is no such dialogue among yours." in page.content.decode()
