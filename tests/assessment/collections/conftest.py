"""Systems that reply what a test says, dialogues to draw contexts from, and raters."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

import pytest

from accounts.models import User
from annotation.project_setup.services import create_project
from assessment.collections.models import Collection, CollectionKind
from assessment.collections.services.starting import CollectionPlan, start_collection
from assessment.systems.connectors.protocol import Conversation, Question, SystemReply
from assessment.systems.models import System
from assessment.systems.services import asking
from dialogues.models import Dialogue, DialogueState, Origin, Split, Utterance
from projects.models import Project, Role
from tests.conftest import Joins

Collects = Callable[..., Collection]
Answers = Callable[[Question], str]


@dataclass
class FakeSystems:
    """Connectors of all systems of the test. answers: by the name of the system; others count the utterances.

    asked: how often each was asked. handles: opened conversations that are not closed.
    """

    answers: dict[str, Answers] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    questions: list[tuple[str, Question]] = field(default_factory=list)
    handles: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def connector_for(self, system: System) -> "FakeConnector":
        return FakeConnector(self, system.name)


@dataclass
class FakeConnector:
    systems: FakeSystems
    name: str

    def open(self, conversation: Conversation, deadline: float) -> str:
        handle = str(uuid4())
        self.systems.handles.add(handle)
        return handle

    def reply(self, question: Question) -> SystemReply:
        with self.systems.lock:
            self.systems.asked[self.name] += 1
            self.systems.questions.append((self.name, question))
        answer = self.systems.answers.get(self.name)
        return SystemReply(answer(question) if answer else f"{self.name} {len(question.context)}")

    def close(self, handle: str, deadline: float) -> None:
        self.systems.handles.discard(handle)


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> FakeSystems:
    systems = FakeSystems()
    monkeypatch.setattr(asking, "connector_for", systems.connector_for)
    return systems


def add_dialogue(
    project: Project, *texts: str, split: str = Split.TRAIN, origin: str = Origin.IMPORTED
) -> Dialogue:
    dialogue = Dialogue.objects.create(
        project=project,
        origin=origin,
        state=DialogueState.FINISHED,
        split=split,
        utterance_count=len(texts),
    )
    Utterance.objects.bulk_create(
        Utterance(dialogue=dialogue, position=position, speaker="AB"[position % 2], text=text)
        for position, text in enumerate(texts)
    )
    return dialogue


@pytest.fixture
def source(mara: User) -> Project:
    """Six dialogues of four utterances."""
    project = create_project(slug="source", preset="diamante", actor=mara, title="Source")
    for n in range(6):
        add_dialogue(project, *(f"{n}.{position}" for position in range(4)))
    return project


@pytest.fixture
def rating(mara: User) -> Project:
    """The raters' project: three people rate each dialogue."""
    return create_project(slug="rating", preset="diamante-evaluation", actor=mara, title="Rating")


@pytest.fixture
def raters(rating: Project, joins: Joins) -> list[User]:
    return [joins(name, rating, Role.ANNOTATOR) for name in ("rhea", "ron", "ruth")]


@pytest.fixture
def pair(study: Project) -> tuple[System, ...]:
    """The systems a and b."""
    return tuple(System.objects.filter(project=study, name__in=["a", "b"]).order_by("name"))


@pytest.fixture
def collects(study: Project, source: Project, rating: Project, pair: tuple[System, ...]) -> Collects:
    """collects("static", count=2) starts a collection of the systems a and b; the test runs its job."""

    def collect(kind: str = CollectionKind.STATIC, **changes: object) -> Collection:
        collection_id = changes.pop("collection_id", None) or uuid4()
        actor = changes.pop("actor", None)
        plan: dict[str, object] = {
            "target": rating,
            "systems": pair,
            "source": source,
            "count": 2,
            "rounds": 2,
        }
        return start_collection(
            collection_id=collection_id,  # type: ignore[arg-type]
            project=study,
            actor=actor,  # type: ignore[arg-type]
            plan=CollectionPlan(kind=kind, **{**plan, **changes}),  # type: ignore[arg-type]
            enqueue=False,
        )

    return collect
