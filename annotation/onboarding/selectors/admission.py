"""Admission tests: who needs one, and how people did. Right answers are shown only after one's own."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Prefetch, QuerySet
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.labelling.selectors.gold import live_gold
from annotation.onboarding.models import (
    Admission,
    AdmissionItem,
    AdmissionTest,
    AdmissionTry,
    Feedback,
    TryState,
)
from common.refusals import NotFound, Refusal
from projects.models import Membership, Project, Role


def admission_test_for(project: Project) -> AdmissionTest:
    """The project's test, or an unsaved one with the defaults, which is off."""
    return AdmissionTest.objects.filter(project=project).first() or AdmissionTest(project=project)


def admission_needed(annotator: User, project: Project) -> Refusal | None:
    """Why the person gets no dialogues before they pass the test; None if they may have some."""
    if not projects_needing_admission(annotator, [project]):
        return None
    return Refusal(
        "admission_needed",
        _("This project has an admission test, and you have not passed it yet."),
        _("Take the test from your queue; dialogues come after it."),
    )


def projects_needing_admission(annotator: User, projects: Collection[Project]) -> set[int]:
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
class AdmissionStatus:
    """A person and the present edition of a test. left: tries left. gold: gold dialogues of the project."""

    test: AdmissionTest
    is_admitted: bool
    by_hand: bool
    running: AdmissionTry | None
    tries: list[AdmissionTry]
    left: int
    gold: int


def admission_status(annotator: User, project: Project) -> AdmissionStatus:
    test = admission_test_for(project)
    of_person = {"project": project, "annotator": annotator, "edition": test.edition}
    admission = Admission.objects.filter(**of_person).first()
    tries = list(_with_dialogues(AdmissionTry.objects.filter(**of_person)))
    extra = admission.extra_tries if admission else 0
    return AdmissionStatus(
        test=test,
        is_admitted=bool(admission and admission.admitted_at),
        by_hand=bool(admission and admission.admitted_by_id),
        running=next((attempt for attempt in tries if attempt.state == TryState.RUNNING), None),
        tries=tries,
        left=max(0, test.tries + extra - len(tries)),
        gold=live_gold(project).count(),
    )


def _with_dialogues(tries: QuerySet[AdmissionTry]) -> QuerySet[AdmissionTry]:
    """In order, each with `dialogues`, the number of those that its percentage rests on."""
    return tries.annotate(dialogues=Count("items")).order_by("started_at")


def own_try(annotator: User, try_id: UUID) -> AdmissionTry:
    """The member's own try. Raises NotFound for any other, and for people who left."""
    own = AdmissionTry.objects.filter(annotator=annotator, project__memberships__user=annotator)
    row = own.select_related("project").filter(pk=try_id).first()
    if row is None:
        raise NotFound(_("You have no such attempt."), _("Open the test from your queue."))
    row.annotator = annotator  # spares a query
    return row


def try_items(attempt: AdmissionTry) -> QuerySet[AdmissionItem]:
    """The dialogues of a try in their order."""
    rows = AdmissionItem.objects.filter(attempt=attempt)
    return rows.select_related("gold__schema", "gold__dialogue").order_by("place")


def may_see_right_answers(attempt: AdmissionTry, item: AdmissionItem, test: AdmissionTest) -> bool:
    """Whether the right answers of this dialogue may be shown now."""
    if item.answered_at is None:
        return False
    return attempt.state != TryState.RUNNING or test.feedback == Feedback.EACH


def admission_results(project: Project) -> QuerySet[Membership]:
    """Annotators in the order in which they joined.

    Each user has `tries_here` and `admissions_here` (at most one), both of the present edition.
    """
    edition = admission_test_for(project).edition
    tries = _with_dialogues(AdmissionTry.objects.filter(project=project, edition=edition))
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
