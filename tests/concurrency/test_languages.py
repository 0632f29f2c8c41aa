"""People who read different languages claim at once: each gets only dialogues in theirs, and none is given twice."""

from collections import Counter
from threading import Barrier, Thread
from uuid import uuid4

import pytest
from django.db import connections

from accounts.models import User
from annotation.labelling.services.planning import plan_labelling
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment, Task
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Refusal
from dialogues.models import Dialogue, DialogueState, Origin
from projects.models import Membership, Project, Role

pytestmark = pytest.mark.django_db(transaction=True)

LANGUAGES = ("zh", "en", "")
READERS: tuple[list[str], ...] = (["zh"], ["zh"], ["en"], ["zh", "en"], [], [])
DIALOGUES = 90


@pytest.fixture
def mixed() -> Project:
    project = create_project(slug="mixed", preset="dialeval", actor=None)
    project.labelling.overlap, project.labelling.open_tasks_per_person = 1, 50
    project.labelling.balance = None
    project.labelling.save()
    Dialogue.objects.bulk_create(
        Dialogue(
            project=project,
            origin=Origin.IMPORTED,
            state=DialogueState.FINISHED,
            language=LANGUAGES[number % len(LANGUAGES)],
        )
        for number in range(DIALOGUES)
    )
    plan_labelling(project=project, actor=None, plan_id=uuid4())
    return project


def claim_everything(person: User, project: Project, barrier: Barrier, ends: Counter[str]) -> None:
    """Until nothing is left in the person's languages; tasks that others have locked are looked for again."""
    try:
        barrier.wait()
        while True:
            try:
                claim_next_task(
                    annotator=person, project=Project.objects.get(pk=project.pk), claim_id=uuid4()
                )
            except Refusal as refusal:
                if refusal.code == "all_claimed" and Task.objects.filter(open_slots__gt=0).exists():
                    continue
                ends[refusal.code] += 1
                return
    finally:
        connections.close_all()


def test_everybody_gets_only_their_languages_and_everything_is_given_out(mixed: Project) -> None:
    people = [
        User.objects.create(username=f"reader-{number}", reading_languages=languages)
        for number, languages in enumerate(READERS)
    ]
    for person in people:
        Membership.objects.create(project=mixed, user=person, roles=[Role.ANNOTATOR])
    barrier, ends = Barrier(len(people)), Counter[str]()
    threads = [Thread(target=claim_everything, args=(person, mixed, barrier, ends)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    given = Assignment.objects.values_list(
        "task", "annotator__reading_languages", "dialogue__language", named=True
    )
    assert len({row.task for row in given}) == len(given) == DIALOGUES
    wrong = [row for row in given if row[1] and row[2] not in ("", *row[1])]
    assert wrong == []
    assert sum(ends.values()) == len(people)
