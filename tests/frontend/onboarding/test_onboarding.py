"""The pages of onboarding as each role sees them."""

import json
from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import User
from annotation.labelling.models.gold import GoldDialogue
from annotation.onboarding.models import AdmissionTry, Thread
from annotation.onboarding.services.threads import ask_question, reply_to_thread
from annotation.tasks.services.assignment import release
from annotation.tasks.services.claiming import claim_next_task
from dialogues.models import Utterance
from projects.models import Project
from projects.services import update_project
from tests.annotation.onboarding.conftest import RIGHT, SLIP, begin_try, label_next, nth_dialogue, take_test
from tests.frontend.dialogs import without_dialogs


@pytest.mark.parametrize(
    "page", ["training/", "threads/", "disagreed/", "guidelines/", "guidelines/versions/"]
)
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_trainers_open_every_page(
    client: Client, tina: User, tested: Project, page: str, language: str
) -> None:
    tina.language = language
    tina.save()
    client.force_login(tina)
    assert client.get(f"/p/{tested.slug}/{page}").status_code == 200


@pytest.mark.parametrize("page", ["training/", "disagreed/", "training/gold/{n}/"])
def test_annotators_cannot_open_trainers_pages(
    client: Client, anna: User, tested: Project, page: str
) -> None:
    client.force_login(anna)
    n = nth_dialogue(tested, 0).pk
    assert client.get(f"/p/{tested.slug}/{page.format(n=n)}").status_code == 403


def test_no_page_has_right_answers_before_the_persons_own(
    client: Client, anna: User, tested: Project
) -> None:
    client.force_login(anna)
    attempt = begin_try(anna, tested)
    address = f"/p/{tested.slug}/admission/{attempt.pk}/"
    before = client.get(address).content.decode()
    assert "Secret reason" not in before
    assert "Because of" not in before
    assert '"answers": null' in before
    stored = client.post(f"{address}0/", {"answers": json.dumps(SLIP)}, follow=True).content.decode()
    assert "Secret reason" in stored


def test_a_test_is_taken_page_by_page(client: Client, anna: User, tested: Project) -> None:
    client.force_login(anna)
    assert "Begin the test" in client.get(f"/p/{tested.slug}/admission/").content.decode()
    started = client.post(f"/p/{tested.slug}/admission/begin/", {"try_id": str(uuid4())})
    for place in range(2):
        client.post(f"{started.url}{place}/", {"answers": json.dumps(RIGHT)})  # type: ignore[attr-defined]
    page = client.get(started.url).content.decode()  # type: ignore[attr-defined]
    assert "You are admitted" in page


def test_incomplete_answers_are_shown_again(client: Client, anna: User, tested: Project) -> None:
    client.force_login(anna)
    attempt = begin_try(anna, tested)
    sent = {"answers": json.dumps({"dialogue": {"verify": 0}, "utterances": {}})}
    answer = client.post(f"/p/{tested.slug}/admission/{attempt.pk}/0/", sent)
    assert answer.status_code == 400
    assert '"verify": 0' in answer.content.decode()


def test_bela_cannot_open_annas_try(client: Client, anna: User, bela: User, tested: Project) -> None:
    attempt = take_test(anna, tested, RIGHT, RIGHT)
    client.force_login(bela)
    assert client.get(f"/p/{tested.slug}/admission/{attempt.pk}/").status_code == 404


def test_a_trainer_makes_gold_in_the_page(client: Client, tina: User, quality: Project) -> None:
    client.force_login(tina)
    address = f"/p/{quality.slug}/training/gold/{nth_dialogue(quality, 3).pk}/"
    assert client.get(address).status_code == 200
    sent = {"answers": json.dumps(RIGHT), "explanation": "So.", "remark-quality": "Both answered."}
    assert client.post(address, sent).status_code == 302
    gold = GoldDialogue.objects.get()
    assert (gold.answers, gold.remarks) == (RIGHT, {"quality": "Both answered."})
    assert client.post(f"{address}retire/").status_code == 302


