"""Experts' verdicts on authored dialogues."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from dialogues.models import Dialogue


class Verdict(models.TextChoices):
    PASS = "pass", _("Pass")
    VETO = "veto", _("Veto")


class ExpertReview(models.Model):
    """An expert's verdict on a finished dialogue (Diamante Appendix B.2). One veto removes the dialogue from exports.

    A changed verdict is a new row; the old row gets `superseded_at`. A row without a verdict is a claim: until it
    expires, it takes the place of one expert. remarks: [{"position", "text"}] on single utterances.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="expert_reviews")
    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="expert_reviews"
    )
    verdict = models.CharField(max_length=4, choices=Verdict, blank=True)
    reason = models.TextField(blank=True)
    remarks = models.JSONField(default=list)
    claimed_until = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)
    superseded_at = models.DateTimeField(null=True)
    seen_by_author_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["dialogue", "reviewer"],
                condition=Q(superseded_at=None),
                name="one_live_review_per_expert",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.verdict or 'claim'} on {self.dialogue_id}"
