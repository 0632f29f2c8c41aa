"""Setting up a project's admission test (Diamante, Appendix B.2)."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.labelling.selectors.gold import live_gold
from annotation.onboarding.models import AdmissionTest, AdmissionTry, TryState
from common.model_validation import full_clean_or_refuse
from common.refusals import NotAllowed, Refusal
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import capabilities_of
from projects.transitions import record

CHANGEABLE = ("is_on", "pass_percent", "unit", "tries", "items", "feedback")


@transaction.atomic
def update_admission_test(*, trainer: User, project: Project, changes: Mapping[str, Any]) -> AdmissionTest:
    """Change the test. People who are admitted stay admitted until a new edition.

    Raises NotAllowed, Invalid, Refusal: wrong_protocol, no_gold.
    """
    check_trainer(trainer, project)
    test = lock_admission_test(project)
    changed = [name for name in CHANGEABLE if name in changes and getattr(test, name) != changes[name]]
    for name in changed:
        setattr(test, name, changes[name])
    _check_settings(test)
    if changed:
        test.save()
        event_data = {name: getattr(test, name) for name in changed}
        record(test, kind="admission_test", project=project, actor=trainer, data=event_data)
    return test


def _check_settings(test: AdmissionTest) -> None:
    full_clean_or_refuse(test, exclude=["project"])
    if test.is_on and not live_gold(test.project).exists():
        raise Refusal(
            "no_gold",
            _("A test needs at least one gold dialogue."),
            _("Add a dialogue with its right answers first."),
        )


@transaction.atomic
def start_new_edition(*, trainer: User, project: Project, edition: int) -> AdmissionTest:
    """Make everybody pass again. edition: the present one, so that a second click changes nothing."""
    check_trainer(trainer, project)
    test = lock_admission_test(project)
    if test.edition == edition:
        test.edition += 1
        test.save(update_fields=["edition"])
        AdmissionTry.objects.filter(project=project, state=TryState.RUNNING).update(
            state=TryState.FAILED, ended_at=timezone.now()
        )
        record(test, kind="new_edition", project=project, actor=trainer, data={"edition": test.edition})
    return test


def lock_admission_test(project: Project) -> AdmissionTest:
    AdmissionTest.objects.get_or_create(project=project)
    return AdmissionTest.objects.select_for_update().get(project=project)


def check_trainer(trainer: User, project: Project) -> None:
    if Capability.DECIDE not in capabilities_of(trainer, project):
        raise NotAllowed(
            _("Only trainers may do this."), _("Ask the project's manager for the role “Trainer”.")
        )
    if project.protocol != Protocol.LABELLING:
        raise Refusal("wrong_protocol", _("Only labelling projects have admission tests."))
