"""The collection of `make demo`: real replies, scripted raters, some dialogues left for people, created once."""

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.models import User
from annotation.labelling.models.labels import Submission
from annotation.tasks.models.work import Task, TaskState
from assessment.collections.models import CollectedDialogue, Collection
from assessment.collections.selectors.report import HUMAN, collection_report
from assessment.demo.collection import CONTEXTS, LEFT_FOR_PEOPLE, SLUG
from projects.models import Project

BOTS = "http://127.0.0.1:8601"


@pytest.fixture
def collection(db: None) -> Collection:
    call_command("seed_demo", verbosity=0)
    call_command("seed_demo_study", bots=BOTS, verbosity=0)
    return Collection.objects.get()


def test_the_demo_has_a_rated_collection(collection: Collection, client: Client) -> None:
    report = collection_report(collection)
    assert (report.planned, report.rated) == (3 * CONTEXTS, 3 * CONTEXTS - LEFT_FOR_PEOPLE)
    assert [row.system for row in report.systems] == [HUMAN, "Rule bot", "Degraded"]
    assert all("source_text" in row.draft.utterances.get(position=len(row.context)).metadata
               for row in CollectedDialogue.objects.filter(system__name="Degraded") if row.draft)  # fmt: skip
    client.force_login(User.objects.get(username="mara"))
    html = client.get(f"/p/live-assessment/collections/{collection.pk}/").content.decode()
    assert "is better than “Degraded”" in html
    client.force_login(User.objects.get(username="ann"))
    assert client.get(f"/p/{SLUG}/queue/").status_code == 200
    assert Task.objects.filter(project__slug=SLUG, state=TaskState.OPEN).count() == LEFT_FOR_PEOPLE
    counts = [model.objects.count() for model in (Project, Collection, CollectedDialogue, Submission)]
    call_command("seed_demo_study", bots=BOTS, verbosity=0)
    assert [model.objects.count() for model in (Project, Collection, CollectedDialogue, Submission)] == counts
