"""Admission tests: who needs one, what they see of it, and how people did. Right answers come after one's own."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Prefetch, Q, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.labelling.models.gold import GoldDialogue
from annotation.labelling.models.labels import FinalLabel, LabelOrigin
from annotation.labelling.selectors.gold import live_gold
from annotation.labelling.selectors.visibility import hidden_labels
from annotation.onboarding.models import (
    Admission,
    AdmissionItem,
    AdmissionTest,
    AdmissionTry,
    Feedback,
    TryState,
)
from common.refusals import NotFound, Refusal
from dialogues.models import Dialogue
from projects.models import Membership, Project, Role


def test_of(project: Project) -> AdmissionTest:
    """The project's test, or an unsaved one with the defaults, which is off."""
    return AdmissionTest.objects.filter(project=project).first() or AdmissionTest(project=project)


def admission_needed(annotator: User, project: Project) -> Refusal | None:
    """Why the person gets no task before they pass the test; None where they may have one."""
    if not untested(annotator, [project]):
        return None
    return Refusal(
        "admission_needed",
        _("This project has an admission test, and you have not passed it yet."),
        _("Take the test from your queue; dialogues come after it."),
    )


def untested(annotator: User, projects: Collection[Project]) -> set[int]:
    """The projects whose admission test the person still has to pass; one query."""
    admitted = Admission.objects.filter(
        project=OuterRef("project"),
        annotator=annotator,
        edition=OuterRef("edition"),
        admitted_at__isnull=False,
    )
    rows = AdmissionTest.objects.filter(~Exists(admitted), project__in=projects, is_on=True)
    return set(rows.values_list("project_id", flat=True))


@dataclass(frozen=True, slots=True)
class Standing:
    """How a person stands with the present edition. left: tries left."""

    test: AdmissionTest
    is_admitted: bool
    by_hand: bool
    running: AdmissionTry | None
    tries: list[AdmissionTry]
    left: int
    gold: int


def standing_of(annotator: User, project: Project) -> Standing:
    test = test_of(project)
    admission = Admission.objects.filter(project=project, annotator=annotator, edition=test.edition).first()
    tries = list(
        AdmissionTry.objects.filter(project=project, annotator=annotator, edition=test.edition).order_by(
            "started_at"
        )
    )
    extra = admission.extra_tries if admission else 0
    return Standing(
        test=test,
        is_admitted=bool(admission and admission.admitted_at),
        by_hand=bool(admission and admission.admitted_by_id),
        running=next((one for one in tries if one.state == TryState.RUNNING), None),
        tries=tries,
        left=max(0, test.tries + extra - len(tries)),
        gold=live_gold(project).count(),
    )


def try_for(annotator: User, try_id: Any) -> AdmissionTry:
    row = AdmissionTry.objects.select_related("project").filter(pk=try_id, annotator=annotator).first()
    if row is None:
        raise NotFound(_("There is no such try of yours."), _("Open the test from your queue."))
    return row


def items_of(attempt: AdmissionTry) -> QuerySet[AdmissionItem]:
    return (
        AdmissionItem.objects.filter(attempt=attempt)
        .select_related("gold__schema", "gold__dialogue")
        .order_by("place")
    )


def next_item(attempt: AdmissionTry) -> AdmissionItem | None:
    return items_of(attempt).filter(answered_at=None).first()


def is_told(attempt: AdmissionTry, item: AdmissionItem, test: AdmissionTest) -> bool:
    """Whether the person may see the right answers of this dialogue now."""
    if item.answered_at is None:
        return False
    return attempt.state != TryState.RUNNING or test.feedback == Feedback.EACH


def results_of(project: Project) -> QuerySet[Membership]:
    """Annotators in the order in which they joined, with `tries` of the present edition and `standing` (one row)."""
    edition = test_of(project).edition
    tries = AdmissionTry.objects.filter(project=project, edition=edition).order_by("started_at")
    admissions = Admission.objects.filter(project=project, edition=edition).select_related("admitted_by")
    rows = Membership.objects.filter(project=project, roles__contains=[Role.ANNOTATOR])
    return (
        rows.select_related("user")
        .prefetch_related(
            Prefetch("user__admission_tries", tries, to_attr="tries_here"),
            Prefetch("user__admissions", admissions, to_attr="admissions_here"),
        )
        .order_by("id")
    )


def gold_counts(project: Project) -> dict[int, tuple[int, int]]:
    """By gold dialogue: how many people answered it, and how many of them wholly right."""
    rows = (
        AdmissionItem.objects.filter(gold__project=project, answered_at__isnull=False)
        .values("gold")
        .annotate(n=Count("pk"), right=Count("pk", filter=Q(wrong=[])))
    )
    return {row["gold"]: (row["n"], row["right"]) for row in rows}


def gold_for(project: Project, dialogue_id: int) -> GoldDialogue | None:
    return live_gold(project).filter(dialogue=dialogue_id).first()


def decided_answers(reader: User, project: Project, dialogue_id: int) -> FinalLabel | None:
    """The dialogue's final label, however it came about: the first proposal for its right answers.

    None where the reader may be the one to judge it blind.
    """
    unseen = hidden_labels(reader, project)
    if unseen.filter(task__dialogue=dialogue_id).exists():
        return None
    return FinalLabel.objects.filter(project=project, dialogue=dialogue_id, superseded_at=None).first()


def candidates_for_gold(project: Project) -> QuerySet[Dialogue]:
    """Dialogues that a trainer decided and that are not gold yet, newest first, with `decided` answers."""
    gold = GoldDialogue.objects.filter(dialogue=OuterRef("pk"), retired_at=None)
    decided = Q(tasks__final_labels__superseded_at=None, tasks__final_labels__origin=LabelOrigin.DECIDED)
    rows = Dialogue.objects.filter(~Exists(gold), decided, project=project)
    return rows.annotate(decision=F("tasks__final_labels__pk")).order_by("-decision")
