"""Pictures of collections: one that is rated, one that runs, one with failures, and the form of each kind."""

from __future__ import annotations

from random import Random
from typing import Any, Final
from uuid import UUID

from tests.browser.shots import Shot

SLUG: Final = "collected"
RATED, RUNNING, FAILED, WAITING = (UUID(int=n, version=4) for n in range(1, 5))
OPENINGS: Final = (
    ("周末你一般做什么？", "我喜欢在家做饭，最近在学做面包。", "做面包难吗？", "揉面比较累，其余都不难。"),
    ("Do you like the sea?", "I do, but I rarely get there.", "Why not?", "It is nine hours by train."),
    (
        "What are you reading?",
        "A book about bees.",
        "What is in it?",
        "They dance to tell where the flowers are.",
    ),
)
REPLIES: Final = {"careful-bot": "That sounds good. How did you get into it?", "short-bot": "Yes."}


def in_study(_world: object) -> tuple[str]:
    return (SLUG,)


def of(pk: UUID) -> Any:
    return lambda _world: (SLUG, pk)


COLLECTION_SHOTS: Final = [
    Shot("collections", who="mara", args=in_study, main=True),
    Shot("collections", who="mara", args=lambda _world: ("new-collected",), file="collections-empty"),
    Shot("collection", who="mara", args=of(RATED), main=True),
    Shot("collection", who="mara", args=of(RUNNING), file="collection-running", main=True),
    Shot("collection", who="mara", args=of(FAILED), file="collection-failed"),
    Shot("collection", who="mara", args=of(WAITING), file="collection-waiting"),
    Shot("collection_new", who="mara", args=lambda _world: (SLUG, "static"), main=True),
    Shot(
        "collection_new", who="mara", args=lambda _world: (SLUG, "self_chat"), file="collection-new-self-chat"
    ),
    Shot(
        "collection_new", who="mara", args=lambda _world: (SLUG, "human_bot"), file="collection-new-human-bot"
    ),
]
COLLECTION_NO_PAGES: Final = {"collection_cancel", "collection_retry", "collection_download"}


def fill_collections(mara: Any) -> None:
    """A study whose two systems were collected in every state, and an empty one."""
    from annotation.project_setup.services import create_project
    from assessment.systems.models import Connector, System
    from projects.models import Project
    from tests.assessment.collections.conftest import add_dialogue

    create_project(slug="new-collected", preset="live-assessment", actor=mara, title="New study 新评测")
    study = create_project(slug=SLUG, preset="live-assessment", actor=mara, title="Compare our chatbots")
    source = create_project(
        slug="collected-source", preset="diamante", actor=mara, title="Chats of people 闲聊"
    )
    rating = create_project(
        slug="collected-rating", preset="diamante-evaluation", actor=mara, title="Rate replies 评价回复"
    )
    for n in range(12):
        add_dialogue(source, *OPENINGS[n % len(OPENINGS)])
    for name in REPLIES:
        System.objects.create(project=study, name=name, connector=Connector.OPENAI)
    projects: dict[str, Project] = {"project": study, "source": source, "target": rating}
    _rate(_collect(RATED, projects, "static", 12), rating)
    _collect(WAITING, projects, "self_chat", 3)
    _break(_collect(FAILED, projects, "static", 3))
    _interrupt(RUNNING, projects)


def _collect(pk: UUID, projects: dict[str, Any], kind: str, count: int) -> Any:
    from unittest.mock import patch

    from assessment.collections.models import Collection
    from assessment.systems.services import asking
    from jobs.services import run_job
    from tests.assessment.collections.conftest import FakeSystems

    collection = _start(pk, projects, kind, count)
    fakes = FakeSystems({name: lambda _question, said=said: said for name, said in REPLIES.items()})  # type: ignore[misc]
    with patch.object(asking, "connector_for", fakes.connector_for):
        run_job(job_id=collection.job_id)
    return Collection.objects.get(pk=pk)


def _start(pk: UUID, projects: dict[str, Any], kind: str, count: int) -> Any:
    from assessment.collections.services.starting import CollectionPlan, start_collection
    from assessment.systems.models import System

    plan = CollectionPlan(
        kind=kind,
        target=projects["target"],
        systems=tuple(System.objects.filter(project=projects["project"])),
        source=projects["source"],
        count=count,
    )
    return start_collection(
        collection_id=pk, project=projects["project"], actor=None, plan=plan, enqueue=False
    )


def _rate(collection: Any, rating: Any) -> None:
    from tests.assessment.collections.raters import rate_everything
    from tests.browser.labelling import annotator

    chance, raters = Random(7), [annotator(f"rater{n}", rating) for n in range(3)]
    best = {"careful-bot": (0.9, 0.8), "short-bot": (0.4, 0.1), "": (0.95, 0.6)}

    def opinion(_rater: str, system: str) -> tuple[int, int]:
        first, second = (sum(chance.random() < share for _n in range(2)) for share in best[system])
        return first, second

    rate_everything(rating, raters, opinion)


def _break(collection: Any) -> None:
    """One system did not answer."""
    from assessment.collections.models import CollectedDialogue, CollectedState

    rows = CollectedDialogue.objects.filter(collection=collection, system__name="short-bot")
    rows.update(
        state=CollectedState.MISSING,
        error="The service at http://127.0.0.1:9000 cannot be reached, or broke off. Start it, or correct its "
        "address.",
    )


def _interrupt(pk: UUID, projects: dict[str, Any]) -> None:
    """A worker is at it."""
    from django.utils import timezone

    from jobs.models import Job, JobState

    collection = _start(pk, projects, "self_chat", 12)
    now = timezone.now()
    Job.objects.filter(pk=collection.job_id).update(
        state=JobState.RUNNING, done=9, total=24, unit="dialogues", started_at=now, heartbeat_at=now
    )
