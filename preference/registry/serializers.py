"""Serializers of trained models and promotions."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from common.rest.serializers import StrictSerializer
from jobs.models import Job
from preference.registry.models import Promotion, RegisteredModel
from preference.registry.services.promotion import MAX_REASON
from preference.registry.services.trained_models import MAX_NOTE


class ModelSerializer(serializers.ModelSerializer[RegisteredModel]):
    project = serializers.CharField(source="project.slug")
    parent = serializers.CharField(  # type: ignore[assignment]
        source="parent.slug", default=None, allow_null=True
    )
    snapshot = serializers.UUIDField(
        source="snapshot_id",
        allow_null=True,
        help_text="null: trained elsewhere, on data of which the project has no snapshot.",
    )
    deleted_dialogues = serializers.IntegerField(
        help_text="Dialogues of its snapshot that were deleted after the training."
    )
    training = serializers.UUIDField(
        source="training_run_id", allow_null=True, help_text="null: trained elsewhere."
    )
    generator = serializers.CharField(
        source="generator.slug",
        default=None,
        allow_null=True,
        help_text="Name in the settings of projects; null for evaluators.",
    )
    config = serializers.DictField(help_text="training.json of the trainer.")
    report = serializers.DictField(
        help_text='Of an assessor: figures of all compared models; "chosen" is the registered one. Of a model trained '
        'elsewhere: "evaluation", the report that came with it, if the project has no snapshot of its data.'
    )
    metrics = serializers.DictField(help_text="Losses of the last step.")
    files = serializers.DictField(child=serializers.IntegerField(), help_text="Bytes by name.")
    has_files = serializers.BooleanField(source="folder")
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)

    class Meta:
        model = RegisteredModel
        fields = [
            "slug", "kind", "project", "note", "parent", "base", "snapshot", "deleted_dialogues", "training",
            "config", "metrics", "report",
            "code_version",
            "files", "bytes", "sha256", "version", "fault", "remedy", "generator", "has_files", "created_by",
            "created_at",
        ]  # fmt: skip


class ModelInput(StrictSerializer):
    slug = serializers.RegexField(
        r"^[a-z0-9][a-z0-9_-]*$",
        required=False,
        max_length=80,
        help_text="Lower-case letters, digits, - and _.",
    )
    note = serializers.CharField(required=False, allow_blank=True, max_length=MAX_NOTE)


class RegistrationInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first job.")
    folder = serializers.CharField(
        required=False,
        max_length=200,
        help_text="Below MODELS_ROOT/incoming on the server: what a training elsewhere wrote (--output). It stays.",
    )
    upload = serializers.UUIDField(
        required=False,
        help_text="Instead of a folder: a complete model-upload. It is deleted once it is registered.",
    )
    name = serializers.CharField(
        required=False, allow_blank=True, max_length=80, help_text="Of the model. Empty: after the folder."
    )
    snapshot = serializers.UUIDField(
        required=False,
        help_text="What it was trained on. Left out: the project's snapshot with the SHA-256 in training.json, if any.",
    )
    parent = serializers.CharField(  # type: ignore[assignment]
        required=False,
        allow_blank=True,
        max_length=80,
        help_text="The registered model that it began from. Empty: the project's model with the weights of its base.",
    )
    note = serializers.CharField(required=False, allow_blank=True, max_length=MAX_NOTE)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("folder" in attrs) == ("upload" in attrs):
            raise serializers.ValidationError({"folder": [_("Name either a folder or an upload.")]})
        return attrs


class RegistrationSerializer(serializers.ModelSerializer[Job]):
    """A job that registers a model."""

    result = serializers.DictField(
        help_text='Once it is done: "model", its name, and "sha256", over its files.'
    )

    class Meta:
        model = Job
        fields = ["id", "state", "done", "total", "unit", "result", "error", "remedy", "created_at"]


class AncestorSerializer(ModelSerializer):
    """A model for people who are not members of its project: without settings, losses and notes."""

    class Meta(ModelSerializer.Meta):
        fields = [
            "slug", "kind", "project", "parent", "base", "snapshot", "deleted_dialogues", "training",
            "code_version", "sha256", "version",
            "has_files", "created_at",
        ]  # fmt: skip


class LineageSerializer(serializers.Serializer[Any]):
    models = AncestorSerializer(many=True, help_text="From this model back to the first.")
    base = serializers.CharField(help_text="The base that the first model was trained from.")


class PromotionSerializer(serializers.ModelSerializer[Promotion]):
    project = serializers.CharField(source="project.slug")
    before = serializers.CharField(source="before.slug", default=None, allow_null=True)
    after = serializers.CharField(
        source="after.slug", default=None, allow_null=True, help_text="null: the server's own model."
    )
    undoes = serializers.UUIDField(
        source="undoes_id", allow_null=True, help_text="The promotion that this one rolls back."
    )
    actor = serializers.CharField(source="actor.username", default=None, allow_null=True)

    class Meta:
        model = Promotion
        fields = ["id", "project", "before", "after", "undoes", "actor", "reason", "created_at"]


class RollBackInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first promotion.")
    expected_current = serializers.CharField(
        allow_null=True, max_length=80, help_text="The model that you saw in use; null: the server's own."
    )
    reason = serializers.CharField(required=False, allow_blank=True, max_length=MAX_REASON)


class PromotionInput(RollBackInput):
    model = serializers.CharField(max_length=80, help_text="A trained model's name.")
