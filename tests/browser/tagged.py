"""Topics for pictures: some that a person chose, the others by a judge."""

from random import Random
from typing import Any
from uuid import uuid4

from accounts.models import User
from dialogues.models import Dialogue, DialogueState
from jobs.models import Job, JobState
from preference.topics.models import TaggingRun
from preference.topics.services.categories import choose_topic
from preference.topics.services.tagging import finish_tagging, start_tagging
from preference.training.topics.categories import CATEGORIES
from projects.models import Project

CHOSEN_BY_PEOPLE = 5  # dialogues


def fill_topics(project: Project, actor: User) -> TaggingRun:
    """Every finished dialogue but one has a topic; the frequent ones are the paper's (Diamante, appendix B.3)."""
    chance = Random(1)
    names = [category.id for category in CATEGORIES]
    weights = [23, 11, 10, 8, 8, *[2] * (len(names) - 5)]
    dialogues = list(Dialogue.objects.filter(project=project, state=DialogueState.FINISHED).order_by("id"))
    topics = chance.choices(names, weights, k=len(dialogues))
    for dialogue, topic in list(zip(dialogues, topics, strict=True))[:CHOSEN_BY_PEOPLE]:
        choose_topic(dialogue=dialogue, topic=topic, actor=actor)
    settings = {"server": "http://127.0.0.1:8000/v1", "server_model": "qwen3-8b"}
    run = start_tagging(
        run_id=uuid4(), project=project, actor=actor, tagger="judge", settings=settings, enqueue=False
    )
    rows: list[dict[str, Any]] = [
        {"id": str(dialogue.pk), "topic": topic}
        for dialogue, topic in list(zip(dialogues, topics, strict=True))[CHOSEN_BY_PEOPLE:-1]
    ]
    rows.append(
        {"id": str(dialogues[-1].pk), "topic": None, "reason": "The answer is not one of the options."}
    )
    finish_tagging(run=run, rows=rows, description={"evaluator": "judge"})
    Job.objects.filter(pk=run.job_id).update(state=JobState.DONE, done=len(rows), total=len(rows))
    return run
