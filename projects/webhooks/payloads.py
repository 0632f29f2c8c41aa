"""What a receiver gets: the event as JSON, without the people who caused it and without their words."""

import json
from typing import Any

from projects.models import WebhookDelivery


def delivery_id(delivery: WebhookDelivery) -> str:
    """The header webhook-id: the same each time that the delivery is sent, so that receivers can drop repeats."""
    return f"msg_{delivery.webhook_id.hex}_{delivery.event_id}"


def payload_of(delivery: WebhookDelivery) -> dict[str, Any]:
    event = delivery.event
    kind, _colon, id = delivery.subject.partition(":")
    return {
        "type": delivery.type,
        "timestamp": event.at.isoformat().replace("+00:00", "Z"),
        "data": {
            "event": event.pk,
            "project": delivery.webhook.project.slug,
            "subject": {"type": kind, "id": id},
            "before": event.before,
            "after": event.after,
            "details": event.data,
        },
    }


def body_of(delivery: WebhookDelivery) -> bytes:
    return json.dumps(payload_of(delivery), ensure_ascii=False, separators=(",", ":")).encode()
