"""What storing labels asks of the database in its own language (see claim_statements)."""

from annotation.labelling.models.labels import LabellingSettings, Schema, Submission
from annotation.tasks.models.work import Assignment, Task
from common.sql_rows import Joined, NewRow, Side, Value
from projects.models import Membership, Project

# Locks the assignment and then its task, as everywhere: two people who finish or confirm at once wait for each other.
# With it comes who says each utterance, in order.
LOCK = Joined(
    """
    SELECT {columns}
    FROM annotation_assignment assignment
    JOIN annotation_task task ON task.id = assignment.task_id
    JOIN projects_project project ON project.id = assignment.project_id
    JOIN annotation_labellingsettings settings ON settings.project_id = project.id
    LEFT JOIN annotation_schema schema ON schema.id = settings.schema_id
    LEFT JOIN projects_membership member
        ON member.project_id = assignment.project_id AND member.user_id = assignment.annotator_id
    WHERE assignment.id = %(assignment)s AND assignment.annotator_id = %(annotator)s AND project.protocol = 'labelling'
    FOR NO KEY UPDATE OF assignment, task
    """,
    Side(Assignment, "assignment"),
    Side(Task, "task"),
    Side(Project, "project", without=("guidelines_en", "guidelines_zh")),
    Side(LabellingSettings, "settings"),
    Side(Schema, "schema", without=("content",)),
    Side(Membership, "member"),
    Value(
        "ARRAY(SELECT speaker FROM dialogues_utterance said WHERE said.dialogue_id = assignment.dialogue_id"
        " ORDER BY position)"
    ),
)

SUBMISSION = NewRow(Submission)
# Stores a submission, unless its id is another one's; the draft has served its turn. What the person fetched ahead is
# served now, where this is the first answer to its dialogue: what another request of theirs holds is opened by that.
STORE = f"""
WITH stored AS (
    INSERT INTO {SUBMISSION.table} ({SUBMISSION.columns}) VALUES ({SUBMISSION.places})
    ON CONFLICT (id) DO NOTHING RETURNING assignment_id
), drafted AS (
    DELETE FROM annotation_labeldraft draft USING stored WHERE draft.assignment_id = stored.assignment_id
), served AS (
    UPDATE annotation_assignment SET served_at = %(now)s
    WHERE %(first)s AND EXISTS (SELECT FROM stored) AND id IN (
        SELECT id FROM annotation_assignment
        WHERE annotator_id = %(new_annotator_id)s AND project_id = %(new_project_id)s
            AND state = 'active' AND served_at IS NULL AND id <> %(new_assignment_id)s
        FOR NO KEY UPDATE SKIP LOCKED
    )
)
SELECT 1 FROM stored
"""  # noqa: S608 - names of a table and its columns
# What holds of a task's answers now.
LIVE = """
SELECT id, answers, stage FROM annotation_submission WHERE task_id = %(task)s AND superseded_at IS NULL
ORDER BY assignment_id
"""
