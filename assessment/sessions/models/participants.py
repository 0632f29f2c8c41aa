"""Participants and their assignments."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from assessment.sessions.models.runs import Run
from projects.models import Project
from projects.transitions import Moves


class Participant(models.Model):
    """A person who chats and rates: a project member, or somebody without an account who entered through a join link.

    panel_id: how the panel (or an imported file) calls them; the pair with the project is unique. token: names them
    in the signed cookie of their browser. parameters: what the panel sent with the link.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="participants")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="participations"
    )
    panel_id = models.CharField(max_length=200, null=True)  # noqa: DJ001  (unique where present)
    token = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    parameters = models.JSONField(default=dict)
    language = models.CharField(max_length=10, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "panel_id"], name="one_participant_per_panel_id"),
            models.UniqueConstraint(fields=["project", "user"], name="one_participant_per_user"),
        ]

    def __str__(self) -> str:
        return f"participant {self.pk}"

    @property
    def shown_name(self) -> str:
        """What managers call them: the member, else the name of the panel or the file, else their number."""
        return self.user.shown_name if self.user else self.panel_id or f"#{self.pk}"


class AssignmentState(models.TextChoices):
    INVITED = "invited", _("Has not consented yet")
    ACTIVE = "active", _("In progress")
    COMPLETED = "completed", _("Completed")
    SYSTEM_FAILURE = "system_failure", _("Ended by a failure of the systems")
    TIMED_OUT = "timed_out", _("Timed out")
    DECLINED = "declined", _("Consent declined")
    RETURNED = "returned", _("Left the study")


ASSIGNMENT_MOVES: Moves = {
    AssignmentState.INVITED: {AssignmentState.ACTIVE, AssignmentState.DECLINED, AssignmentState.RETURNED},
    AssignmentState.ACTIVE: {
        AssignmentState.COMPLETED,
        AssignmentState.SYSTEM_FAILURE,
        AssignmentState.TIMED_OUT,
        AssignmentState.RETURNED,
    },
    # Taken up again while the run has an open place.
    AssignmentState.TIMED_OUT: {AssignmentState.ACTIVE, AssignmentState.RETURNED},
    AssignmentState.DECLINED: {AssignmentState.ACTIVE},
}
# The states whose participants are paid; the reliability test never decides about payment.
PAID = (AssignmentState.COMPLETED, AssignmentState.SYSTEM_FAILURE)


class Assignment(models.Model):
    """One participant's set of conversations in a run; each conversation is a session.

    seed: of the choice and order of the systems. expires_at: moves on with every action. duration_seconds: of an
    imported assignment, which has no times. external_id: of an imported one. study_group: the HIT of an imported one;
    participants of one group judged the same systems.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="assignments")
    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="assignments")
    state = models.CharField(max_length=14, choices=AssignmentState, default=AssignmentState.INVITED)
    seed = models.BigIntegerField()
    external_id = models.CharField(max_length=200, blank=True)
    study_group = models.CharField(max_length=200, blank=True)
    feedback = models.TextField(blank=True)
    duration_seconds = models.FloatField(null=True)
    is_scripted = models.BooleanField(default=False, help_text=_("By a script, not by a person"))
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    consented_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            # A participant has one assignment in a run; a file may hold several of one person.
            models.UniqueConstraint(
                fields=["run", "participant", "external_id"], name="one_assignment_per_participant"
            ),
        ]
        indexes = [
            models.Index(fields=["run", "state"], name="assessment_run_state"),
            models.Index(fields=["expires_at"], name="assessment_expiry", condition=Q(state="active")),
        ]

    def __str__(self) -> str:
        return f"assignment {self.pk} ({self.state})"
