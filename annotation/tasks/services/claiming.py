"""Giving out tasks: who gets which one next.

A person claims under the lock of their workload row: claims from two tabs run one after the other, and a repeated
claim finds the first. Tasks are taken in the order of their rank with SKIP LOCKED, so nobody waits for anybody else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import transaction
from django.db.models import Exists, Min, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from annotation.tasks.models.work import HELD, Assignment, Task, TaskState, Workload, WorkSettings
from annotation.tasks.selectors.languages import readable_tasks, task_languages
from annotation.tasks.selectors.settings import work_settings
from annotation.tasks.services.claim_sql import Claimant, cursor_key, lock_claimant, take_task
from common import clock
from common.idempotency import check_repeat
from common.refusals import NotAllowed, Refusal
from dialogues.models import Dialogue, DialogueState, Origin, new_external_id
from dialogues.splits import split_for
from projects.models import Project, Protocol
from projects.roles import CAPABILITIES, Capability

AT_WORK_FOR = timedelta(
    minutes=10
)  # since the last claim; the balance ignores people who are away for longer
LOWEST_RANK = -(2**63)
# Rooms above this one say who may not claim yet in a project with an admission test (annotation/apps.py).
ADMISSION_CHECKS: list[Callable[[User, Project], Refusal | None]] = []


@dataclass(frozen=True, slots=True)
class _Claim:
    annotator: User
    project: Project
    settings: WorkSettings
    claimant: Claimant

    @property
    def groups(self) -> list[str]:
        """The annotator groups whose tasks the person may take, in this order; "" is everybody."""
        return [self.claimant.group, ""] if self.claimant.group else [""]

    @property
    def languages(self) -> list[str] | None:
        """Of the tasks that the person may take; None: any."""
        return task_languages(self.claimant.reading_languages, self.project)

    def exclude_own(self, rows: QuerySet[Any], task: str = "pk") -> QuerySet[Any]:
        """Leave out the tasks that the person has had. task: the field of `rows` with the task's key."""
        own = Assignment.objects.filter(task=OuterRef(task), annotator=self.annotator)
        return rows.filter(~Exists(own))

    def open_tasks(self) -> QuerySet[Task]:
        rows = Task.objects.filter(project=self.project, group__in=self.groups, open_slots__gt=0)
        return self.exclude_own(rows)


def claim_next_task(*, annotator: User, project: Project, claim_id: UUID, ahead: bool = False) -> Assignment:
    """Give the annotator the next open task, with a lease. The same claim_id again returns the first claim.

    ahead: fetched while another dialogue is being labelled; it counts as served once that one is sent.
    The number of queries does not depend on the size of the project. Raises NotAllowed, or Refusal: id_in_use,
    admission_needed, too_many_open, limit_reached, balance (further ahead of the others than the project allows); if
    there is no task, all_claimed (others hold the rest, the first lease ends at details["until"]), other_languages
    (dialogues wait only in languages that the person does not read) or all_done (with details["open"] if the person
    still holds some, details["left"] if some are left for others, or have labels that do not agree).
    """
    with transaction.atomic():
        claimed = _claim(annotator, project, claim_id, ahead)
    if isinstance(claimed, Refusal):
        raise claimed
    return claimed


def _claim(annotator: User, project: Project, claim_id: UUID, ahead: bool) -> Assignment | Refusal:
    """Refusals are returned, not raised, so that changes to the person's workload are committed."""
    settings = work_settings(project)
    claim = _Claim(annotator, project, settings, _lock_claimant(annotator, project, settings))
    _check_annotates(claim)
    # Only after the lock: the same claim, sent twice at once, waited for it.
    claim_ids = _held_or_repeated(annotator, project, claim_id)
    if claim_id in claim_ids:
        return _repeated_claim(annotator, project, claim_id)
    held = len(claim_ids)
    if refusal := _refuse_untested(claim) or _refuse_by_limits(claim, held):
        return refusal
    task = _next_task(claim)
    if task is None:
        _mark_drained(claim)
        return _nothing_left(claim, held)
    return _assign(claim, task, claim_id, ahead)


def _lock_claimant(annotator: User, project: Project, settings: WorkSettings) -> Claimant:
    """Creates the workload with the person's first claim; rolled back if the person is not an annotator."""
    lock = partial(
        lock_claimant,
        project=project.pk,
        annotator=annotator.pk,
        epoch=settings.epoch,
        is_balanced=settings.claim_limits.balance is not None,
        since=clock.now() - AT_WORK_FOR,
    )
    try:
        return lock()
    except Workload.DoesNotExist:
        Workload.objects.get_or_create(project=project, annotator=annotator)
        return lock()


