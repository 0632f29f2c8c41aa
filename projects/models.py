"""Projects, their members, their events, and the webhooks that report these."""

import uuid

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class Protocol(models.TextChoices):
    AUTHORING = "authoring", _("Authoring")
    LABELLING = "labelling", _("Labelling")
    ASSESSMENT = "assessment", _("Live assessment")


class Role(models.TextChoices):
    ANNOTATOR = "annotator", _("Annotator")
    CONTROLLER = "controller", _("Quality controller")
    TRAINER = "trainer", _("Trainer")
    ENGINEER = "engineer", _("ML engineer")
    MANAGER = "manager", _("Manager")


class DialogueLanguage(models.TextChoices):
    """The language that people write in; the interface language is each person's own."""

    ENGLISH = "en", _("English")
    CHINESE = "zh", _("Chinese")
    MIXED = "mul", _("Several languages")


class Project(models.Model):
    """One piece of work with a protocol, members and settings."""

    slug = models.CharField(
        _("short name"),
        max_length=80,
        unique=True,
        validators=[RegexValidator(r"^[a-z0-9][a-z0-9_-]*$", _("Small letters, digits, - and _ only."))],
        help_text=_("Used in addresses and on the command line."),
    )
    title = models.CharField(_("title"), max_length=200)
    description = models.TextField(_("description"), blank=True)
    protocol = models.CharField(_("protocol"), max_length=12, choices=Protocol)
    preset = models.CharField(max_length=40, blank=True, editable=False)
    language = models.CharField(
        _("language of the dialogues"), max_length=3, choices=DialogueLanguage, default=DialogueLanguage.MIXED
    )
    guidelines_en = models.TextField(_("guidelines (English)"), blank=True)
    guidelines_zh = models.TextField(_("guidelines (Chinese)"), blank=True)
    hourly_rate = models.DecimalField(
        _("cost of an hour"),
        max_digits=8,
        decimal_places=2,
        null=True,
        blank=True,
        help_text=_("Of active work; empty: no cost is shown."),
    )
    currency = models.CharField(_("currency"), max_length=8, blank=True, default="", db_default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug


class Membership(models.Model):
    """The roles of a person in a project, and their annotator group; empty: no group."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    roles = ArrayField(models.CharField(max_length=12, choices=Role))
    group = models.CharField(_("annotator group"), max_length=40, blank=True)
    joined_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="one_membership_per_person")]
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.user} in {self.project}: {', '.join(self.roles)}"


# Kinds of events that happen once for a dialogue, a label or a person's answer, so many times a day.
EVERYDAY = (
    *("reset", "restore", "verdict", "review", "topic", "label_replaced", "thread"),
    *("admission_try", "topic_changed", "system_replaced", "downloaded"),
)
# Rows whose states people decide about; those of tasks, claims, dialogues and jobs change many times a day.
DECIDED = (
    *("annotation.round", "annotation.appeal", "assessment.run"),
    *("projects.webhook", "projects.invitation"),
)
# Events that are decisions or change settings: few, whatever the size of the project.
IS_DECISION = ~models.Q(kind__in=("state", *EVERYDAY)) | models.Q(kind="state", subject_type__in=DECIDED)


class Event(models.Model):
    """One row for every change of a state: who changed which row, from which state to which, and why."""

    project = models.ForeignKey(Project, null=True, on_delete=models.CASCADE, related_name="events")
    subject_type = models.CharField(max_length=40)
    subject_id = models.CharField(max_length=36)
    kind = models.CharField(max_length=40)
    before = models.CharField(max_length=20, blank=True)
    after = models.CharField(max_length=20, blank=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    reason = models.TextField(blank=True)
    data = models.JSONField(default=dict)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["subject_type", "subject_id", "-id"], name="event_subject"),
            models.Index(fields=["project", "-id"], name="event_project"),
            models.Index(fields=["project", "-id"], name="event_decision", condition=IS_DECISION),
        ]

    def __str__(self) -> str:
        return f"{self.subject_type} {self.subject_id}: {self.kind}"


class InvitationState(models.TextChoices):
    OPEN = "open", _("Open")
    ACCEPTED = "accepted", _("Accepted")
    REVOKED = "revoked", _("Revoked")


class MailState(models.TextChoices):
    NOT_SENT = "", _("Not sent by email")
    WAITING = "waiting", _("Email waits to be sent")
    SENT = "sent", _("Sent by email")
    FAILED = "failed", _("Email could not be sent")


class Invitation(models.Model):
    """A link with which one person joins a project. Only the SHA-256 of its key is stored."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="invitations")
    request_id = models.UUIDField(help_text=_("Made by the client; a second send finds the same invitations"))
    position = models.PositiveSmallIntegerField(help_text=_("Among those of one request"))
    version = models.PositiveSmallIntegerField(default=1, help_text=_("A new link ends the one before"))
    digest = models.CharField(max_length=64, unique=True, editable=False)
    roles = ArrayField(models.CharField(max_length=12, choices=Role))
    name = models.CharField(_("name"), max_length=80, blank=True)
    email = models.EmailField(_("email address"), blank=True)
    language = models.CharField(max_length=10, blank=True, choices=settings.LANGUAGES)
    state = models.CharField(max_length=8, choices=InvitationState, default=InvitationState.OPEN)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    accepted_at = models.DateTimeField(null=True)
    mail_state = models.CharField(max_length=7, choices=MailState, default=MailState.NOT_SENT, blank=True)
    mail_attempts = models.PositiveSmallIntegerField(default=0)
    mail_due_at = models.DateTimeField(null=True)
    mail_error = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["request_id", "position"], name="one_invitation_per_request"),
            models.UniqueConstraint(
                Lower("email"),
                "project",
                condition=models.Q(state="open") & ~models.Q(email=""),
                name="one_open_invitation_per_address",
            ),
        ]
        indexes = [
            models.Index(fields=["mail_due_at"], condition=models.Q(mail_state="waiting"), name="mail_due"),
        ]

    def __str__(self) -> str:
        return f"{self.name or self.email or self.pk} to {self.project}"

    @property
    def is_expired(self) -> bool:
        return self.state == InvitationState.OPEN and self.expires_at <= timezone.now()

    @property
    def is_valid(self) -> bool:
        return self.state == InvitationState.OPEN and not self.is_expired


