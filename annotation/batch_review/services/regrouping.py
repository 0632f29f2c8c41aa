"""Which group labels a batch, and giving an open batch to another one."""

from collections.abc import Sequence

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.batch_review.models import Relabel
from annotation.batch_review.selectors.batch_plan import batch_plan_for
from annotation.batch_review.services.locking import lock_round
from annotation.tasks.models.rounds import Round, RoundState
from annotation.tasks.models.work import Task, TaskState
from annotation.tasks.services.assignment import reset_claim_cursors
from common.refusals import Invalid, Refusal
from projects.models import Membership, Project, Role
from projects.selectors import groups_of
from projects.transitions import record


@transaction.atomic
def regroup_round(*, actor: User, round_id: int, group: str) -> Round:
    """Give the unfinished dialogues of an open round to another group; empty: to anybody. Safe to repeat.

    People keep the dialogues that they hold; those that they give back go to the new group.
    """
    row = lock_round(round_id)
    if row.state != RoundState.OPEN:
        raise Refusal(
            "not_open",
            _("This batch is not being labelled."),
            _("Only open batches can be given to another group."),
        )
    check_group(group, groups_of(row.project))
    if row.group == group:
        return row
    before, row.group = row.group, group
    row.save(update_fields=["group"])
    Task.objects.filter(round=row).exclude(state=TaskState.FINAL).update(group=group)
    reset_claim_cursors(row.project)
    record(row, kind="regrouped", project=row.project, actor=actor, before=before, after=group)
    return row


def check_group(name: str, known: Sequence[str]) -> None:
    """Raise Invalid unless the group is known or empty (anybody)."""
    if name and name not in known:
        raise Invalid(
            _("There is no group “%(name)s”.") % {"name": name},
            _("Choose a group that has members."),
            field="group",
        )


def next_group(row: Round) -> str:
    """The group that labels a returned batch next, by the plan; empty if no group has annotators left."""
    groups = [name for name in groups_of(row.project) if has_annotators(row.project, name)]
    if not groups:
        return ""
    if batch_plan_for(row.project).relabel == Relabel.SAME:
        return row.group if row.group in groups else ""
    later = [name for name in groups if name > row.group]
    return (later or groups)[0]


def has_annotators(project: Project, group: str) -> bool:
    """Whether anybody in the group can be given dialogues; empty group: anybody in the project."""
    rows = Membership.objects.filter(project=project, roles__contains=[Role.ANNOTATOR], user__is_active=True)
    return rows.filter(group=group).exists() if group else rows.exists()
