"""REST API of the settings of an authoring project."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from annotation.authoring.models import AuthoringSettings
from annotation.authoring.selectors.settings import authoring_settings_of
from annotation.authoring.services.settings import EDITABLE, update_authoring
from common.rest.serializers import StrictSerializer
from generation.selectors import servable_generators
from projects import api as projects_api
from projects.roles import Capability
from projects.selectors import project_for


class AuthoringSerializer(serializers.ModelSerializer[AuthoringSettings]):
    generator = serializers.SlugRelatedField(
        slug_field="slug",
        queryset=servable_generators(),
        allow_null=True,
        help_text="null: the server's own model.",
    )
    second_generator = serializers.SlugRelatedField(
        slug_field="slug",
        queryset=servable_generators(),
        allow_null=True,
        required=False,
        help_text="Writes half of the candidates, so that two models are compared; null: no second model.",
    )

    class Meta:
        model = AuthoringSettings
        fields = EDITABLE


class AuthoringInput(StrictSerializer, AuthoringSerializer):
    pass


class AuthoringView(APIView):
    @extend_schema(tags=projects_api.TAG, operation_id="authoring_read", responses=AuthoringSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """The settings of authoring in this project."""
        project = project_for(person(request), slug, Capability.CONFIGURE)
        return Response(AuthoringSerializer(authoring_settings_of(project)).data)

    @extend_schema(
        tags=projects_api.TAG,
        operation_id="authoring_update",
        request=AuthoringInput(partial=True),
        responses=AuthoringSerializer,
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change some settings. They apply from the next turn."""
        project = project_for(person(request), slug, Capability.CONFIGURE)
        sent = AuthoringInput(authoring_settings_of(project), data=request.data, partial=True)
        sent.is_valid(raise_exception=True)
        settings = update_authoring(project=project, actor=person(request), changes=sent.validated_data)
        return Response(AuthoringSerializer(settings).data)
