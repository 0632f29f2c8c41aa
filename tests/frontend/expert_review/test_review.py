"""The review pages as forms: what experts are shown, what they send, and what they never see."""

from collections.abc import Callable
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from annotation.authoring.services.completion import finish_dialogue, take_back_dialogue
from annotation.expert_review.models import ExpertReview
from annotation.expert_review.services import Remark, claim_next_review, submit_verdict
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment
from annotation.tasks.services.claiming import claim_next_task
from dialogues.models import Dialogue, ReviewState
from projects.models import Project, Role

Writes = Callable[..., object]
Finishes = Callable[..., Dialogue]
REVIEW = "/p/chit-chat/review/"


@pytest.fixture
def finishes(planned: Project, writes: Writes) -> Finishes:
    """finishes(ann) is a dialogue of seven rounds that Ann has handed in."""

    def finish(author: User, opening: str = "I have a new kite.") -> Dialogue:
        assignment = claim_next_task(annotator=author, project=planned, claim_id=uuid4())
        for position in range(14):
            writes(assignment, f"utterance {position}" if position else opening, position)
        return finish_dialogue(annotator=author, assignment_id=assignment.pk).dialogue

    return finish


@pytest.fixture
def carlos_browser(client: Client, carlos: User) -> Client:
    client.force_login(carlos)
    return client


def page(browser: Client, address: str = REVIEW) -> str:
    answer = browser.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def sent(browser: Client, dialogue: Dialogue, **fields: str) -> str:
    """Sends the form of a dialogue's page; returns where it leads."""
    answer = browser.post(f"{REVIEW}{dialogue.pk}/verdict/", {"id": str(uuid4()), **fields})
    assert answer.status_code == 302, answer.content.decode()
    return answer.headers["Location"]


def state_of(dialogue: Dialogue) -> str:
    return Dialogue.objects.get(pk=dialogue.pk).review_state


def reviewing(person: User, project: Project) -> None:
    project.memberships.filter(user=person).update(roles=[Role.ANNOTATOR, Role.CONTROLLER])


def test_before_anything_is_finished_the_page_says_so(carlos_browser: Client, planned: Project) -> None:
    assert "No dialogue is finished yet" in page(carlos_browser)


def test_when_everything_is_reviewed_the_page_says_so(
    carlos_browser: Client, carlos: User, ann: User, finishes: Finishes
) -> None:
    submit_verdict(reviewer=carlos, dialogue_id=finishes(ann).pk, review_id=uuid4(), verdict="pass")
    html = page(carlos_browser)
    assert "Every finished dialogue is reviewed" in html
    assert "No dialogue is finished yet" not in html


def test_the_own_dialogue_is_distinguished_from_those_of_others(
    client: Client, ann: User, carlos: User, project: Project, finishes: Finishes
) -> None:
    finishes(ann)
    reviewing(ann, project)
    client.force_login(ann)
    assert "1 dialogue is your own" in page(client)


def test_a_dialogue_that_another_expert_reads_is_marked(
    carlos_browser: Client, ann: User, project: Project, finishes: Finishes, joins: Callable[..., User]
) -> None:
    finishes(ann)
    tina = joins("tina", project, Role.TRAINER)
    claim_next_review(reviewer=tina, project=project, claim_id=uuid4())
    assert "1 is being read by others" in page(carlos_browser)


def test_ones_verdict_waits_for_the_second_expert(
    carlos_browser: Client, carlos: User, ann: User, project: Project, finishes: Finishes
) -> None:
    project.authoring.experts_required = 2
    project.authoring.save()
    sent(carlos_browser, finishes(ann), verdict="pass")
    html = page(carlos_browser)
    assert "1 has your verdict" in html
    assert "2 experts read each dialogue" in html


def test_next_opens_the_oldest(carlos_browser: Client, ann: User, bob: User, finishes: Finishes) -> None:
    first, _second = finishes(ann), finishes(bob)
    answer = carlos_browser.post(f"{REVIEW}next/", {"claim_id": str(uuid4())})
    assert answer.headers["Location"] == f"{REVIEW}{first.pk}/"


def test_the_page_shows_the_words_and_not_the_author(
    carlos_browser: Client, ann: User, finishes: Finishes
) -> None:
    User.objects.filter(pk=ann.pk).update(display_name="Ann Meyer")
    html = page(carlos_browser, f"{REVIEW}{finishes(ann).pk}/")
    assert "I have a new kite." in html
    assert "Ann Meyer" not in html
    assert ">ann<" not in html


def test_words_are_shown_as_text(carlos_browser: Client, ann: User, finishes: Finishes) -> None:
    html = page(carlos_browser, f"{REVIEW}{finishes(ann, '<script>alert(1)</script>').pk}/")
    assert "&lt;script&gt;alert(1)" in html
    assert "<script>alert" not in html


def test_a_pass_leads_to_the_next_dialogue(
    carlos_browser: Client, ann: User, bob: User, finishes: Finishes
) -> None:
    first, second = finishes(ann), finishes(bob)
    assert sent(carlos_browser, first, verdict="pass") == f"{REVIEW}{second.pk}/"
    assert state_of(first) == ReviewState.PASSED


