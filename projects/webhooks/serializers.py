"""Serializers of webhooks. Only the answers to creating and to a new secret hold a secret."""

from typing import Any

from rest_framework import serializers

from common.rest.serializers import StrictSerializer
from projects.models import (
    DeliveryProblem,
    DeliveryState,
    Webhook,
    WebhookDelivery,
    WebhookEvent,
    WebhookFault,
    WebhookState,
)
from projects.webhooks.addresses import LONGEST
from projects.webhooks.payloads import delivery_id, payload_of
from projects.webhooks.services import CHOICES

MOST_REPLAYED = 1000


def events_field(**options: Any) -> serializers.ListField:
    choices = [(event.value, event.label) for event in CHOICES]
    return serializers.ListField(
        child=serializers.ChoiceField(choices=choices),
        allow_empty=False,
        max_length=len(CHOICES),
        **options,
    )


class WebhookInput(StrictSerializer):
    id = serializers.UUIDField(
        help_text="Chosen by the client. Sent again, it returns the webhook without its secret."
    )
    url = serializers.CharField(max_length=LONGEST)
    description = serializers.CharField(required=False, allow_blank=True, max_length=200)
    events = events_field()


class WebhookChanges(StrictSerializer):
    url = serializers.CharField(required=False, max_length=LONGEST)
    description = serializers.CharField(required=False, allow_blank=True, max_length=200)
    events = events_field(required=False)
    on = serializers.BooleanField(required=False, help_text="While it is off, its deliveries wait.")


class SecretInput(StrictSerializer):
    version = serializers.IntegerField(
        min_value=1, max_value=2_000_000_000, help_text="secret_version of the secret that is replaced."
    )


class TestInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Chosen by the client. Sent again, it sends no second test.")


class ReplayInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Chosen by the client. Sent again, it replays nothing more.")
    deliveries = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1),
        required=False,
        allow_empty=False,
        max_length=MOST_REPLAYED,
    )
    all_failed = serializers.BooleanField(default=False, help_text="Instead of deliveries: all that failed.")


class DeliveryFilters(StrictSerializer):
    state = serializers.ChoiceField(required=False, choices=DeliveryState.choices)
    type = serializers.ChoiceField(required=False, choices=WebhookEvent.choices)
    subject = serializers.CharField(required=False, max_length=100, help_text="For example dialogue:12.")


class WebhookSerializer(serializers.ModelSerializer[Webhook]):
    events = events_field(read_only=True)
    state = serializers.ChoiceField(choices=WebhookState.choices)
    fault = serializers.ChoiceField(
        choices=WebhookFault.choices,
        allow_blank=True,
        help_text="Why it was switched off; empty if a person did.",
    )
    made_by = serializers.CharField(source="made_by.username", default=None, allow_null=True)

    class Meta:
        model = Webhook
        fields = [
            *("id", "url", "description", "events", "state", "fault", "failures", "failing_since"),
            *("paused_until", "secret_version", "previous_until", "made_by", "created_at"),
        ]
        extra_kwargs = {
            "failures": {"help_text": "Attempts in a row."},
            "paused_until": {"help_text": "Nothing is sent before, because attempts failed."},
            "previous_until": {"help_text": "Until then the secret before signs as well."},
        }


class WebhookWithSecretSerializer(WebhookSerializer):
    secret = serializers.SerializerMethodField(help_text="Shown only once; null if sent before.")

    class Meta(WebhookSerializer.Meta):
        fields = [*WebhookSerializer.Meta.fields, "secret"]

    def get_secret(self, webhook: Webhook) -> str | None:
        return self.context["secret"] or None


class DeliverySerializer(serializers.ModelSerializer[WebhookDelivery]):
    webhook_id = serializers.SerializerMethodField(help_text="The header webhook-id.")
    type = serializers.ChoiceField(choices=WebhookEvent.choices)
    state = serializers.ChoiceField(choices=DeliveryState.choices)
    problem = serializers.ChoiceField(choices=DeliveryProblem.choices, allow_blank=True)
    payload = serializers.SerializerMethodField(help_text="The body of the request.")

    class Meta:
        model = WebhookDelivery
        fields = [
            *("id", "webhook_id", "type", "subject", "state", "attempts", "waiting_since", "due_at"),
            *("tried_at", "ended_at", "status", "problem", "detail", "milliseconds", "payload"),
        ]

    def get_webhook_id(self, delivery: WebhookDelivery) -> str:
        return delivery_id(delivery)

    def get_payload(self, delivery: WebhookDelivery) -> dict[str, Any]:
        return payload_of(delivery)


class TestSerializer(serializers.Serializer[Any]):
    event = serializers.IntegerField(source="pk")


class ReplaySerializer(serializers.Serializer[Any]):
    count = serializers.IntegerField(help_text="Deliveries that are sent again.")
