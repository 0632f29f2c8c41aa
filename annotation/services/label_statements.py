"""What storing labels asks of the database in its own language (see claim_statements)."""

from accounts.joined import Joined, Side
from annotation.models import Assignment, LabellingSettings, Schema, Task
from projects.models import Project

# Locks the assignment and then its task, as everywhere: two people who finish or confirm at once wait for each other.
LOCK = Joined(
    """
    SELECT {columns}
    FROM annotation_assignment assignment
    JOIN annotation_task task ON task.id = assignment.task_id
    JOIN projects_project project ON project.id = assignment.project_id
    JOIN annotation_labellingsettings settings ON settings.project_id = project.id
    LEFT JOIN annotation_schema schema ON schema.id = settings.schema_id
    WHERE assignment.id = %(assignment)s AND assignment.annotator_id = %(annotator)s AND project.protocol = 'labelling'
    FOR NO KEY UPDATE OF assignment, task
    """,
    Side(Assignment, "assignment"),
    Side(Task, "task"),
    Side(Project, "project", without=("guidelines_en", "guidelines_zh")),
    Side(LabellingSettings, "settings"),
    Side(Schema, "schema", without=("content",)),
)

# What was fetched ahead is served now. What another request of the person holds is being opened by that one.
SERVE_AHEAD = """
UPDATE annotation_assignment SET served_at = %(now)s
WHERE id IN (
    SELECT id FROM annotation_assignment
    WHERE annotator_id = %(annotator)s AND project_id = %(project)s AND state = 'active' AND served_at IS NULL
    FOR NO KEY UPDATE SKIP LOCKED
)
"""
