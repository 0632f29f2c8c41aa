"""What a claim asks of the database, in its own language: every answered dialogue is followed by one.

Django makes such statements anew each time, which took three quarters of a claim. `claiming` says what they mean.
"""

from annotation.tasks.models.work import Assignment
from common.sql_rows import NewRow

ASSIGNMENT = NewRow(Assignment)
# Locks the person's workload. roles and group: as a member of the project; None for who is none. has_test: the project
# has an admission test. least and least_at: where counts are balanced, who has taken least of the person's group, among
# those at work for whom something is left, as of when the statement began: after a wait, a moment ago.
STANDING = """
SELECT workload.*, member.roles, member."group", EXISTS (
    SELECT FROM annotation_admissiontest test WHERE test.project_id = workload.project_id AND test.is_on
) AS has_test, least.taken AS least, least.active_at AS least_at
FROM annotation_workload workload
LEFT JOIN projects_membership member
    ON member.project_id = workload.project_id AND member.user_id = workload.annotator_id
LEFT JOIN LATERAL (
    SELECT other.taken, other.active_at
    FROM annotation_workload other
    JOIN projects_membership theirs ON theirs.project_id = other.project_id AND theirs.user_id = other.annotator_id
    WHERE %(balanced)s AND other.project_id = workload.project_id AND theirs."group" = member."group"
        AND other.active_at >= %(since)s AND other.id <> workload.id
        AND (other.drained_at IS NULL OR other.epoch <> %(epoch)s)
    ORDER BY other.taken LIMIT 1
) least ON true
WHERE workload.project_id = %(project)s AND workload.annotator_id = %(annotator)s
FOR NO KEY UPDATE OF workload
"""

# What the person holds in the project, and what this very claim took before, whoever sent it.
HELD_OR_CLAIMED = """
SELECT * FROM annotation_assignment
WHERE (annotator_id = %(annotator)s AND project_id = %(project)s AND state IN ('active', 'saved'))
    OR claim_id = %(claim)s
"""

# The first open task of a pool from a rank on that the person never had: takes one of its slots and counts it in the
# workload, whose cursor then points at it. SKIP LOCKED: nobody waits for anybody. NO KEY: a task of which somebody
# stores labels at this instant, and so refers to its key, is not passed by.
TAKE = """
WITH next AS (
    SELECT task.id, task.rank, dialogue.language, dialogue.domain
    FROM annotation_task task LEFT JOIN dialogues_dialogue dialogue ON dialogue.id = task.dialogue_id
    WHERE task.project_id = %(project)s AND task."group" = %(pool)s AND task.open_slots > 0 AND task.rank >= %(since)s
        AND NOT EXISTS (
            SELECT FROM annotation_assignment mine
            WHERE mine.task_id = task.id AND mine.annotator_id = %(annotator)s
        )
    ORDER BY task.rank, task.id LIMIT 1
    FOR NO KEY UPDATE OF task SKIP LOCKED
), counted AS (
    UPDATE annotation_workload SET taken = taken + 1, active_at = %(now)s, drained_at = NULL, epoch = %(epoch)s,
        cursors = CASE epoch WHEN %(epoch)s THEN cursors ELSE '{}' END || jsonb_build_object(%(pool)s::text, next.rank)
    FROM next WHERE annotation_workload.id = %(workload)s
)
UPDATE annotation_task SET open_slots = annotation_task.open_slots - 1
FROM next WHERE annotation_task.id = next.id
RETURNING annotation_task.*, next.language, next.domain
"""