def test_a_trainer_grants_a_try_admits_and_starts_an_edition(
    client: Client, anna: User, tina: User, tested: Project
) -> None:
    take_test(anna, tested, SLIP, SLIP)
    client.force_login(tina)
    person = f"/p/{tested.slug}/training/people/anna/"
    assert client.post(person, {"granted": "0"}).status_code == 302
    assert client.post(person, {"reason": "Knows it."}).status_code == 302
    assert "Admitted by hand" in client.get(f"/p/{tested.slug}/training/").content.decode()
    assert client.post(f"/p/{tested.slug}/training/edition/", {"edition": "1"}).status_code == 302
    assert "Edition 2" in client.get(f"/p/{tested.slug}/training/").content.decode()


def test_a_percentage_says_on_how_many_dialogues_it_rests(
    client: Client, anna: User, tina: User, tested: Project
) -> None:
    attempt = take_test(anna, tested, RIGHT, SLIP)
    for user, path in ((anna, "admission/"), (anna, f"admission/{attempt.pk}/"), (tina, "training/")):
        client.force_login(user)
        page = client.get(f"/p/{tested.slug}/{path}").content.decode()
        assert f"{attempt.percent:.0f}&nbsp;% in 2 dialogues" in page, path


def test_the_test_is_set_in_the_page(client: Client, tina: User, tested: Project) -> None:
    client.force_login(tina)
    sent = {"is_on": "on", "pass_percent": "90", "unit": "dialogues", "tries": "1", "feedback": "end"}
    assert client.post(f"/p/{tested.slug}/training/", sent).status_code == 302
    tested.refresh_from_db()
    assert (tested.admission_test.pass_percent, tested.admission_test.items) == (90, None)
    assert client.post(f"/p/{tested.slug}/training/", sent | {"tries": "0"}).status_code == 200


def test_a_question_is_asked_and_decided_in_the_page(
    client: Client, anna: User, tina: User, quality: Project
) -> None:
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    address = f"/p/{quality.slug}/threads/{held.dialogue_id}/"
    client.force_login(anna)
    question = {"id": str(uuid4()), "text": "<script>alert(1)</script>", "position": "2"}
    assert client.post(address, question).status_code == 302
    thread = Thread.objects.get()
    assert thread.position == 1
    client.force_login(tina)
    page = client.get(address).content.decode()
    assert "&lt;script&gt;" in page
    assert page.index('id="u2"') < page.index(f'href="#t{thread.pk}"')
    assert "anna" in page
    sent = {
        "id": str(uuid4()),
        "thread": str(thread.pk),
        "kind": "decision",
        "text": "So it is.",
        "faq": "on",
    }
    assert client.post(address, sent).status_code == 302
    assert "So it is." in client.get(f"/p/{quality.slug}/guidelines/").content.decode()
    client.force_login(anna)
    page = client.get(address).content.decode()
    assert "So it is." in page
    assert "tina" not in page


def test_a_thread_leads_to_its_dialogue(client: Client, anna: User, tina: User, quality: Project) -> None:
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    ask_question(asker=anna, project=quality, dialogue_id=held.dialogue_id, thread_id=uuid4(), text="Why?")
    for person, address in ((anna, f"label/{held.pk}/"), (tina, f"dialogues/{held.dialogue_id}/")):
        client.force_login(person)
        page = client.get(f"/p/{quality.slug}/threads/{held.dialogue_id}/").content.decode()
        assert f'href="/p/{quality.slug}/{address}"' in page
        assert client.get(f"/p/{quality.slug}/{address}").status_code == 200


def test_a_thread_names_roles_in_the_language_of_the_reader(
    client: Client, anna: User, quality: Project
) -> None:
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    names = iter(["user", "Zhao Yi"])
    for utterance in held.dialogue.utterances.order_by("position")[:2]:
        Utterance.objects.filter(pk=utterance.pk).update(speaker=next(names))
    anna.language = "zh-hans"
    anna.save()
    client.force_login(anna)
    page = client.get(f"/p/{quality.slug}/threads/{held.dialogue_id}/").content.decode()
    assert '<span class="turn-speaker clip" dir="auto" title="用户">用户</span>' in page
    assert '<span class="turn-speaker clip" dir="auto" title="Zhao Yi">Zhao Yi</span>' in page


