"""The numbers of the statistics page, over the API."""

from collections.abc import Callable

from django.test import Client

from accounts.models import User
from annotation.authoring.services.completion import finish_dialogue
from annotation.tasks.models.work import Assignment


def test_an_engineer_reads_the_numbers_of_a_project(
    client: Client, eric: User, anns_assignment: Assignment, writes: Callable[..., object]
) -> None:
    for position in range(14):
        writes(anns_assignment, f"utterance {position}", position, active_ms=4000, idle_ms=1000)
    finish_dialogue(annotator=anns_assignment.annotator, assignment_id=anns_assignment.pk)
    client.force_login(eric)
    numbers = client.get("/api/v1/projects/chit-chat/statistics/").json()
    total = numbers["table_one"][-1]
    assert (total["split"], total["dialogues"], total["utterances"]) == ("total", 1, 14)
    (pace,) = numbers["paces"]
    assert (pace["person"]["username"], pace["turns"], pace["active"], pace["idle"]) == ("ann", 14, 4.0, 1.0)


def test_an_annotator_does_not(client: Client, ann: User) -> None:
    client.force_login(ann)
    assert client.get("/api/v1/projects/chit-chat/statistics/").status_code == 403
