"""Admitting people: by a passed try, by a trainer, or with another try."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.onboarding.models import Admission, AdmissionTry
from annotation.onboarding.services.admission_tests import check_trainer, lock_admission_test
from common.refusals import Invalid
from projects.models import Project
from projects.transitions import record

MAX_REASON = 10_000  # characters; the rest is cut off


def get_admission(project: Project, annotator: User, edition: int) -> Admission:
    row, _created = Admission.objects.get_or_create(project=project, annotator=annotator, edition=edition)
    return row


def admit_by_try(attempt: AdmissionTry) -> None:
    row = get_admission(attempt.project, attempt.annotator, attempt.edition)
    Admission.objects.filter(pk=row.pk, admitted_at=None).update(admitted_at=attempt.ended_at)


@transaction.atomic
def grant_try(*, trainer: User, project: Project, annotator: User, granted: int) -> Admission:
    """Grant one more try. granted: the extra tries that the trainer saw, so that a second click grants none."""
    check_trainer(trainer, project)
    row = get_admission(project, annotator, lock_admission_test(project).edition)
    unchanged = Admission.objects.filter(pk=row.pk, extra_tries=granted)
    is_granted = unchanged.update(extra_tries=granted + 1)
    row.refresh_from_db()
    if is_granted:
        record(row, kind="try_granted", project=project, actor=trainer, data={"to": annotator.username})
    return row


@transaction.atomic
def admit(*, trainer: User, project: Project, annotator: User, reason: str) -> Admission:
    """Let a person work without passing the test, with a reason. Safe to repeat."""
    check_trainer(trainer, project)
    reason = reason.replace("\0", "").strip()[:MAX_REASON]
    if not reason:
        raise Invalid(_("Say briefly why this person does not need the test."), field="reason")
    row = get_admission(project, annotator, lock_admission_test(project).edition)
    not_admitted = Admission.objects.filter(pk=row.pk, admitted_at=None)
    if not_admitted.update(admitted_at=timezone.now(), admitted_by=trainer, reason=reason):
        event_data = {"to": annotator.username}
        record(row, kind="admitted", project=project, actor=trainer, reason=reason, data=event_data)
    row.refresh_from_db()
    return row
