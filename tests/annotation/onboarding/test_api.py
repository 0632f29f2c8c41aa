"""The REST API of threads and of the admission test."""

from typing import Any
from uuid import uuid4

from django.test import Client

from accounts.models import User
from annotation.onboarding.services.threads import ask_question, reply_to_thread
from annotation.tasks.services.claiming import claim_next_task
from projects.models import Project
from projects.services import remove_member
from tests.annotation.onboarding.conftest import RIGHT, SLIP, begin_try, store_gold

JSON = "application/json"


def test_a_test_shows_right_answers_after_the_persons_own(
    client: Client, anna: User, tested: Project
) -> None:
    client.force_login(anna)
    started = client.post(f"/api/v1/projects/{tested.slug}/admission/", {"id": str(uuid4())}, JSON)
    assert started.status_code == 201
    assert {item["right"] for item in started.json()["items"]} == {None}
    assert "Secret reason" not in started.content.decode()
    address = f"/api/v1/admission/{started.json()['id']}/"
    first = client.post(f"{address}0/", {"answers": SLIP}, JSON).json()["items"]
    assert (first[0]["right"], first[0]["wrong"], first[1]["right"]) == (RIGHT, ["verify"], None)
    assert client.post(f"{address}1/", {"answers": RIGHT}, JSON).json()["state"] == "failed"
    refused = client.post(f"{address}9/", {"answers": RIGHT}, JSON)
    assert refused.status_code == 404


def test_a_try_id_belongs_to_one_person(client: Client, anna: User, bela: User, tested: Project) -> None:
    address, sent = f"/api/v1/projects/{tested.slug}/admission/", {"id": str(uuid4())}
    client.force_login(anna)
    assert client.post(address, sent, JSON).status_code == 201
    client.force_login(bela)
    refused = client.post(address, sent, JSON)
    assert (refused.status_code, refused.json()["code"]) == (409, "id_in_use")


def test_the_number_of_queries_does_not_grow_with_dialogues(
    client: Client, anna: User, tina: User, tested: Project, django_assert_max_num_queries: Any
) -> None:
    for n in range(2, 6):
        store_gold(tina, tested, n)
    attempt = begin_try(anna, tested)
    client.force_login(anna)
    with django_assert_max_num_queries(10):
        items = client.get(f"/api/v1/admission/{attempt.pk}/").json()["items"]
    assert len(items) == 6
    for item in items:
        [first, second] = item["utterances"]
        assert list(first) == ["position", "speaker", "text", "time"]
        assert [first["position"], second["position"]] == [0, 1]
        assert (first["text"][:5], second["text"][:10]) == ("user ", "assistant ")
    assert len({item["utterances"][0]["text"] for item in items}) == 6


def test_claims_before_the_test_are_refused(client: Client, anna: User, tested: Project) -> None:
    client.force_login(anna)
    address = f"/api/v1/projects/{tested.slug}/labelling/claim/"
    refused = client.post(address, {"claim_id": str(uuid4())}, JSON)
    assert (refused.status_code, refused.json()["code"]) == (409, "admission_needed")


def test_threads_are_asked_once_and_answered(
    client: Client, anna: User, tina: User, quality: Project
) -> None:
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    client.force_login(anna)
    address = f"/api/v1/projects/{quality.slug}/threads/"
    sent = {"id": str(uuid4()), "dialogue": held.dialogue_id, "text": "Why?"}
    for _send in range(2):
        assert client.post(address, sent, JSON).status_code == 201
    (thread,) = client.get(address).json()["results"]
    client.force_login(tina)
    reply = {"id": str(uuid4()), "kind": "decision", "text": "So."}
    answered = client.post(f"/api/v1/threads/{thread['id']}/messages/", reply, JSON)
    assert (answered.status_code, answered.json()["state"]) == (201, "decided")
    client.force_login(anna)
    (thread,) = client.get(f"{address}?state=decided").json()["results"]
    assert [message["by"] for message in thread["messages"]] == ["You", "Trainer"]


def test_people_who_left_the_project_cannot_write(
    client: Client, anna: User, tina: User, quality: Project
) -> None:
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    thread = ask_question(
        asker=anna, project=quality, dialogue_id=held.dialogue_id, thread_id=uuid4(), text="Is this a 1?"
    )
    reply_to_thread(author=tina, thread_id=thread.pk, message_id=uuid4(), kind="answer", text="It is.")
    remove_member(project=quality, actor=None, user=anna)
    client.force_login(anna)
    sent = {"id": str(uuid4()), "kind": "question", "text": "Why?"}
    refused = client.post(f"/api/v1/threads/{thread.pk}/messages/", sent, JSON)
    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    assert thread.messages.count() == 2