def test_the_last_pass_leads_to_the_overview(carlos_browser: Client, ann: User, finishes: Finishes) -> None:
    assert sent(carlos_browser, finishes(ann), verdict="pass") == REVIEW


def test_a_verdict_sent_twice_claims_once(
    carlos_browser: Client, ann: User, bob: User, finishes: Finishes
) -> None:
    first, second = finishes(ann), finishes(bob)
    verdict = {"id": str(uuid4()), "verdict": "pass"}
    for _ in range(2):
        assert sent(carlos_browser, first, **verdict) == f"{REVIEW}{second.pk}/"
    assert ExpertReview.objects.count() == 2  # the verdict, and the claim on the next


def test_a_veto_without_words_says_what_is_missing_and_keeps_the_page(
    carlos_browser: Client, ann: User, finishes: Finishes
) -> None:
    dialogue = finishes(ann)
    answer = carlos_browser.post(f"{REVIEW}{dialogue.pk}/verdict/", {"id": str(uuid4()), "verdict": "veto"})
    assert answer.status_code == 400
    assert "A veto needs a reason" in answer.content.decode()
    assert state_of(dialogue) == ReviewState.UNREVIEWED


def test_refused_words_stay_in_the_form(carlos_browser: Client, ann: User, finishes: Finishes) -> None:
    address = f"{REVIEW}{finishes(ann).pk}/verdict/"
    sent_texts = {"verdict": "perhaps", "reason": "I am not sure.", "remark-3": "Odd."}
    html = carlos_browser.post(address, {"id": str(uuid4()), **sent_texts}).content.decode()
    assert ">I am not sure.</textarea>" in html
    assert ">Odd.</textarea>" in html


def test_a_remark_on_an_utterance_is_reason_enough(
    carlos_browser: Client, ann: User, finishes: Finishes
) -> None:
    dialogue = finishes(ann)
    sent(carlos_browser, dialogue, verdict="veto", **{"remark-3": "Rude.", "remark-5": "  "})
    assert ExpertReview.objects.get(dialogue=dialogue).remarks == [{"position": 3, "text": "Rude."}]


def test_undo_leads_back_with_the_words(carlos_browser: Client, ann: User, finishes: Finishes) -> None:
    dialogue = finishes(ann)
    sent(carlos_browser, dialogue, verdict="veto", reason="Too short.", **{"remark-2": "Here."})
    answer = carlos_browser.post(f"{REVIEW}{dialogue.pk}/undo/", follow=True)
    assert state_of(dialogue) == ReviewState.UNREVIEWED
    html = answer.content.decode()
    assert ">Too short.</textarea>" in html
    assert ">Here.</textarea>" in html


def test_the_overview_lists_ones_own_verdicts_only(
    carlos_browser: Client,
    ann: User,
    bob: User,
    project: Project,
    finishes: Finishes,
    joins: Callable[..., User],
) -> None:
    sent(carlos_browser, finishes(ann, "Carlos read this."), verdict="pass")
    tina = joins("tina", project, Role.TRAINER)
    hers = finishes(bob, "Tina read this.")
    submit_verdict(reviewer=tina, dialogue_id=hers.pk, review_id=uuid4(), verdict="veto", reason="Rude.")
    html = page(carlos_browser)
    assert "Carlos read this." in html
    assert "Tina read this." not in html


def test_later_leads_to_the_one_after_and_comes_round_again(
    carlos_browser: Client, ann: User, bob: User, finishes: Finishes
) -> None:
    first, second = finishes(ann), finishes(bob)
    carlos_browser.post(f"{REVIEW}next/")
    assert (
        carlos_browser.post(f"{REVIEW}next/", {"skip": first.pk}).headers["Location"]
        == f"{REVIEW}{second.pk}/"
    )
    assert (
        carlos_browser.post(f"{REVIEW}next/", {"skip": second.pk}).headers["Location"]
        == f"{REVIEW}{first.pk}/"
    )


def test_the_only_one_that_waits_cannot_be_left_for_later(
    carlos_browser: Client, ann: User, finishes: Finishes
) -> None:
    dialogue = finishes(ann)
    carlos_browser.post(f"{REVIEW}next/")
    answer = carlos_browser.post(f"{REVIEW}next/", {"skip": dialogue.pk}, follow=True)
    assert "No other dialogue waits for you." in answer.content.decode()


def test_stopping_gives_the_dialogue_back(
    carlos_browser: Client, ann: User, project: Project, finishes: Finishes, joins: Callable[..., User]
) -> None:
    dialogue = finishes(ann)
    carlos_browser.post(f"{REVIEW}next/")
    carlos_browser.post(f"{REVIEW}{dialogue.pk}/leave/")
    tina = joins("tina", project, Role.TRAINER)
    assert claim_next_review(reviewer=tina, project=project, claim_id=uuid4()).dialogue == dialogue