def _check_annotates(claim: _Claim) -> None:
    allowed = any(Capability.ANNOTATE in CAPABILITIES.get(role, ()) for role in claim.claimant.roles)
    if claim.project.archived_at or not allowed:
        raise NotAllowed(
            _("You are not an annotator of this project."),
            _("Ask its manager to give you the role “Annotator”."),
        )


def _held_or_repeated(annotator: User, project: Project, claim_id: UUID) -> list[UUID]:
    """The claims of the dialogues that the person holds, and this one if anybody sent it before."""
    held = Q(annotator=annotator, project=project, state__in=HELD)
    rows = Assignment.objects.filter(held | Q(claim_id=claim_id)).order_by()
    return list(rows.values_list("claim_id", flat=True))


def _repeated_claim(annotator: User, project: Project, claim_id: UUID) -> Assignment:
    earlier = Assignment.objects.get(claim_id=claim_id)
    check_repeat(earlier, annotator_id=annotator.pk, project_id=project.pk)
    earlier.project = project
    return earlier


def _refuse_untested(claim: _Claim) -> Refusal | None:
    if not claim.claimant.has_admission_test:
        return None
    refusals = (check(claim.annotator, claim.project) for check in ADMISSION_CHECKS)
    return next((refusal for refusal in refusals if refusal), None)


def _refuse_by_limits(claim: _Claim, held: int) -> Refusal | None:
    return _too_many_open(claim, held) or _over_the_limit(claim) or _too_far_ahead(claim)


def _too_many_open(claim: _Claim, held: int) -> Refusal | None:
    if held < claim.settings.open_tasks_per_person:
        return None
    return Refusal(
        "too_many_open",
        ngettext(
            "You already have %(n)s open dialogue in this project.",
            "You already have %(n)s open dialogues in this project.",
            held,
        )
        % {"n": intcomma(held)},
        _("Finish one of them or give one back, then take the next."),
        details={"open": held},
    )


def _over_the_limit(claim: _Claim) -> Refusal | None:
    limit = claim.settings.claim_limits.max_per_person
    if limit is None or claim.claimant.taken < limit:
        return None
    return Refusal(
        "limit_reached",
        ngettext(
            "You have finished your %(n)s dialogue in this project.",
            "You have finished your %(n)s dialogues in this project.",
            limit,
        )
        % {"n": intcomma(limit)},
        _("Thank you. Its manager can raise the limit in the project's settings."),
        details={"limit": limit},
    )


def _too_far_ahead(claim: _Claim) -> Refusal | None:
    balance = claim.settings.claim_limits.balance
    least, active_at = claim.claimant.least_taken, claim.claimant.least_active_at
    if balance is None or least is None or active_at is None:
        return None
    ahead = claim.claimant.taken - least
    if ahead < balance:
        return None
    return Refusal(
        "balance",
        ngettext(
            "You are %(n)s dialogue ahead of the others.",
            "You are %(n)s dialogues ahead of the others.",
            ahead,
        )
        % {"n": intcomma(ahead)},
        _("In this project everybody labels about the same number. Continue when the others have caught up."),
        details={"ahead": ahead, "until": (active_at + AT_WORK_FOR).isoformat()},
    )


def _next_task(claim: _Claim) -> Task | None:
    languages = claim.languages
    for group in claim.groups if languages != [] else []:
        cursor = claim.claimant.cursors.get(cursor_key(group, languages), LOWEST_RANK)
        # From the cursor on; then from the start, for tasks that others had locked when the cursor passed them.
        for rank in dict.fromkeys([cursor, LOWEST_RANK]):
            if task := _take(claim, group, languages, rank):
                return task
    return None


def _take(claim: _Claim, group: str, languages: list[str] | None, from_rank: int) -> Task | None:
    return take_task(
        project=claim.project.pk,
        annotator=claim.annotator.pk,
        workload=claim.claimant.workload,
        epoch=claim.settings.epoch,
        group=group,
        languages=languages,
        from_rank=from_rank,
        now=clock.now(),
    )


def _assign(claim: _Claim, task: Task, claim_id: UUID, ahead: bool) -> Assignment:
    now = clock.now()
    assignment = Assignment(
        task=task,
        project=claim.project,
        annotator=claim.annotator,
        dialogue=task.dialogue or _new_dialogue(claim.project),
        claim_id=claim_id,
        lease_until=now + timedelta(minutes=claim.settings.lease_minutes),
        served_at=None if ahead else now,
        claimed_at=now,
        touched_at=now,
    )
    assignment.save(force_insert=True)
    # A new assignment has no draft: the serializer need not look for one.
    Assignment.label_draft.related.set_cached_value(assignment, None)
    return assignment


