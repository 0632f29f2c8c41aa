"""Projects with systems on a real server, and turns that a participant sends."""

from typing import Any

import httpx

from assessment.sessions.models.conversations import Session, Turn
from assessment.sessions.models.participants import Assignment
from assessment.sessions.services import calls
from assessment.systems.models import Connector, System
from dialogues.models import Dialogue, DialogueState, Origin, Split, Utterance
from projects.models import Project
from tests.assessment import steps


def openai_system(project: Project, server: str, mode: str = "good", **values: Any) -> System:
    options = {"base_url": f"{server}/{mode}/v1", "model": "mega/MegaBot"}
    return System.objects.create(
        **{"project": project, "name": mode, "connector": Connector.OPENAI, "options": options, **values}
    )


def http_system(project: Project, server: str, mode: str = "good", **values: Any) -> System:
    options = {"address": f"{server}/{mode}"}
    named = {"name": f"http {mode}", "connector": Connector.HTTP, "options": options}
    return System.objects.create(**{"project": project, **named, **values})


def degraded_system(project: Project, corpus: Project | None = None, name: str = "degraded") -> System:
    return System.objects.create(
        project=project, name=name, connector=Connector.DEGRADED, corpus=corpus or project
    )


def import_dialogues(project: Project, count: int = 8) -> list[Dialogue]:
    """Finished dialogues whose utterances all have ten words that no other dialogue has."""
    made = []
    for number in range(count):
        dialogue = Dialogue.objects.create(
            project=project,
            external_id=f"corpus-{number}",
            origin=Origin.IMPORTED,
            state=DialogueState.FINISHED,
            split=Split.TRAIN,
            utterance_count=4,
        )
        Utterance.objects.bulk_create(
            Utterance(
                dialogue=dialogue,
                position=position,
                speaker="AB"[position % 2],
                text=" ".join(f"d{number}p{position}w{word}" for word in range(10)),
            )
            for position in range(4)
        )
        made.append(dialogue)
    return made


def begin_with(project: Project, *systems: System, name: str = "ann") -> Assignment:
    """An assignment whose conversations have these systems, in this order."""
    steps.opened_run(project)
    assignment = steps.begin(project, name)
    assignment.sessions.all().delete()
    Session.objects.bulk_create(
        Session(assignment=assignment, system=system, place=place)
        for place, system in enumerate(systems, start=1)
    )
    return assignment


def fetch(turn: Turn, worker: str = "worker-1") -> Turn:
    """What the worker does with the turn's message, in this process."""
    calls.fetch_reply(turn_id=turn.pk, worker=worker)
    return fresh(turn)


def fresh(turn: Turn) -> Turn:
    return Turn.objects.select_related("reply", "session").get(pk=turn.pk)


def calls_of(server: str, mode: str) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = httpx.get(f"{server}/calls").json()
    return [call for call in calls if call["mode"] == mode]