class WebhookEvent(models.TextChoices):
    """What a webhook can report. projects/outbox.py says which events these are."""

    DIALOGUE_FINISHED = "dialogue.finished", _("A dialogue is finished")
    DIALOGUE_REOPENED = "dialogue.reopened", _("A finished dialogue is opened again")
    LABEL_FINAL = "label.final", _("A dialogue has a final label")
    LABEL_REOPENED = "label.reopened", _("A final label is open again")
    BATCH_LABELLED = "batch.labelled", _("A model labelled a batch")
    BATCH_ACCEPTED = "batch.accepted", _("A batch is accepted")
    BATCH_RETURNED = "batch.returned", _("A batch is returned")
    BATCH_REOPENED = "batch.reopened", _("The return of a batch is undone")
    JOB_ENDED = "job.ended", _("A job ended")
    MODEL_PROMOTED = "model.promoted", _("Another model writes the candidates")
    ASSESSMENT_COMPLETED = "assessment.completed", _("A participant completed the study")
    TEST = "webhook.test", pgettext_lazy("event of a webhook", "Test")


class WebhookState(models.TextChoices):
    ON = "on", _("On")
    OFF = "off", _("Off")
    REMOVED = "removed", _("Removed")


class WebhookFault(models.TextChoices):
    """Why a webhook is off although nobody switched it off."""

    FAILING = "failing", _("Too many attempts in a row failed.")
    GONE = "gone", _("The receiver answered that this address is gone for good (HTTP 410).")


class Webhook(models.Model):
    """A receiver of a project's events. A removed one stays, without its secrets, until `clean` deletes it.

    secret, previous_secret: sealed (common.sealing). Both sign until previous_until. failures: attempts in a row.
    leased_until: a worker sends to it; in the past: when one last did.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(_("address"), max_length=500)
    description = models.CharField(_("description"), max_length=200, blank=True)
    events = ArrayField(models.CharField(max_length=30, choices=WebhookEvent))
    secret = models.TextField(editable=False)
    secret_version = models.PositiveIntegerField(default=1)
    previous_secret = models.TextField(blank=True, editable=False)
    previous_until = models.DateTimeField(null=True)
    state = models.CharField(max_length=7, choices=WebhookState, default=WebhookState.ON)
    fault = models.CharField(max_length=7, choices=WebhookFault, blank=True)
    failures = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    paused_until = models.DateTimeField(null=True)
    leased_until = models.DateTimeField(null=True)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    removed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["created_at"]

    def __str__(self) -> str:
        return f"webhook of {self.project} to {self.url}"


class DeliveryState(models.TextChoices):
    WAITING = "waiting", _("Waiting")
    DELIVERED = "delivered", _("Delivered")
    FAILED = "failed", _("Failed")


class DeliveryProblem(models.TextChoices):
    """What was wrong with the last attempt."""

    ANSWER = "answer", _("The receiver answered with an error.")
    REDIRECT = "redirect", _("The receiver redirects to another address, and redirects are not followed.")
    TIMEOUT = "timeout", _("The receiver did not answer in time.")
    UNREACHABLE = "unreachable", _("The receiver cannot be reached.")
    ADDRESS = "address", _("The address is an internal one, which this installation does not allow.")
    SECRET = "secret", _("The secret cannot be decrypted, because SECRET_KEY has changed. Make a new secret.")
    EXPIRED = "expired", _("It waited for more than three days, because the webhook was off.")


class WebhookDelivery(models.Model):
    """One event for one webhook: it waits, is delivered, or failed for good. subject: what the order is kept of.

    waiting_since: when it was stored or last replayed. status: of the last answer, in HTTP.
    """

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="+")
    type = models.CharField(max_length=30, choices=WebhookEvent)
    subject = models.CharField(max_length=100)
    state = models.CharField(max_length=9, choices=DeliveryState, default=DeliveryState.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    waiting_since = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now)
    tried_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    status = models.PositiveSmallIntegerField(null=True)
    problem = models.CharField(max_length=11, choices=DeliveryProblem, blank=True)
    detail = models.CharField(max_length=200, blank=True)
    milliseconds = models.PositiveIntegerField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["webhook", "event"], name="one_delivery_per_event"),
        ]
        indexes = [
            models.Index(fields=["webhook", "-id"], name="delivery_newest"),
            models.Index(
                fields=["webhook", "event"], name="delivery_next", condition=models.Q(state="waiting")
            ),
            models.Index(
                fields=["webhook", "event"], name="delivery_failed", condition=models.Q(state="failed")
            ),
            models.Index(
                fields=["waiting_since"], name="delivery_waiting", condition=models.Q(state="waiting")
            ),
            models.Index(
                fields=["ended_at"], name="delivery_ended", condition=models.Q(ended_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} of {self.subject}"
