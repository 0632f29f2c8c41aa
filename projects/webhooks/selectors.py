"""Webhooks of a project, and what was sent to them."""

from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from common.refusals import NotFound
from projects.models import DeliveryState, Project, Webhook, WebhookDelivery, WebhookState


def webhooks_of(project: Project) -> QuerySet[Webhook]:
    rows = Webhook.objects.filter(project=project).exclude(state=WebhookState.REMOVED)
    return rows.select_related("made_by").defer("secret", "previous_secret").order_by("created_at")


def webhook_for(project: Project, webhook_id: UUID) -> Webhook:
    """Raises NotFound."""
    row = webhooks_of(project).select_related("project").filter(pk=webhook_id).first()
    if row is None:
        raise NotFound(_("There is no such webhook."), _("Go back to the list."))
    return row


def deliveries_of(webhook: Webhook, **filters: str) -> QuerySet[WebhookDelivery]:
    """Newest first. filters: state, type, subject; empty ones are left out."""
    chosen = {name: value for name, value in filters.items() if value}
    return WebhookDelivery.objects.filter(webhook=webhook, **chosen).select_related("event").order_by("-pk")


def delivery_counts(webhook: Webhook) -> dict[str, int]:
    """How many deliveries are in each state. The many that arrived are counted in an index, without their rows."""
    rows = WebhookDelivery.objects.filter(webhook=webhook).order_by()
    waiting, failed = (
        rows.filter(state=state).count() for state in (DeliveryState.WAITING, DeliveryState.FAILED)
    )
    others = max(0, rows.count() - waiting - failed)
    return {DeliveryState.WAITING: waiting, DeliveryState.FAILED: failed, DeliveryState.DELIVERED: others}
