"""REST API of trained models: lineage, evaluations, promotions. Every view is one call of a service."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from common.rest.pagination import NewestByTime, paginated_response
from common.rest.problems import CONTENT_TYPE, ProblemSerializer
from common.rest.serializers import StrictSerializer, validated_input
from preference.registry.models import Promotion, RegisteredModel
from preference.registry.selectors.models import lineage_of, model_for, models_of, promotions_of
from preference.registry.services.promotion import LONGEST_REASON, promote_model, roll_back
from preference.registry.services.registry import LONGEST_NOTE, remove_model, update_model
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Trained models"]
GONE: dict[Any, Any] = {(410, CONTENT_TYPE): ProblemSerializer}


class ModelSerializer(serializers.ModelSerializer[RegisteredModel]):
    project = serializers.CharField(source="project.slug")
    parent = serializers.CharField(  # type: ignore[assignment]
        source="parent.slug", default=None, allow_null=True
    )
    snapshot = serializers.UUIDField(source="snapshot_id")
    training = serializers.UUIDField(source="training_run_id")
    generator = serializers.CharField(
        source="generator.slug", default=None, allow_null=True, help_text="As projects' settings name it."
    )
    config = serializers.DictField(help_text="training.json of the trainer.")
    metrics = serializers.DictField(help_text="Of its last step.")
    files = serializers.DictField(child=serializers.IntegerField(), help_text="Bytes by name.")
    has_files = serializers.BooleanField(source="folder")
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)

    class Meta:
        model = RegisteredModel
        fields = [
            "slug", "project", "note", "parent", "base", "snapshot", "training", "config", "metrics", "code_version",
            "files", "bytes", "sha256", "version", "fault", "remedy", "generator", "has_files", "created_by",
            "created_at",
        ]  # fmt: skip


class ModelInput(StrictSerializer):
    slug = serializers.RegexField(
        r"^[a-z0-9][a-z0-9_-]*$", required=False, max_length=80, help_text="Small letters, digits, - and _."
    )
    note = serializers.CharField(required=False, allow_blank=True, max_length=LONGEST_NOTE)


class AncestorSerializer(ModelSerializer):
    """What may be known of a model by whom its project is closed to."""

    class Meta(ModelSerializer.Meta):
        fields = [
            "slug", "project", "parent", "base", "snapshot", "training", "code_version", "sha256", "version",
            "has_files", "created_at",
        ]  # fmt: skip


class LineageSerializer(serializers.Serializer[Any]):
    models = AncestorSerializer(many=True, help_text="From this one back to the first.")
    base = serializers.CharField(help_text="What the first one was trained from.")


class PromotionSerializer(serializers.ModelSerializer[Promotion]):
    project = serializers.CharField(source="project.slug")
    before = serializers.CharField(source="before.slug", default=None, allow_null=True)
    after = serializers.CharField(
        source="after.slug", default=None, allow_null=True, help_text="null: the server's own model."
    )
    undoes = serializers.UUIDField(source="undoes_id", allow_null=True, help_text="The promotion taken back.")
    actor = serializers.CharField(source="actor.username", default=None, allow_null=True)

    class Meta:
        model = Promotion
        fields = ["id", "project", "before", "after", "undoes", "actor", "reason", "created_at"]


class RollBackInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first promotion.")
    expected_current = serializers.CharField(
        allow_null=True, max_length=80, help_text="The model that you saw in use; null: the server's own."
    )
    reason = serializers.CharField(required=False, allow_blank=True, max_length=LONGEST_REASON)


class PromotionInput(RollBackInput):
    model = serializers.CharField(max_length=80, help_text="A trained model's name.")


class ModelsView(APIView):
    pagination_class = NewestByTime

    @extend_schema(tags=TAG, operation_id="models_list", responses=ModelSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The models that were trained in the project, newest first."""
        project = project_for(person(request), slug, Capability.TRAIN)
        return paginated_response(self, request, models_of(project), ModelSerializer)


class ModelView(APIView):
    @extend_schema(tags=TAG, operation_id="models_read", responses=ModelSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """One model."""
        return Response(ModelSerializer(model_for(person(request), slug)).data)

    @extend_schema(tags=TAG, operation_id="models_update", request=ModelInput, responses=ModelSerializer)
    def patch(self, request: Request, slug: str) -> Response:
        """Rename it or change its note. Code: name_taken."""
        model = model_for(person(request), slug)
        changed = update_model(
            model=model, actor=person(request), changes=validated_input(ModelInput, request)
        )
        return Response(ModelSerializer(model_for(person(request), changed.slug)).data)

    @extend_schema(tags=TAG, operation_id="models_remove_files", responses={200: ModelSerializer})
    def delete(self, request: Request, slug: str) -> Response:
        """Remove its files and its training's; the row stays. Code: in_use."""
        remove_model(model=model_for(person(request), slug), actor=person(request))
        return Response(ModelSerializer(model_for(person(request), slug)).data)


class LineageView(APIView):
    @extend_schema(tags=TAG, operation_id="models_lineage", responses=LineageSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Where it came from."""
        models = lineage_of(model_for(person(request), slug))
        return Response(LineageSerializer({"models": models, "base": models[-1].base}).data)


class PromotionsView(APIView):
    pagination_class = NewestByTime

    @extend_schema(tags=TAG, operation_id="promotions_list", responses=PromotionSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """How the project's model changed, newest first."""
        project = project_for(person(request), slug, Capability.TRAIN)
        return paginated_response(self, request, promotions_of(project), PromotionSerializer)

    @extend_schema(
        tags=TAG,
        operation_id="promotions_promote",
        request=PromotionInput,
        responses={201: PromotionSerializer, **GONE},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Have the next candidates written by a trained model; turns that wait keep theirs.

        Codes: changed_meanwhile (somebody was first; `by` and `current` say who and what), still_loading (send it again
        in a moment), cannot_load, files_gone, already_current, no_authoring, id_in_use.
        """
        user = person(request)
        project = project_for(user, slug, Capability.TRAIN)
        sent = validated_input(PromotionInput, request)
        model = model_for(user, sent.pop("model"))
        made = promote_model(promotion_id=sent.pop("id"), model=model, project=project, actor=user, **sent)
        return Response(PromotionSerializer(made).data, status=status.HTTP_201_CREATED)


class RollBackView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="promotions_roll_back",
        request=RollBackInput,
        responses={201: PromotionSerializer, **GONE},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Go back to the model before the newest promotion. Codes: nothing_to_undo, and those of promoting."""
        user = person(request)
        project = project_for(user, slug, Capability.TRAIN)
        sent = validated_input(RollBackInput, request)
        made = roll_back(promotion_id=sent.pop("id"), project=project, actor=user, **sent)
        return Response(PromotionSerializer(made).data, status=status.HTTP_201_CREATED)


urlpatterns = [
    path("projects/<slug:slug>/models/", ModelsView.as_view()),
    path("projects/<slug:slug>/promotions/", PromotionsView.as_view()),
    path("projects/<slug:slug>/promotions/roll-back/", RollBackView.as_view()),
    path("models/<slug:slug>/", ModelView.as_view()),
    path("models/<slug:slug>/lineage/", LineageView.as_view()),
]
