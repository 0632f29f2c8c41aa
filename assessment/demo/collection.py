"""The demo's collection: two systems and a person answer the same contexts, and scripted raters judge the replies."""

from random import Random
from typing import Any, Final
from uuid import UUID, uuid5

from django.utils import timezone

from accounts.models import User
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment
from annotation.tasks.services.claiming import claim_next_task
from assessment.collections.models import CollectedDialogue, Collection, CollectionKind
from assessment.collections.services.conversations import store_conversation
from assessment.collections.services.handing_over import SYSTEM, hand_over
from assessment.collections.services.starting import CollectionPlan, start_collection
from assessment.demo.bots import answer_by_rule
from assessment.demo.study import RULES_BOT
from assessment.systems.connectors.protocol import Conversation, Question, SystemReply
from assessment.systems.models import Connector, System
from assessment.systems.services.asking import ask
from generation.protocol import Message
from jobs.models import Job, JobState
from projects.models import Membership, Project, Role

SLUG: Final = "replies"
NAMESPACE: Final = UUID("5b8a3c77-90f5-4f0c-9a52-2e3f4c1f7d10")
DESCRIPTION: Final = (
    "Rate replies without knowing who wrote them; the page Collections of the live assessment compares the systems. "
    "在不知道是谁写的情况下给回复评分；“实时评测”的“收集”页会比较各个系统。\n\n"
    "Demo data: the raters so far are scripts. 演示数据：目前的评分者都是脚本。"
)
CONTEXTS: Final = 14
RATERS: Final = ("demo-robot-ada", "demo-robot-cleo", "demo-robot-xiaohe")
LEFT_FOR_PEOPLE: Final = 3  # dialogues that the last script does not rate
# How often scripts give a point, of two, to a reply and to the whole dialogue; "" is the human reply.
POINTS: Final = {RULES_BOT: (0.8, 0.55), "Degraded": (0.15, 0.1), "": (0.95, 0.75)}


def create_demo_collection(study: Project, corpus: Project, manager: User) -> Project:
    """Create the raters' project and the collection, once. corpus: gives the contexts."""
    rating = Project.objects.filter(slug=SLUG).first()
    if rating is None:
        title = "Replies 回复"
        rating = create_project(
            slug=SLUG, preset="diamante-evaluation", title=title, description=DESCRIPTION, actor=manager
        )
        collection = _collect(study, corpus, rating, manager)
        hand_over(collection)
        raters = list(User.objects.filter(username__in=RATERS).order_by("username"))
        for place, rater in enumerate(raters, start=1):
            Membership.objects.create(project=rating, user=rater, roles=[Role.ANNOTATOR])
            left = LEFT_FOR_PEOPLE if place == len(raters) else 0
            _rate(rating, rater, collection.dialogues.count() - left)
    return rating


def _collect(study: Project, corpus: Project, rating: Project, manager: User) -> Collection:
    """As the job does, but in this transaction: nothing here waits for a server."""
    plan = CollectionPlan(
        kind=CollectionKind.STATIC,
        target=rating,
        systems=tuple(System.objects.filter(project=study, name__in=[RULES_BOT, "Degraded"])),
        source=corpus,
        count=CONTEXTS,
        any_split=True,
        seed=4,
    )
    collection = start_collection(
        collection_id=uuid5(NAMESPACE, "replies"), project=study, actor=manager, plan=plan, enqueue=False
    )
    for row in collection.dialogues.select_related("system", "collection__project"):
        store_conversation(row, [_reply(row, row.system)] if row.system else [])
    count, now = collection.dialogues.count(), timezone.now()
    Job.objects.filter(pk=collection.job_id).update(
        state=JobState.DONE,
        done=count,
        total=count,
        unit="dialogues",
        result={"dialogues": count, "missing": 0, "planned": count},
        started_at=now,
        ended_at=now,
    )
    return collection


def _reply(row: CollectedDialogue, system: System) -> SystemReply:
    """What the system really says; the rules need no server."""
    texts = [text for _speaker, text in row.context]
    if system.connector != Connector.DEGRADED:
        return SystemReply(answer_by_rule(texts[-1], len(texts)))
    context = tuple(Message("A", text) for text in texts)
    return ask(system, Question(Conversation(dialogue_id=0), context, seed=row.number, deadline=0))


def _rate(rating: Project, rater: User, count: int) -> None:
    for n in range(count):
        key = uuid5(NAMESPACE, f"{rater.username} {n}")
        assignment = claim_next_task(annotator=rater, project=rating, claim_id=key)
        sent = SentLabels(id=key, schema=1, answers=_answers(assignment, Random(str(key))), active_ms=20_000)
        submit_labels(annotator=rater, assignment_id=assignment.pk, sent=sent)


def _answers(assignment: Assignment, dice: Random) -> dict[str, Any]:
    row = CollectedDialogue.objects.select_related("system").get(dialogue=assignment.dialogue)
    reply, whole = POINTS[row.system.name if row.system else ""]
    utterances = row.dialogue.utterances.filter(speaker=SYSTEM) if row.dialogue else []
    return {
        "dialogue": {"engagingness": _score(whole, dice)},
        "utterances": {str(each.position): _criteria(reply, dice) for each in utterances},
    }


def _criteria(share: float, dice: Random) -> dict[str, int]:
    """Without coherence a reply has no information and is not safe (Table 8 of Diamante)."""
    coherence = _score(share, dice)
    if coherence == 0:
        return {"coherence": 0, "informativeness": 0, "safety": 0}
    return {"coherence": coherence, "informativeness": _score(share, dice), "safety": 2}


def _score(share: float, dice: Random) -> int:
    return sum(dice.random() < share for _ in range(2))
