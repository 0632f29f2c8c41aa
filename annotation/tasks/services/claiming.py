"""Giving out tasks: who gets which one next.

A person claims under the lock of their workload row, so that two tabs claim one after the other and two sends of one
claim find the first. Tasks are taken in the order of their rank with SKIP LOCKED: nobody waits for anybody.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, Min, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from annotation.tasks.models.work import HELD, Assignment, Task, Workload, WorkSettings
from annotation.tasks.selectors.settings import work_settings
from annotation.tasks.services.claim_sql import ASSIGNMENT, HELD_OR_CLAIMED, STANDING, TAKE
from common.refusals import NotAllowed, Refusal
from dialogues.models import Dialogue, DialogueState, Origin
from dialogues.splits import split_for
from projects.models import Project, Protocol
from projects.roles import CAPABILITIES, Capability

AT_WORK_FOR = timedelta(minutes=10)  # since the last claim; who is away longer does not hold the others up
FROM_THE_START = -(2**63)  # below every rank
# Rooms above this one say who may not claim yet in a project with an admission test (annotation/apps.py).
ADMISSION_CHECKS: list[Callable[[User, Project], Refusal | None]] = []


@dataclass(frozen=True, slots=True)
class _Standing:
    """The person's workload, locked, and what they are in the project; has_test: it has an admission test.

    least: who has taken least of those whom the balance compares, and when that person last claimed.
    """

    workload: Workload
    roles: list[str]
    group: str
    has_test: bool
    least: tuple[int, datetime] | None


@dataclass(frozen=True, slots=True)
class _Claimer:
    annotator: User
    project: Project
    group: str
    workload: Workload
    settings: WorkSettings

    @property
    def pools(self) -> list[str]:
        """The person's own group's tasks come first, then those for anybody."""
        return [self.group, ""] if self.group else [""]

    def without_mine(self, rows: QuerySet[Any], task: str = "pk") -> QuerySet[Any]:
        mine = Assignment.objects.filter(task=OuterRef(task), annotator=self.annotator)
        return rows.filter(~Exists(mine))

    def open_tasks(self) -> QuerySet[Task]:
        rows = Task.objects.filter(project=self.project, group__in=self.pools, open_slots__gt=0)
        return self.without_mine(rows)


def claim_next_task(*, annotator: User, project: Project, claim_id: UUID, ahead: bool = False) -> Assignment:
    """Give the annotator the next open task, with a lease. The same claim_id again returns the first claim.

    ahead: it is fetched while another one is still worked on, so it counts as served only when that one is sent.
    Raises Refusal: not_annotator, admission_needed, too_many_open, limit_reached, balance (further ahead of the
    others than the project allows), and when nothing comes, all_claimed (others hold the rest, the first lease ends
    at details["until"]) or all_done (with details["open"], where the person holds some). The number of queries does not
    depend on the size of the project.
    """
    with transaction.atomic():
        claimed = _claim(annotator, project, claim_id, ahead)
    if isinstance(claimed, Refusal):
        raise claimed
    return claimed


def _claim(annotator: User, project: Project, claim_id: UUID, ahead: bool) -> Assignment | Refusal:
    """A refusal is returned, so that what it says about the person's workload is kept."""
    settings = work_settings(project)
    standing = _standing(annotator, project, settings)
    _check_annotates(standing, project)
    earlier, held = _earlier_and_held(annotator, project, claim_id)
    if earlier:
        return _claimed_before(earlier, annotator, project)
    if standing.has_test and (refusal := _refuse_untested(annotator, project)):
        return refusal
    workload = standing.workload
    claimer = _Claimer(annotator, project, standing.group, workload, settings)
    if refusal := (
        _too_many_open(claimer, held) or _over_the_limit(claimer) or _too_far_ahead(claimer, standing)
    ):
        return refusal
    task = _next_task(claimer)
    if task is None:
        now = timezone.now()
        Workload.objects.filter(pk=workload.pk).update(
            active_at=now, drained_at=now, epoch=claimer.settings.epoch, cursors={}
        )
        return _nothing_left(claimer, held)
    now = timezone.now()
    claimed = Assignment(
        task=task,
        project=project,
        annotator=annotator,
        dialogue=task.dialogue or _new_dialogue(project, claim_id),
        claim_id=claim_id,
        lease_until=now + timedelta(minutes=claimer.settings.lease_minutes),
        served_at=None if ahead else now,
    )
    ASSIGNMENT.insert(claimed)
    # Nobody has written answers to it yet: so serialize_assignment need not look for any.
    Assignment.label_draft.related.set_cached_value(claimed, None)
    return claimed


def _refuse_untested(annotator: User, project: Project) -> Refusal | None:
    return next((refusal for check in ADMISSION_CHECKS if (refusal := check(annotator, project))), None)


def _standing(annotator: User, project: Project, settings: WorkSettings) -> _Standing:
    """Locks the workload; makes it with the person's first claim, which is rolled back for who is no annotator."""
    asked = {
        "project": project.pk,
        "annotator": annotator.pk,
        "balanced": settings.claim_limits.balance is not None,
        "since": timezone.now() - AT_WORK_FOR,
        "epoch": settings.epoch,
    }
    found: list[Any] = list(Workload.objects.raw(STANDING, asked))
    if not found:
        Workload.objects.get_or_create(project=project, annotator=annotator)
        found = list(Workload.objects.raw(STANDING, asked))
    [workload] = found
    least = None if workload.least is None else (workload.least, workload.least_at)
    return _Standing(workload, workload.roles or [], workload.group or "", workload.has_test, least)


