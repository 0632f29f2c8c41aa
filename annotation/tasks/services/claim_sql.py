"""The two hand-written statements of a claim. docs/decisions/0017 has what each of them saves."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from annotation.tasks.models.work import Task, Workload
from dialogues.models import Dialogue

# In SQL because five query sets, one for each of these facts, cost a third of a claimed and labelled dialogue's CPU.
# The least busy person is looked for only if counts are balanced, in the annotator's group, among those who claimed
# since %(since)s and did not find everything taken in this epoch. Only the workload is read after a wait for its lock;
# the other columns are as old as the start of the statement.
LOCK_WORKLOAD = """
SELECT workload.id, workload.taken, CASE workload.epoch WHEN %(epoch)s THEN workload.cursors ELSE '{}' END,
    COALESCE(member.roles, '{}'), COALESCE(member."group", ''),
    EXISTS (SELECT FROM annotation_admissiontest test WHERE test.project_id = workload.project_id AND test.is_on),
    person.reading_languages, least.taken, least.active_at
FROM annotation_workload workload
JOIN accounts_user person ON person.id = workload.annotator_id
LEFT JOIN projects_membership member
    ON member.project_id = workload.project_id AND member.user_id = workload.annotator_id
LEFT JOIN LATERAL (
    SELECT other.taken, other.active_at
    FROM annotation_workload other
    JOIN projects_membership theirs ON theirs.project_id = other.project_id AND theirs.user_id = other.annotator_id
    WHERE %(is_balanced)s AND other.project_id = workload.project_id AND theirs."group" = member."group"
        AND other.active_at >= %(since)s AND other.id <> workload.id
        AND (other.drained_at IS NULL OR other.epoch <> %(epoch)s)
    ORDER BY other.taken LIMIT 1
) least ON true
WHERE workload.project_id = %(project)s AND workload.annotator_id = %(annotator)s
FOR NO KEY UPDATE OF workload
"""

# In SQL because finding the task, taking one of its slots and counting it in the workload are one statement: as three
# query sets they cost a fifth of the CPU, and hold the task's lock for three round trips.
# A scalar subquery, and an annotator that no index serves: an index finds a task's few assignments. NOT EXISTS becomes
# a join, and as long as the statistics say that there are no assignments, a join or the index of annotators is believed
# to be as cheap, and reads all assignments for every task.
# SKIP LOCKED: nobody waits for anybody. NO KEY: a task is not skipped while somebody stores labels that refer to it.
NEXT_TASK = """
    SELECT task.id, task.rank, dialogue.language, dialogue.domain
    FROM annotation_task task LEFT JOIN dialogues_dialogue dialogue ON dialogue.id = task.dialogue_id
    WHERE task.project_id = %(project)s AND task."group" = %(group)s AND task.open_slots > 0
        AND task.rank >= %(from_rank)s
        AND (
            SELECT mine.id FROM annotation_assignment mine
            WHERE mine.task_id = task.id AND mine.annotator_id + 0 = %(annotator)s LIMIT 1
        ) IS NULL{in_language}
    ORDER BY task.rank, task.id LIMIT 1
    FOR NO KEY UPDATE OF task SKIP LOCKED
"""
# The first task of each language is read from an index, so that the time does not depend on how many dialogues in other
# languages wait. The first task of every language is locked until the claim is committed; others pass by it meanwhile.
NEXT_TASK_IN_LANGUAGES = f"""
    SELECT first.id, first.rank, first.language, first.domain
    FROM unnest(%(languages)s::text[]) AS wanted (language)
    CROSS JOIN LATERAL ({NEXT_TASK.format(in_language=" AND task.language = wanted.language")}) AS first
    ORDER BY first.rank, first.id LIMIT 1
"""  # noqa: S608 - of constants
TAKE_TASK = """
WITH next AS ({next_task}
), counted AS (
    UPDATE annotation_workload SET taken = taken + 1, active_at = %(now)s, drained_at = NULL, epoch = %(epoch)s,
        cursors = CASE epoch WHEN %(epoch)s THEN cursors ELSE '{{}}' END
            || jsonb_build_object(%(cursor)s::text, next.rank)
    FROM next WHERE annotation_workload.id = %(workload)s
)
UPDATE annotation_task SET open_slots = annotation_task.open_slots - 1
FROM next WHERE annotation_task.id = next.id
RETURNING annotation_task.id, annotation_task.project_id, annotation_task.dialogue_id, annotation_task.state,
    next.language, next.domain
"""
TAKE_ANY_TASK = TAKE_TASK.format(next_task=NEXT_TASK.format(in_language=""))
TAKE_TASK_IN_LANGUAGES = TAKE_TASK.format(next_task=NEXT_TASK_IN_LANGUAGES)
TASK_COLUMNS = ["id", "project_id", "dialogue_id", "state"]


@dataclass(frozen=True, slots=True)
class Claimant:
    """A person who claims, with a locked workload.

    taken: dialogues held or submitted. cursors: by cursor_key, the rank from which to look for a task.
    roles, group: as a member of the project, both empty for others. has_admission_test: the project has one.
    reading_languages: that the person reads; empty: all.
    least_taken, least_active_at: of the least busy person at work, and when that person last claimed; None if counts
    are not balanced or nobody else is at work.
    """

    workload: int
    taken: int
    cursors: Mapping[str, int]
    roles: list[str]
    group: str
    has_admission_test: bool
    reading_languages: list[str]
    least_taken: int | None
    least_active_at: datetime | None


def lock_claimant(
    *, project: int, annotator: int, epoch: int, is_balanced: bool, since: datetime
) -> Claimant:
    """Lock the person's workload until the end of the transaction.

    project, annotator: primary keys. since: people who have not claimed since then are not at work.
    Raises Workload.DoesNotExist before the person's first claim in the project.
    """
    row = _fetch_row(
        LOCK_WORKLOAD,
        {
            "project": project,
            "annotator": annotator,
            "epoch": epoch,
            "is_balanced": is_balanced,
            "since": since,
        },
    )
    if row is None:
        raise Workload.DoesNotExist
    workload, taken, cursors, *others = row
    return Claimant(workload, taken, json.loads(cursors), *others)


def cursor_key(group: str, languages: Sequence[str] | None) -> str:
    """The key of Workload.cursors. With other languages a person starts from the first task again."""
    return group if languages is None else f"{group}\n{','.join(languages)}"


def take_task(
    *,
    project: int,
    annotator: int,
    workload: int,
    epoch: int,
    group: str,
    languages: Sequence[str] | None,
    from_rank: int,
    now: datetime,
) -> Task | None:
    """Take a slot of the group's first open task from a rank on that the person never had, and count it.

    languages: only of tasks in one of these; None: of any task. The task's dialogue has its language and domain; other
    fields of both are fetched when they are read.
    """
    row = _fetch_row(
        TAKE_ANY_TASK if languages is None else TAKE_TASK_IN_LANGUAGES,
        {
            "project": project,
            "annotator": annotator,
            "workload": workload,
            "epoch": epoch,
            "group": group,
            "cursor": cursor_key(group, languages),
            "languages": None if languages is None else list(languages),
            "from_rank": from_rank,
            "now": now,
        },
    )
    if row is None:
        return None
    *columns, language, domain = row
    task = Task.from_db(connection.alias, TASK_COLUMNS, columns)
    if task.dialogue_id:
        task.dialogue = Dialogue.from_db(
            connection.alias, ["id", "language", "domain"], [task.dialogue_id, language, domain]
        )
    return task


def _fetch_row(sql: str, parameters: Mapping[str, Any]) -> tuple[Any, ...] | None:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row