def test_the_number_of_readers_is_shown_but_not_their_opinion(
    carlos_browser: Client, ann: User, project: Project, finishes: Finishes, joins: Callable[..., User]
) -> None:
    project.authoring.experts_required = 2
    project.authoring.save()
    dialogue = finishes(ann)
    tina = joins("tina", project, Role.TRAINER)
    remarks = [Remark(3, "Rude.")]
    submit_verdict(
        reviewer=tina,
        dialogue_id=dialogue.pk,
        review_id=uuid4(),
        verdict="pass",
        reason="Fine.",
        remarks=remarks,
    )
    html = " ".join(page(carlos_browser, f"{REVIEW}{dialogue.pk}/").split())
    assert "judged by 1 of 2 experts" in html
    assert "Fine." not in html
    assert "Rude." not in html


def test_the_author_cannot_open_it_though_reviewing(
    client: Client, ann: User, project: Project, finishes: Finishes
) -> None:
    dialogue = finishes(ann)
    reviewing(ann, project)
    client.force_login(ann)
    for address in (f"{REVIEW}{dialogue.pk}/", f"/api/v1/dialogues/{dialogue.pk}/review/"):
        assert client.get(address).status_code == 403


@pytest.mark.parametrize("address", [REVIEW, f"{REVIEW}1/"])
def test_annotators_have_no_review(client: Client, bob: User, address: str) -> None:
    client.force_login(bob)
    assert client.get(address).status_code in (403, 404)


def test_a_dialogue_of_another_project_is_not_found_here(
    carlos_browser: Client,
    carlos: User,
    ann: User,
    finishes: Finishes,
    joins: Callable[..., User],
    mara: User,
) -> None:
    other = create_project(slug="other", preset="diamante", actor=mara)
    joins("carlos", other, Role.CONTROLLER)
    assert carlos_browser.get(f"/p/other/review/{finishes(ann).pk}/").status_code == 404


def test_a_verdict_on_a_dialogue_that_was_taken_back_is_refused(
    carlos_browser: Client, ann: User, finishes: Finishes
) -> None:
    dialogue = finishes(ann)
    take_back_dialogue(annotator=ann, assignment_id=Assignment.objects.get(dialogue=dialogue).pk)
    answer = carlos_browser.post(f"{REVIEW}{dialogue.pk}/verdict/", {"id": str(uuid4()), "verdict": "pass"})
    assert answer.status_code == 409
    assert "taken this dialogue back" in answer.content.decode()


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_both_pages_open_in_both_languages(
    carlos_browser: Client, ann: User, finishes: Finishes, language: str
) -> None:
    User.objects.update(language=language)
    dialogue = finishes(ann)
    for address in (
        reverse("review", args=["chit-chat"]),
        reverse("review_dialogue", args=["chit-chat", dialogue.pk]),
    ):
        assert f'lang="{"zh-Hans" if language == "zh-hans" else "en"}"' in page(carlos_browser, address)


def test_the_overview_asks_the_same_number_of_queries_however_much_waits(
    carlos_browser: Client,
    ann: User,
    bob: User,
    finishes: Finishes,
    django_assert_max_num_queries: Callable[..., object],
) -> None:
    for author in (ann, bob, ann):
        sent(carlos_browser, finishes(author), verdict="pass")
    with django_assert_max_num_queries(14):  # type: ignore[attr-defined]
        page(carlos_browser)


def test_the_author_reads_why_and_says_so(carlos_browser: Client, ann: User, finishes: Finishes) -> None:
    dialogue = finishes(ann)
    sent(carlos_browser, dialogue, verdict="veto", reason="The cat becomes a dog.", **{"remark-3": "Here."})
    anns = Client()
    anns.force_login(ann)
    assert "1 came back" in page(anns, "/")
    queue = page(anns, "/p/chit-chat/queue/")
    assert "The cat becomes a dog." in queue
    assert "Turn 4:" in queue
    assert "carlos" not in queue
    read = anns.post(f"/p/chit-chat/queue/read/{dialogue.pk}/", follow=True).content.decode()
    assert "Vetoes that you have read" in read
    assert "Came back" not in read
    assert "came back" not in page(anns, "/")


def test_nobody_else_can_say_that_it_was_read(
    carlos_browser: Client, ann: User, bob: User, finishes: Finishes
) -> None:
    dialogue = finishes(ann)
    sent(carlos_browser, dialogue, verdict="veto", reason="The cat becomes a dog.")
    bobs = Client()
    bobs.force_login(bob)
    bobs.post(f"/p/chit-chat/queue/read/{dialogue.pk}/")
    assert ExpertReview.objects.get(dialogue=dialogue, verdict="veto").seen_by_author_at is None


def test_endless_numbers_in_a_form_are_ignored(carlos_browser: Client, finishes: Finishes, ann: User) -> None:
    dialogue = finishes(ann)
    assert carlos_browser.post(f"{REVIEW}next/", {"skip": "9" * 5000}).status_code == 302
    form = urlencode({"id": uuid4(), "verdict": "pass", f"remark-{'9' * 5000}": "Nowhere."})
    address = f"{REVIEW}{dialogue.pk}/verdict/"
    answer = carlos_browser.post(address, form, content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 302
    assert ExpertReview.objects.get(dialogue=dialogue, verdict="pass").remarks == []
