"""Work that waits for a role that nobody has is named where a manager looks, with the page that mends it."""

from collections.abc import Callable

import pytest
from django.test import Client

from accounts.models import User
from annotation.labelling.models.labels import Resolution
from annotation.labelling.selectors.settings import lacks_trainer
from annotation.project_setup.services import create_project
from annotation.tasks.models.rounds import Batch, Round, RoundState
from annotation.tasks.models.work import Task, TaskState
from dialogues.models import Dialogue, DialogueState, Origin
from projects.models import Project, Role

Joins = Callable[..., User]
DISPUTES = "1 dialogue waits for a trainer, and nobody has that role."
NO_TRAINER = "Nobody has the role “Trainer”"
MEMBERS = 'href="/p/quality/members/"'


@pytest.fixture
def quality(mara: User, joins: Joins) -> Project:
    """A labelling project of two people per dialogue, with annotators."""
    quality = create_project(slug="quality", preset="diqad", actor=mara)
    joins("ann", quality, Role.ANNOTATOR)
    joins("bob", quality, Role.ANNOTATOR)
    return quality


@pytest.fixture
def disputed(quality: Project) -> Project:
    dialogue = Dialogue.objects.create(
        project=quality, origin=Origin.IMPORTED, state=DialogueState.FINISHED, split="train"
    )
    Task.objects.create(project=quality, dialogue=dialogue, state=TaskState.DISPUTED, overlap=2, open_slots=0)
    return quality


def page_of(client: Client, path: str) -> str:
    return client.get(path).content.decode()


def test_the_start_page_says_that_a_role_is_missing(
    maras_browser: Client, disputed: Project, joins: Joins
) -> None:
    html = page_of(maras_browser, "/")
    assert "a role is missing" in html
    assert MEMBERS in html
    joins("tess", disputed, Role.TRAINER)
    assert MEMBERS not in page_of(maras_browser, "/")


@pytest.mark.parametrize("path", ["/p/quality/", "/p/quality/dialogues/?label=disputed"])
def test_disputes_without_a_trainer_are_named(
    maras_browser: Client, disputed: Project, joins: Joins, path: str
) -> None:
    html = page_of(maras_browser, path)
    assert html.count(DISPUTES) == 1
    assert MEMBERS in html
    joins("tess", disputed, Role.TRAINER)
    assert DISPUTES not in page_of(maras_browser, path)


def test_somebody_who_cannot_add_people_reads_it_without_a_link(
    client: Client, disputed: Project, joins: Joins
) -> None:
    client.force_login(joins("eric", disputed, Role.ENGINEER))
    html = page_of(client, "/p/quality/")
    assert DISPUTES in html
    assert MEMBERS not in html


def test_a_batch_without_a_controller_is_named(maras_browser: Client, quality: Project, joins: Joins) -> None:
    batch = Batch.objects.create(project=quality, number=1, size=1)
    Round.objects.create(project=quality, batch=batch, number=1, state=RoundState.SEALED)
    sentence = "1 batch waits for a quality controller, and nobody has that role."
    assert sentence in page_of(maras_browser, "/p/quality/")
    joins("carlos", quality, Role.CONTROLLER)
    assert sentence not in page_of(maras_browser, "/p/quality/")


def test_a_dialogue_without_an_expert_is_named(
    maras_browser: Client, planned: Project, ann: User, joins: Joins
) -> None:
    Dialogue.objects.create(
        project=planned, origin=Origin.AUTHORED, state=DialogueState.FINISHED, split="train"
    )
    sentence = "1 finished dialogue waits for an expert, and nobody has the role"
    assert sentence in page_of(maras_browser, "/p/chit-chat/")
    joins("carlos", planned, Role.CONTROLLER)
    assert sentence not in page_of(maras_browser, "/p/chit-chat/")


def test_an_annotator_reads_how_many_dialogues_are_for_them(
    client: Client, quality: Project, joins: Joins
) -> None:
    for language in ("en", "zh"):
        dialogue = Dialogue.objects.create(
            project=quality, origin=Origin.IMPORTED, state=DialogueState.FINISHED, split="train"
        )
        Task.objects.create(project=quality, dialogue=dialogue, overlap=2, open_slots=2, language=language)
    ann = joins("ann", quality, Role.ANNOTATOR)
    client.force_login(ann)
    assert "of them for you" not in page_of(client, "/p/quality/")
    User.objects.filter(pk=ann.pk).update(reading_languages=["en"])
    html = page_of(client, "/p/quality/")
    assert "1 of them for you" in html


@pytest.mark.parametrize("path", ["/p/quality/", "/p/quality/settings/"])
def test_a_project_of_several_people_hints_at_the_missing_trainer(
    maras_browser: Client, quality: Project, joins: Joins, path: str
) -> None:
    assert NO_TRAINER in page_of(maras_browser, path)
    joins("tess", quality, Role.TRAINER)
    assert NO_TRAINER not in page_of(maras_browser, path)


@pytest.mark.parametrize(
    ("changes", "lacks"),
    [({}, True), ({"overlap": 1}, False), ({"resolution": Resolution.COLLECT}, False)],
)
def test_a_trainer_is_missing_only_where_people_can_disagree(
    quality: Project, changes: dict[str, object], lacks: bool
) -> None:
    for name, value in changes.items():
        setattr(quality.labelling, name, value)
    assert lacks_trainer(quality) is lacks