def _mark_drained(claim: _Claim) -> None:
    now = clock.now()
    workload = Workload.objects.filter(pk=claim.claimant.workload)
    workload.update(active_at=now, drained_at=now, epoch=claim.settings.epoch, cursors={})


def _nothing_left(claim: _Claim, held: int) -> Refusal:
    reading = claim.claimant.reading_languages
    others = Assignment.objects.filter(
        readable_tasks(reading, [claim.project], "task__"),
        project=claim.project,
        state__in=HELD,
        task__group__in=claim.groups,
    ).exclude(annotator=claim.annotator)
    open_tasks, readable = claim.open_tasks(), readable_tasks(reading, [claim.project])
    until: datetime | None = claim.exclude_own(others, "task").aggregate(until=Min("lease_until"))["until"]
    # An open task that was not taken is locked right now by somebody who claims it.
    if until is None and not open_tasks.filter(readable).exists():
        if held:
            return _only_own_left(held)
        if reading and open_tasks.exclude(readable).exists():
            return _only_other_languages_left()
        if left := _others_left(claim):
            return left
        return Refusal(
            "all_done",
            _("Everything in this project is done."),
            _("Thank you. Have a look at your other projects."),
        )
    return Refusal(
        "all_claimed",
        _("Others are working on everything that is left."),
        _("Try again later: what they give back becomes free."),
        details={"until": until.isoformat() if until else None},
    )


def _only_own_left(held: int) -> Refusal:
    return Refusal(
        "all_done",
        _("There is nothing new for you in this project."),
        ngettext(
            "You still have %(n)s open dialogue: finish it, or give it back.",
            "You still have %(n)s open dialogues: finish them, or give them back.",
            held,
        )
        % {"n": intcomma(held)},
        details={"open": held},
    )


def _others_left(claim: _Claim) -> Refusal | None:
    """Work that is left, none of it for this person to take; None if nothing is left."""
    if claim.project.protocol == Protocol.LABELLING:
        return _labels_left(claim)
    return _dialogues_left(claim) if claim.project.protocol == Protocol.AUTHORING else None


def _labels_left(claim: _Claim) -> Refusal | None:
    """What this person skipped, what is for another group or held by others, and labels without agreement."""
    left = _count_left(claim, Q(state__in=[TaskState.CONFIRMING, TaskState.DISPUTED]))
    if not left:
        return None
    return Refusal(
        "all_done",
        _("There is nothing more for you to label in this project."),
        _("What is left goes to other people, or waits to be confirmed or decided."),
        details={"left": left},
    )


def _dialogues_left(claim: _Claim) -> Refusal | None:
    """Dialogues to be written that are not done: this person had them before, or they are for others."""
    left = _count_left(claim)
    if not left:
        return None
    until: datetime | None = _held_by_others(claim).aggregate(until=Min("lease_until"))["until"]
    return Refusal(
        "all_done",
        _("There is nothing new for you in this project."),
        ngettext(
            "%(n)s dialogue is not done yet, but you have already worked on it, or it is for other people.",
            "%(n)s dialogues are not done yet, but you have already worked on them, or they are for other people.",
            left,
        )
        % {"n": intcomma(left)},
        details={"left": left, "until": until.isoformat() if until else None},
    )


def _count_left(claim: _Claim, or_also: Q | None = None) -> int:
    """Tasks that somebody can still take, or that others hold. or_also: more tasks that count as left."""
    is_held = Q(Exists(_held_by_others(claim).filter(task=OuterRef("pk"))))
    is_left = Q(open_slots__gt=0) | is_held | (or_also or Q(pk__in=[]))
    return Task.objects.filter(is_left, project=claim.project).count()


def _held_by_others(claim: _Claim) -> QuerySet[Assignment]:
    return Assignment.objects.filter(project=claim.project, state__in=HELD).exclude(annotator=claim.annotator)


def _only_other_languages_left() -> Refusal:
    return Refusal(
        "other_languages",
        _("Nothing is left in the languages that you read."),
        _("Dialogues in other languages wait. If you read them, add the language to your profile."),
    )


def _new_dialogue(project: Project) -> Dialogue:
    if project.protocol != Protocol.AUTHORING:
        raise Refusal("no_dialogue", _("This task has no dialogue any more."), _("Take the next one."))
    external_id = new_external_id()
    return Dialogue.objects.create(
        project=project,
        external_id=external_id,
        origin=Origin.AUTHORED,
        state=DialogueState.WRITING,
        split=split_for(external_id),
        language=project.language,
    )
