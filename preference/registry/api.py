"""REST API of trained models: lineage, evaluations, promotions. Every view is one call of a service."""

from typing import Any

from django.http.response import HttpResponseBase
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from common.rest.pagination import NewestByTime, paginated_response
from common.rest.parsers import RAW
from common.rest.problems import CONTENT_TYPE, ProblemSerializer
from common.rest.resumed_files import RANGE, SIGNED, is_resumed, resumable_file
from common.rest.serializers import validated_input
from common.storage.shared_files import shared_models
from preference.data.services.downloads import record_download
from preference.registry.files import model_file
from preference.registry.selectors.trained_models import lineage_of, model_for, models_of, promotions_of
from preference.registry.serializers import (
    LineageSerializer,
    ModelInput,
    ModelSerializer,
    PromotionInput,
    PromotionSerializer,
    RegistrationInput,
    RegistrationSerializer,
    RollBackInput,
)
from preference.registry.services.incoming import start_registration
from preference.registry.services.promotion import promote_model, roll_back
from preference.registry.services.trained_models import remove_model, update_model
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Trained models"]
GONE: dict[Any, Any] = {(410, CONTENT_TYPE): ProblemSerializer}


class ModelsView(APIView):
    pagination_class = NewestByTime

    @extend_schema(tags=TAG, operation_id="models_list", responses=ModelSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The models of the project, trained here or elsewhere, newest first."""
        project = project_for(person(request), slug, Capability.TRAIN)
        return paginated_response(self, request, models_of(project), ModelSerializer)

    @extend_schema(
        tags=TAG,
        operation_id="models_register",
        request=RegistrationInput,
        responses={202: RegistrationSerializer, **GONE},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Register a model that was trained elsewhere, in a job: follow, cancel and retry it as the job of its id.

        Name a folder on the server, or an upload (`model-uploads/`).

        The folder is hashed, copied, read again and loaded to try it out; its evaluation.json and its base are checked
        against its weights. The same files again give the model that they gave before. Codes: invalid (folder, name,
        snapshot, parent), not_found (parent, upload), upload_gone (410), incomplete, no_authoring, no_model, links,
        no_lineage, wrong_kind, wrong_evaluation, name_taken, disk_full, id_in_use; of the job also files_changed,
        cannot_load and, of an upload in an object store, wrong_hash and what is said of a folder at once.
        """
        user = person(request)
        project = project_for(user, slug, Capability.TRAIN)
        values = validated_input(RegistrationInput, request)
        values |= {key: str(values[key]) for key in ("snapshot", "upload") if key in values}
        job = start_registration(registration_id=values.pop("id"), project=project, actor=user, **values)
        return Response(RegistrationSerializer(job).data, status=status.HTTP_202_ACCEPTED)


class ModelView(APIView):
    @extend_schema(tags=TAG, operation_id="models_read", responses=ModelSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """One model."""
        return Response(ModelSerializer(model_for(person(request), slug)).data)

    @extend_schema(tags=TAG, operation_id="models_update", request=ModelInput, responses=ModelSerializer)
    def patch(self, request: Request, slug: str) -> Response:
        """Rename a model or change its note. Code: name_taken."""
        model = model_for(person(request), slug)
        changed = update_model(
            model=model, actor=person(request), changes=validated_input(ModelInput, request)
        )
        return Response(ModelSerializer(model_for(person(request), changed.slug)).data)

    @extend_schema(tags=TAG, operation_id="models_remove_files", responses={200: ModelSerializer})
    def delete(self, request: Request, slug: str) -> Response:
        """Remove the files of a model and of its training; the entry stays. Code: in_use."""
        remove_model(model=model_for(person(request), slug), actor=person(request))
        return Response(ModelSerializer(model_for(person(request), slug)).data)


class ModelFileView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="models_file",
        parameters=[RANGE],
        responses={
            **{(code, RAW): OpenApiTypes.BINARY for code in (200, 206)},
            302: SIGNED,
            **{(code, CONTENT_TYPE): ProblemSerializer for code in (410, 416, 503)},
        },
    )
    def get(self, request: Request, slug: str, name: str) -> HttpResponseBase:
        """One of its `files`. Downloads are in the history of its project.

        Codes: files_gone (410), wrong_range (416), storage_away (503).
        """
        model = model_for(person(request), slug)
        path = model_file(model, name)
        response = resumable_file(request, path, content_type=RAW, files=shared_models())
        if not is_resumed(response):
            record_download(person=person(request), project=model.project, row=model, name=name)
        return response


class LineageView(APIView):
    @extend_schema(tags=TAG, operation_id="models_lineage", responses=LineageSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """The models that it was trained from, back to the first."""
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
        """Use a trained model for the next candidates; requests that are already queued keep their model.

        Codes: changed_meanwhile (`by` and `current` say who changed the model and to what), still_loading (try again in
        a moment), wrong_kind, cannot_load, files_gone, already_current, no_authoring, id_in_use.
        """
        user = person(request)
        project = project_for(user, slug, Capability.TRAIN)
        values = validated_input(PromotionInput, request)
        model = model_for(user, values.pop("model"))
        promotion = promote_model(
            promotion_id=values.pop("id"), model=model, project=project, actor=user, **values
        )
        return Response(PromotionSerializer(promotion).data, status=status.HTTP_201_CREATED)


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
        values = validated_input(RollBackInput, request)
        promotion = roll_back(promotion_id=values.pop("id"), project=project, actor=user, **values)
        return Response(PromotionSerializer(promotion).data, status=status.HTTP_201_CREATED)


urlpatterns = [
    path("projects/<slug:slug>/models/", ModelsView.as_view()),
    path("projects/<slug:slug>/promotions/", PromotionsView.as_view()),
    path("projects/<slug:slug>/promotions/roll-back/", RollBackView.as_view()),
    path("models/<slug:slug>/", ModelView.as_view()),
    path("models/<slug:slug>/files/<path:name>/", ModelFileView.as_view()),
    path("models/<slug:slug>/lineage/", LineageView.as_view()),
]
