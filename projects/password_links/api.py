"""REST API of links with which members set a new password."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from common.rest.serializers import StrictSerializer, validated_input
from projects.password_links.services import make_member_link
from projects.roles import Capability
from projects.selectors import find_member, project_for


class PasswordLinkInput(StrictSerializer):
    id = serializers.UUIDField(
        help_text="Chosen by the client. Sent again, it returns another link; the first that is used ends both."
    )


class PasswordLinkSerializer(serializers.Serializer[Any]):
    username = serializers.CharField(source="user.username")
    url = serializers.CharField(help_text="Shown only once. Whoever opens it chooses the password.")
    expires_at = serializers.DateTimeField()


class PasswordLinksView(APIView):
    @extend_schema(
        tags=["Members"],
        operation_id="members_password_link",
        request=PasswordLinkInput,
        responses={201: PasswordLinkSerializer},
    )
    def post(self, request: Request, slug: str, username: str) -> Response:
        """Make a link with which a member sets a new password.

        Codes: not_yours (the member may do more than you manage), cannot_sign_in, id_in_use.
        """
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        link = make_member_link(
            project=project,
            actor=person(request),
            user=find_member(project, username),
            link_id=validated_input(PasswordLinkInput, request)["id"],
        )
        return Response(PasswordLinkSerializer(link).data, status=status.HTTP_201_CREATED)


urlpatterns = [
    path("projects/<slug:slug>/members/<str:username>/password-link/", PasswordLinksView.as_view()),
]
