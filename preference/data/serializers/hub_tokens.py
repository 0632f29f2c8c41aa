"""Serializers of a project's token for a Hub. None returns the token."""

from typing import Any

from rest_framework import serializers

from common.rest.serializers import StrictSerializer
from preference.data.services.hub_tokens import LONGEST


class HubTokenInput(StrictSerializer):
    token = serializers.CharField(max_length=LONGEST, write_only=True, help_text="It is never shown again.")


class HubTokenStateSerializer(serializers.Serializer[Any]):
    is_set = serializers.BooleanField(help_text="Whether the project has its own token.")
    set_by = serializers.CharField(source="set_by.username", default=None, allow_null=True)
    set_at = serializers.DateTimeField(allow_null=True)
    shared = serializers.BooleanField(
        help_text="Whether projects without their own token push with that of the installation."
    )
