"""REST API of a project's token for a Hub."""

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from common.rest.serializers import validated_input
from preference.data.selectors.hub_tokens import hub_token_state
from preference.data.serializers.hub_tokens import HubTokenInput, HubTokenStateSerializer
from preference.data.services.hub_tokens import remove_hub_token, set_hub_token
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for


def _answer(project: Project) -> Response:
    return Response(HubTokenStateSerializer(hub_token_state(project)).data)


class HubTokenView(APIView):
    @extend_schema(tags=["Snapshots"], operation_id="hub_token_read", responses=HubTokenStateSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Whether the project has a token for a Hub, and who set it. The token itself is never shown."""
        return _answer(project_for(person(request), slug, Capability.PUBLISH))

    @extend_schema(
        tags=["Snapshots"],
        operation_id="hub_token_set",
        request=HubTokenInput,
        responses=HubTokenStateSerializer,
    )
    def put(self, request: Request, slug: str) -> Response:
        """Set or replace the token that snapshots of the project are pushed with."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        token = validated_input(HubTokenInput, request)["token"]
        set_hub_token(project=project, actor=person(request), token=token)
        return _answer(project)

    @extend_schema(
        tags=["Snapshots"], operation_id="hub_token_remove", responses={200: HubTokenStateSerializer}
    )
    def delete(self, request: Request, slug: str) -> Response:
        """Remove the token. Safe to repeat."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        remove_hub_token(project=project, actor=person(request))
        return _answer(project)


urlpatterns = [path("projects/<slug:slug>/hub-token/", HubTokenView.as_view())]
