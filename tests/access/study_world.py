"""A study in which one person completed their conversations, and a collection for raters."""

from typing import Any
from uuid import uuid4

from annotation.project_setup.services import create_project
from assessment.collections.models import CollectionKind
from assessment.collections.services.starting import CollectionPlan, start_collection
from assessment.sessions.models.conversations import Turn
from assessment.sessions.models.runs import Run
from assessment.systems.models import System
from dialogues.models import Dialogue
from projects.models import Project
from tests.access.people import LEAVER, MANAGER, People
from tests.assessment.collections.conftest import add_dialogue
from tests.assessment.taken_part import create_opened_run, create_study, take_part

Values = dict[str, Any]


def create_study_world(people: People) -> tuple[Project, Values]:
    project = create_study(people[MANAGER])
    people.join(project)
    create_opened_run(project, places=8)
    take_part(project, "participant-1")
    people.leave(project, LEAVER)
    systems = tuple(System.objects.filter(project=project).order_by("pk")[:2])
    rating = create_project(slug="rating", preset="diamante-evaluation", actor=people[MANAGER])
    source = create_project(slug="source", preset="diamante", actor=people[MANAGER])
    for _n in range(4):
        add_dialogue(source, "One", "Two", "Three", "Four")
    plan = CollectionPlan(
        kind=CollectionKind.STATIC, target=rating, systems=systems, source=source, count=1, rounds=1
    )
    collection = start_collection(
        collection_id=uuid4(), project=project, actor=people[MANAGER], plan=plan, enqueue=False
    )
    run = Run.objects.get(project=project)
    dialogue = Dialogue.objects.filter(project=project).earliest("pk")
    return project, {
        "runs/{number}": run.number,
        "collections/{pk}": collection.pk,
        "new/{kind}": "static",
        "new/{connector}": "openai",
        "systems/{key}": systems[0].pk,
        "dialogues/{pk}": dialogue.pk,
        "dialogues/{dialogue_id}": dialogue.pk,
        "turns/{turn_id}": Turn.objects.earliest("pk").pk,
    }
