"""The list of dialogues and the page of one."""

import re

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from annotation.expert_review.services import submit_verdict
from dialogues import selectors
from dialogues.models import Action, Dialogue, ReviewState, Utterance
from frontend.ui.differences import Piece, diff_texts
from projects.models import Project, Role
from projects.transitions import record
from tests.conftest import Joins
from tests.frontend.data_pages import erics_browser, files_root, html, imported, spoken

__all__ = ["erics_browser", "files_root"]

REVISED = {
    "id": "d1",
    "conversation": [
        {"utterance": "Hello"},
        {
            "utterance": "Oh nice, was it <b>good</b>?",
            "response_candidates": ["Nothing", "Oh nice, was it fine?", "<script>alert(1)</script>"],
            "action": "revise",
            "source": 1,
            "edit_distance": 9,
            "model_version": "m@1",
        },
    ],
    "site": {"name": "forum"},
}


def listed(browser: Client, project: Project, query: str = "") -> str:
    response = browser.get(reverse("dialogues", args=[project.slug]) + query)
    assert response.status_code == 200
    return html(response)


def openings(page: str) -> list[str]:
    return re.findall(r'<th scope="row" class="opening stays"><a [^>]*>([^<]*)</a>', page)


def read(browser: Client, dialogue: Dialogue, query: str = "") -> str:
    return html(browser.get(reverse("dialogue", args=[dialogue.project.slug, dialogue.pk]) + query))


# --- the list ---


def test_an_empty_project_says_what_to_do(erics_browser: Client, project: Project) -> None:
    page = listed(erics_browser, project)
    assert "No dialogues yet" in page
    assert reverse("imports", args=[project.slug]) in page


def test_carlos_who_may_not_import_is_not_sent_to_imports(
    client: Client, project: Project, carlos: User
) -> None:
    client.force_login(carlos)
    page = listed(client, project)
    assert "No dialogues yet" in page
    assert reverse("imports", args=[project.slug]) not in page


def test_dialogues_are_listed_newest_first_and_paged_by_key(erics_browser: Client, project: Project) -> None:
    imported(project, [spoken(f"opening {number}") for number in range(120)])
    page, rows = listed(erics_browser, project), []
    assert "120 dialogues" in page
    while True:
        rows += openings(page)
        older = re.search(r'rel="next" href="([^"]+)"', page)
        if older is None:
            break
        page = listed(erics_browser, project, older[1].replace("&amp;", "&"))
    assert rows == [f"opening {number}" for number in reversed(range(120))]


def test_the_list_costs_the_same_however_long_it_is(
    erics_browser: Client, project: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    imported(project, [spoken("a", "b") for _ in range(60)])
    listed(erics_browser, project)
    with django_assert_max_num_queries(12):
        listed(erics_browser, project)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("?split=test", ["in test"]),
        ("?review_state=passed", ["passed"]),
        ("?action=rewrite", ["rewritten"]),
        ("?split=nonsense&state=&before=x", ["rewritten", "passed", "in test"]),
        ("?origin=authored", []),
    ],
)
def test_filters_narrow_the_list_and_invalid_ones_are_ignored(
    erics_browser: Client, project: Project, query: str, found: list[str]
) -> None:
    imported(
        project, [spoken(text, split="train") for text in ("passed", "rewritten")] + [spoken("in test", split="test")]
    )  # fmt: skip
    Dialogue.objects.filter(utterances__text="passed").update(review_state=ReviewState.PASSED)
    Utterance.objects.filter(text="rewritten").update(action=Action.REWRITE)
    assert sorted(openings(listed(erics_browser, project, query))) == sorted(found)


def test_a_language_is_chosen_where_there_are_several(erics_browser: Client, project: Project) -> None:
    imported(project, [spoken("Hello", language="en")])
    assert 'id="filter-language"' not in listed(erics_browser, project)
    imported(project, [spoken("你好", language="zh")])
    assert openings(listed(erics_browser, project, "?language=zh")) == ["你好"]