def _check_annotates(standing: _Standing, project: Project) -> None:
    allowed = any(Capability.ANNOTATE in CAPABILITIES.get(role, ()) for role in standing.roles)
    if project.archived_at or not allowed:
        raise NotAllowed(
            _("You are not an annotator of this project."),
            _("Ask its manager to give you the role “Annotator”."),
        )


def _earlier_and_held(annotator: User, project: Project, claim_id: UUID) -> tuple[Assignment | None, int]:
    """What this very claim took before, whoever sent it, and how many dialogues the person holds; one query."""
    who = {"project": project.pk, "annotator": annotator.pk, "claim": claim_id}
    rows = list(Assignment.objects.raw(HELD_OR_CLAIMED, who))
    earlier = next((row for row in rows if row.claim_id == claim_id), None)
    return earlier, len(rows)


def _claimed_before(earlier: Assignment, annotator: User, project: Project) -> Assignment | Refusal:
    if (earlier.annotator_id, earlier.project_id) != (annotator.pk, project.pk):
        return Refusal("id_in_use", _("This id belongs to another claim."), _("Send it with a new one."))
    earlier.project = project
    return earlier


def _too_many_open(claimer: _Claimer, held: int) -> Refusal | None:
    if held < claimer.settings.open_tasks_per_person:
        return None
    return Refusal(
        "too_many_open",
        ngettext(
            "You already have %(n)d open dialogue in this project.",
            "You already have %(n)d open dialogues in this project.",
            held,
        )
        % {"n": held},
        _("Finish one of them or give one back, then take the next."),
        details={"open": held},
    )


def _over_the_limit(claimer: _Claimer) -> Refusal | None:
    limit = claimer.settings.claim_limits.max_per_person
    if limit is None or claimer.workload.taken < limit:
        return None
    return Refusal(
        "limit_reached",
        ngettext(
            "You have done your %(n)d dialogue of this project.",
            "You have done your %(n)d dialogues of this project.",
            limit,
        )
        % {"n": limit},
        _("Thank you. Its manager can raise the limit in the project's settings."),
        details={"limit": limit},
    )


def _too_far_ahead(claimer: _Claimer, standing: _Standing) -> Refusal | None:
    balance = claimer.settings.claim_limits.balance
    if balance is None or standing.least is None:
        return None
    least, active_at = standing.least
    ahead = claimer.workload.taken - least
    if ahead < balance:
        return None
    return Refusal(
        "balance",
        ngettext(
            "You are %(n)d dialogue ahead of the others.",
            "You are %(n)d dialogues ahead of the others.",
            ahead,
        )
        % {"n": ahead},
        _("This project wants everybody to label about as many. Go on when the others have caught up."),
        details={"ahead": ahead, "until": (active_at + AT_WORK_FOR).isoformat()},
    )


def _next_task(claimer: _Claimer) -> Task | None:
    workload, epoch = claimer.workload, claimer.settings.epoch
    cursors = workload.cursors if workload.epoch == epoch else {}
    for pool in claimer.pools:
        # From the cursor on first; then from the start, for what others held at that instant.
        for since in dict.fromkeys([cursors.get(pool, FROM_THE_START), FROM_THE_START]):
            if task := _take(claimer, pool, since):
                return task
    return None


def _take(claimer: _Claimer, pool: str, since: int) -> Task | None:
    asked = {
        "project": claimer.project.pk,
        "annotator": claimer.annotator.pk,
        "workload": claimer.workload.pk,
        "epoch": claimer.settings.epoch,
        "pool": pool,
        "since": since,
        "now": timezone.now(),
    }
    found: list[Any] = list(Task.objects.raw(TAKE, asked))
    if not found:
        return None
    task: Task = found[0]
    if claimer.project.protocol == Protocol.LABELLING and task.dialogue_id:
        # As much of it as a claim tells, in the model's order; the rest is fetched where somebody asks for it.
        shown = {"id": task.dialogue_id, "language": found[0].language, "domain": found[0].domain}
        task.dialogue = Dialogue.from_db(task._state.db, list(shown), list(shown.values()))
    return task


def _nothing_left(claimer: _Claimer, held: int) -> Refusal:
    others = Assignment.objects.filter(
        project=claimer.project, state__in=HELD, task__group__in=claimer.pools
    ).exclude(annotator=claimer.annotator)
    until: datetime | None = claimer.without_mine(others, "task").aggregate(until=Min("lease_until"))["until"]
    # Open, but locked at this instant: somebody is claiming it.
    if until is None and not claimer.open_tasks().exists():
        if held:
            return _only_own_left(held)
        return Refusal(
            "all_done",
            _("Everything in this project is done."),
            _("Thank you. Look into your other projects."),
        )
    return Refusal(
        "all_claimed",
        _("All that is left is being worked on by others."),
        _("Try again later: what they give back becomes free."),
        details={"until": until.isoformat() if until else None},
    )


def _only_own_left(held: int) -> Refusal:
    return Refusal(
        "all_done",
        _("There is nothing new for you in this project."),
        ngettext(
            "You still have %(n)d open dialogue: finish it, or give it back.",
            "You still have %(n)d open dialogues: finish them, or give them back.",
            held,
        )
        % {"n": held},
        details={"open": held},
    )


def _new_dialogue(project: Project, claim_id: UUID) -> Dialogue:
    if project.protocol != Protocol.AUTHORING:
        raise Refusal("no_dialogue", _("This task has no dialogue any more."), _("Take the next one."))
    return Dialogue.objects.create(
        project=project,
        origin=Origin.AUTHORED,
        state=DialogueState.WRITING,
        split=split_for(str(claim_id)),
        language=project.language,
    )