def test_somebody_who_only_asked_is_not_sent_to_the_dialogue(
    client: Client, anna: User, quality: Project
) -> None:
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    ask_question(asker=anna, project=quality, dialogue_id=held.dialogue_id, thread_id=uuid4(), text="Why?")
    release(annotator=anna, assignment_id=held.pk)
    client.force_login(anna)
    page = client.get(f"/p/{quality.slug}/threads/{held.dialogue_id}/").content.decode()
    assert "Open the dialogue" not in page


def test_only_the_first_undecided_question_has_the_primary_action(
    client: Client, anna: User, tina: User, quality: Project
) -> None:
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    for text, position in (("Why?", None), ("And this?", 0)):
        ask_question(
            asker=anna,
            project=quality,
            dialogue_id=held.dialogue_id,
            thread_id=uuid4(),
            text=text,
            position=position,
        )
    client.force_login(tina)
    page = without_dialogs(client.get(f"/p/{quality.slug}/threads/{held.dialogue_id}/").content.decode())
    assert "2 questions about this dialogue · 2 not decided" in page
    assert "Question about the whole dialogue" in page
    assert "Question about utterance 1" in page
    assert page.count("button primary") == 1


def test_a_refused_decision_keeps_its_text(client: Client, anna: User, tina: User, quality: Project) -> None:
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    thread = ask_question(
        asker=anna, project=quality, dialogue_id=held.dialogue_id, thread_id=uuid4(), text="Why?"
    )
    client.force_login(tina)
    sent = {
        "id": str(uuid4()),
        "thread": str(thread.pk),
        "kind": "decision",
        "text": "So. " * 2000,
        "faq": "on",
    }
    refused = client.post(f"/p/{quality.slug}/threads/{held.dialogue_id}/", sent)
    assert refused.status_code == 400
    page = refused.content.decode()
    assert f"{'So. ' * 2000}</textarea>" in page
    assert '<input type="checkbox" name="faq" checked>' in page


def test_changed_guidelines_are_announced_and_acknowledged(
    client: Client, anna: User, tina: User, quality: Project
) -> None:
    update_project(project=quality, actor=tina, changes={"guidelines_en": "Read twice."})
    client.force_login(anna)
    address = f"/p/{quality.slug}/guidelines/"
    assert "changed since you last looked" in client.get(address).content.decode()
    client.post(f"{address}read/", {"version": "2"})
    assert "changed since you last looked" not in client.get(address).content.decode()
    assert "tina" not in client.get(f"{address}versions/").content.decode()


def test_the_most_disagreed_dialogues_are_shown(
    client: Client, anna: User, bela: User, tina: User, quality: Project
) -> None:
    label_next(anna, quality, RIGHT)
    label_next(bela, quality, SLIP)
    client.force_login(tina)
    page = client.get(f"/p/{quality.slug}/disagreed/?question=verify").content.decode()
    assert "anna" in page
    assert "bela" in page
    assert '&nbsp;% differ <small class="muted">2 people</small>' in page
    assert AdmissionTry.objects.count() == 0


def test_annotators_do_not_see_threads_of_others(
    client: Client, anna: User, bela: User, quality: Project
) -> None:
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    thread = ask_question(
        asker=anna, project=quality, dialogue_id=held.dialogue_id, thread_id=uuid4(), text="Secret?"
    )
    reply_to_thread(author=anna, thread_id=thread.pk, message_id=uuid4(), kind="question", text="More.")
    client.force_login(bela)
    assert "Secret?" not in client.get(f"/p/{quality.slug}/threads/").content.decode()
    assert client.get(f"/p/{quality.slug}/threads/{held.dialogue_id}/").status_code == 404