def test_words_and_ids_are_found(erics_browser: Client, project: Project) -> None:
    imported(
        project, [spoken("one", "about CATS"), spoken("two", "about dogs"), spoken("three", "猫", id="d3")]
    )
    assert openings(listed(erics_browser, project, "?q=cats")) == ["one"]
    assert openings(listed(erics_browser, project, "?q=猫")) == ["three"]
    assert openings(listed(erics_browser, project, "?q=d3")) == ["three"]
    assert openings(listed(erics_browser, project, "?q=100%25")) == []
    assert "No dialogue matches" in listed(erics_browser, project, "?q=nobody+says+this")
    assert erics_browser.get(reverse("dialogues", args=[project.slug]) + "?q=%00").status_code == 400


def test_a_search_is_bounded_and_continues_where_it_stopped(
    erics_browser: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "SEARCH_WINDOW", 10)
    imported(project, [spoken("needle")] + [spoken(f"hay {number}") for number in range(25)])
    query, requests = "?q=needle", 0
    while not openings(page := listed(erics_browser, project, query)):
        assert "Not among the newest" in page
        older = re.search(r'rel="next" href="([^"]+)"', page)
        assert older is not None
        query, requests = older[1].replace("&amp;", "&"), requests + 1
    assert requests == 2


def test_the_dialogues_of_one_import_can_be_listed(erics_browser: Client, project: Project) -> None:
    imported(project, [spoken("before")])
    job = imported(project, [spoken("brought")])
    page = listed(erics_browser, project, f"?import_job={job.pk}")
    assert openings(page) == ["brought"]
    assert "chats.jsonl" in page


def test_html_in_an_utterance_is_shown_as_text(erics_browser: Client, project: Project) -> None:
    imported(project, [spoken("<script>alert(1)</script>")])
    assert "<script>alert(1)" not in listed(erics_browser, project)
    assert "&lt;script&gt;alert(1)" in listed(erics_browser, project)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_pages_open_in_both_languages(
    erics_browser: Client, project: Project, eric: User, language: str
) -> None:
    User.objects.update(language=language)
    imported(project, [REVISED])
    lang = f'<html lang="{"zh-Hans" if language == "zh-hans" else "en"}"'
    assert lang in listed(erics_browser, project)
    assert lang in read(erics_browser, Dialogue.objects.get())


def test_an_annotator_learns_which_role_is_needed(client: Client, project: Project, ann: User) -> None:
    client.force_login(ann)
    response = client.get(reverse("dialogues", args=[project.slug]))
    assert response.status_code == 403
    assert "Quality controller" in html(response)


def test_guests_are_asked_to_sign_in(client: Client, project: Project) -> None:
    assert client.get(reverse("dialogues", args=[project.slug])).status_code == 302


# --- one dialogue ---


def test_a_dialogue_shows_what_it_was_chosen_among_and_what_was_changed(
    erics_browser: Client, project: Project
) -> None:
    imported(project, [REVISED])
    page = read(erics_browser, Dialogue.objects.get())
    assert "Oh nice, was it &lt;b&gt;good&lt;/b&gt;?" in page
    assert "3 candidates" in page
    source = re.search(r'<li class="is-source">\s*<span dir="auto">([^<]*)</span>', page)
    assert source is not None
    assert source[1] == "Oh nice, was it fine?"
    assert re.search(r"<del>fine</del>", page)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert(1)" not in page
    assert "m@1" in page
    assert "{&quot;name&quot;: &quot;forum&quot;}" in page


