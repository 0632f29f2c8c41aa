"""Storing the topics of dialogues, and removing what a job stored.

`preference.topics` says which topics a project has.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from accounts.models import User
from dialogues.models import Dialogue, TopicSource
from jobs.models import Job
from projects.transitions import record

MACHINES = (TopicSource.JUDGE, TopicSource.MODEL)
FIELDS = ("topic", "topic_source", "topic_probability", "topic_job")

# bulk_update takes seventeen times as long: it writes a CASE with a branch for every row.
STORE = """
    UPDATE dialogues_dialogue AS dialogue
    SET topic = tag.topic, topic_source = %(source)s, topic_probability = tag.probability, topic_job_id = %(job)s
    FROM unnest(%(ids)s::bigint[], %(topics)s::text[], %(probabilities)s::float8[]) AS tag (id, topic, probability)
    WHERE dialogue.id = tag.id
      AND (
        dialogue.topic_source = '' OR dialogue.topic_job_id = %(job)s
        OR dialogue.topic_source = ANY(%(replaced)s::text[])
      )
"""


@dataclass(frozen=True, slots=True)
class TopicTag:
    """The topic that a machine chose. probability: None if the machine gives none."""

    dialogue: int
    topic: str
    probability: float | None = None


@transaction.atomic
def set_topic(*, dialogue: Dialogue, topic: str, actor: User | None) -> Dialogue:
    """Set the topic as a person's choice; "" removes it. The same topic of a person again writes no event."""
    stored = Dialogue.objects.select_for_update(no_key=True).get(pk=dialogue.pk)
    source = TopicSource.PERSON.value if topic else ""
    if (stored.topic, stored.topic_source) == (topic, source):
        return stored
    before = {"topic": stored.topic, "source": stored.topic_source}
    stored.topic, stored.topic_source = topic, source
    stored.topic_probability, stored.topic_job = None, None
    stored.save(update_fields=FIELDS)
    data = {"topic": topic, "before": before}
    record(stored, kind="topic", project=dialogue.project, actor=actor, data=data)
    return stored


def store_tags(*, job: Job, source: TopicSource, tags: Sequence[TopicTag], replaces: bool) -> int:
    """Store what a machine chose, in one statement; returns the number of dialogues. Safe to repeat.

    replaces: also replace topics of other machines. What a person or a file said stays, even if it came while the
    machine worked.
    """
    values: dict[str, Any] = {
        "source": source.value,
        "job": job.pk,
        "ids": [tag.dialogue for tag in tags],
        "topics": [tag.topic for tag in tags],
        "probabilities": [tag.probability for tag in tags],
        "replaced": [machine.value for machine in MACHINES] if replaces else [],
    }
    with connection.cursor() as cursor:
        cursor.execute(STORE, values)
        return int(cursor.rowcount)


@transaction.atomic
def remove_tags(*, job: Job) -> int:
    """Remove the topics that the job set and nobody has changed since; returns the number of dialogues."""
    rows = Dialogue.objects.filter(topic_job=job, topic_source__in=MACHINES)
    return rows.update(topic="", topic_source="", topic_probability=None, topic_job=None)
