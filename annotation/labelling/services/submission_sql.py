"""The two hand-written statements of storing labels. docs/decisions/0017 has what each of them saves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, models

from annotation.labelling.models.labels import LabellingSettings, Schema
from annotation.tasks.models.work import Assignment, Task
from projects.models import Project


class ModelColumns:
    """The columns of a model in a joined statement, and a row made of their values.

    alias: of its table in the statement. defer: fields to be fetched when they are read. Raises TypeError for fields
    whose values Django converts when it reads them (JSON): defer those.
    """

    def __init__(self, model: type[models.Model], alias: str, *, defer: tuple[str, ...] = ()) -> None:
        fields = [field for field in model._meta.concrete_fields if field.name not in defer]
        if converted := [field.name for field in fields if hasattr(field, "from_db_value")]:
            raise TypeError(f"{model.__name__}: defer {', '.join(converted)}")
        self.model = model
        self.names = [field.attname for field in fields]
        self.sql = ", ".join(f'{alias}."{field.column}"' for field in fields)

    def read_row(self, values: Iterator[Any]) -> Any:
        """The row of the next values; None if an outer join found none."""
        row = self.model.from_db(connection.alias, self.names, [next(values) for _name in self.names])
        return row if row.pk is not None else None


LOCKED_MODELS = (
    ModelColumns(Assignment, "assignment"),
    ModelColumns(Task, "task"),
    ModelColumns(Project, "project", defer=("guidelines_en", "guidelines_zh")),
    ModelColumns(LabellingSettings, "settings"),
    ModelColumns(Schema, "schema", defer=("content",)),
)
# In SQL because the same as three query sets costs a quarter of a labelled dialogue's CPU: select_related over five
# models is slow to compile. Locks the assignment and then its task, as everywhere, so that two people who finish or
# confirm a dialogue at once wait for each other. Roles are as old as the start of the statement: somebody who is
# removed while their labels wait for a lock has sent them in time.
LOCK_ASSIGNMENT = f"""
SELECT {", ".join(columns.sql for columns in LOCKED_MODELS)}, COALESCE(member.roles, '{{}}'),
    EXISTS (
        SELECT FROM annotation_shownlabels shown
        WHERE shown.task_id = task.id AND shown.person_id = assignment.annotator_id
    ),
    ARRAY(
        SELECT utterance.speaker FROM dialogues_utterance utterance
        WHERE utterance.dialogue_id = assignment.dialogue_id ORDER BY utterance.position
    )
FROM annotation_assignment assignment
JOIN annotation_task task ON task.id = assignment.task_id
JOIN projects_project project ON project.id = assignment.project_id
JOIN annotation_labellingsettings settings ON settings.project_id = project.id
LEFT JOIN annotation_schema schema ON schema.id = settings.schema_id
LEFT JOIN projects_membership member
    ON member.project_id = assignment.project_id AND member.user_id = assignment.annotator_id
WHERE assignment.id = %(assignment)s AND assignment.annotator_id = %(annotator)s AND project.protocol = 'labelling'
FOR NO KEY UPDATE OF assignment, task
"""  # noqa: S608 - names of columns

# In SQL because it saves an eighth of a labelled dialogue's CPU: two statements in one, and an update of rows selected
# with SKIP LOCKED. Without that, two submissions of one person at once would wait for each other's assignment. The
# array is selected once. With IN, PostgreSQL may select again for every row of the table while its statistics say that
# the table is empty; with a thousand labels stored, that takes a second.
DELETE_DRAFT_AND_START_NEXT = """
WITH draft AS (DELETE FROM annotation_labeldraft WHERE assignment_id = %(assignment)s)
UPDATE annotation_assignment SET served_at = %(now)s
WHERE %(is_first)s AND id = ANY (ARRAY(
    SELECT id FROM annotation_assignment
    WHERE annotator_id = %(annotator)s AND project_id = %(project)s
        AND state = 'active' AND served_at IS NULL AND id <> %(assignment)s
    FOR NO KEY UPDATE SKIP LOCKED
))
"""


@dataclass(frozen=True, slots=True)
class LockedAssignment:
    """An assignment, locked with its task. Its task, project, settings and schema version are fetched.

    roles: the annotator's in the project, empty for others. saw_labels: whether others' labels were shown to the
    annotator. speakers: of the dialogue's utterances, in order.
    """

    assignment: Assignment
    roles: Sequence[str]
    saw_labels: bool
    speakers: Sequence[str]


def lock_assignment_and_task(*, assignment: int, annotator: int) -> LockedAssignment | None:
    """The annotator's own labelling assignment; None if missing. Both arguments are primary keys."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK_ASSIGNMENT, {"assignment": assignment, "annotator": annotator})
        found = cursor.fetchone()
    if found is None:
        return None
    values = iter(found)
    row, task, project, settings, schema = (columns.read_row(values) for columns in LOCKED_MODELS)
    settings.schema = schema
    project.labelling = settings
    task.project = row.project = project
    row.task = task
    roles, saw_labels, speakers = values
    return LockedAssignment(row, roles, saw_labels, speakers)


def delete_draft_and_start_next(assignment: Assignment, *, is_first: bool, now: datetime) -> None:
    """Delete the draft of an assignment whose labels were stored.

    is_first: these were its first labels, so the time of the dialogues that the person fetched ahead begins now.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            DELETE_DRAFT_AND_START_NEXT,
            {
                "assignment": assignment.pk,
                "annotator": assignment.annotator_id,
                "project": assignment.project_id,
                "is_first": is_first,
                "now": now,
            },
        )