def test_a_dialogue_costs_the_same_queries_however_long_it_is(
    erics_browser: Client, project: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    turns = [{"utterance": str(number), "response_candidates": ["x"] * 7} for number in range(150)]
    imported(project, [{"conversation": turns}])
    dialogue = Dialogue.objects.get()
    with django_assert_max_num_queries(19):
        read(erics_browser, dialogue)


def test_a_long_dialogue_is_read_in_parts(erics_browser: Client, project: Project) -> None:
    imported(project, [spoken(*(f"u{number}." for number in range(450)))])
    dialogue = Dialogue.objects.get()
    first = read(erics_browser, dialogue)
    assert ("u199." in first, "u200." in first, "?from=200" in first) == (True, False, True)
    last = read(erics_browser, dialogue, "?from=400")
    assert ("u400." in last, "u449." in last, "?from=200" in last) == (True, True, True)
    assert "u0." in read(erics_browser, dialogue, "?from=-3")


def test_neighbours_are_those_of_the_project(erics_browser: Client, project: Project) -> None:
    imported(project, [spoken("a"), spoken("b"), spoken("c")])
    first, second, third = Dialogue.objects.order_by("id")
    page = read(erics_browser, second)
    assert reverse("dialogue", args=[project.slug, first.pk]) in page
    assert reverse("dialogue", args=[project.slug, third.pk]) in page


def test_a_dialogue_of_another_project_is_not_there(
    erics_browser: Client, project: Project, eric: User, joins: Joins
) -> None:
    other = Project.objects.create(slug="other", title="Other", protocol="authoring")
    imported(other, [spoken("a")])
    dialogue = Dialogue.objects.get()
    assert erics_browser.get(reverse("dialogue", args=[project.slug, dialogue.pk])).status_code == 404
    joins("eric", other, Role.ENGINEER)
    assert erics_browser.get(reverse("dialogue", args=[project.slug, dialogue.pk])).status_code == 404
    assert erics_browser.get(reverse("dialogue", args=["other", dialogue.pk])).status_code == 200
    assert erics_browser.get(reverse("dialogue", args=["other", 10**30])).status_code == 404


@pytest.fixture
def judged(project: Project, ann: User, carlos: User) -> Dialogue:
    """Finished by ann, vetoed by carlos."""
    imported(project, [spoken("Hello", "Hi")])
    dialogue = Dialogue.objects.get()
    record(dialogue, kind="state", project=project, actor=ann, before="writing", after="finished")
    from uuid import uuid4

    submit_verdict(
        reviewer=carlos, dialogue_id=dialogue.pk, review_id=uuid4(), verdict="veto", reason="too rude"
    )
    dialogue.refresh_from_db()
    return dialogue


def test_the_history_names_people_to_those_who_see_statistics(
    erics_browser: Client, judged: Dialogue
) -> None:
    page = read(erics_browser, judged)
    assert "too rude" in page
    assert ("<bdi>ann</bdi>" in page, "<bdi>carlos</bdi>" in page) == (True, True)


def test_reviewers_do_not_learn_who_wrote_it(client: Client, judged: Dialogue, carlos: User) -> None:
    client.force_login(carlos)
    page = read(client, judged)
    assert "too rude" in page
    assert "<bdi>ann</bdi>" not in page


def test_while_a_verdict_is_open_reviewers_do_not_see_those_of_others(
    client: Client, judged: Dialogue, project: Project, joins: Joins
) -> None:
    Dialogue.objects.update(review_state=ReviewState.UNREVIEWED)
    client.force_login(joins("tina", project, Role.TRAINER))
    page = read(client, judged)
    assert ("too rude" in page, "<bdi>ann</bdi>" in page) == (False, False)


# --- changes ---


@pytest.mark.parametrize(
    ("before", "after", "pieces"),
    [
        ("买个吸尘器", "买吸尘器吸", [("same", "买"), ("removed", "个"), ("same", "吸尘器"), ("added", "吸")]),
        ("was it fine?", "was it good?", [("same", "was it "), ("removed", "fine"), ("added", "good"), ("same", "?")]),
        ("", "x", [("added", "x")]),
        ("x", "x", [("same", "x")]),
    ],
)  # fmt: skip
def test_words_are_compared_whole_and_chinese_by_characters(
    before: str, after: str, pieces: list[tuple[str, str]]
) -> None:
    assert diff_texts(before, after) == [Piece(*piece) for piece in pieces]


def test_the_pieces_hold_both_texts() -> None:
    before, after = "a b\nc 你好，world 12", "a c\nc 你不好 word 13!"
    pieces = diff_texts(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == after


def test_enormous_texts_are_not_compared() -> None:
    assert [piece.kind for piece in diff_texts("我" * 20_000, "你" * 20_000)] == ["removed", "added"]
