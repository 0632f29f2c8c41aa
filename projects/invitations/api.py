"""REST API of invitations by link."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from common.rest.pagination import NewestFirst, paginated_response
from common.rest.serializers import StrictSerializer, validated_input
from projects.invitations import services
from projects.invitations.invitees import MAX_EMAIL, MAX_NAME, MAX_PEOPLE, Invitee, interface_language
from projects.invitations.links import invitation_url
from projects.invitations.selectors import invitation_for, invitations_of
from projects.models import Invitation, InvitationState, MailState, Project, Role
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Members"]


class InviteeInput(StrictSerializer):
    roles = serializers.ListField(
        child=serializers.ChoiceField(choices=Role.choices), allow_empty=False, max_length=len(Role)
    )
    name = serializers.CharField(required=False, allow_blank=True, max_length=MAX_NAME)
    email = serializers.CharField(required=False, allow_blank=True, max_length=MAX_EMAIL)
    language = serializers.CharField(
        required=False, allow_blank=True, max_length=10, help_text="Of the interface: en or zh."
    )


class InvitationsInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Chosen by the client. Sent again, it returns the same invitations.")
    people = serializers.ListField(child=InviteeInput(), allow_empty=False, max_length=MAX_PEOPLE)
    days = serializers.IntegerField(
        default=services.DEFAULT_DAYS,
        min_value=1,
        max_value=services.MAX_DAYS,
        help_text="How long the links work.",
    )
    by_mail = serializers.BooleanField(
        default=False, help_text="Also send the links to those with an email address."
    )


class NewLinkInput(StrictSerializer):
    version = serializers.IntegerField(
        min_value=1,
        max_value=32_000,
        help_text="Of the link that is replaced. Sent again, it returns the new link.",
    )


class LinkInvitationSerializer(serializers.ModelSerializer[Invitation]):
    roles = serializers.ListField(child=serializers.ChoiceField(choices=Role.choices))
    state = serializers.ChoiceField(choices=InvitationState.choices)
    mail_state = serializers.ChoiceField(choices=MailState.choices)
    is_live = serializers.BooleanField(source="is_valid", help_text="Neither accepted, revoked nor expired.")
    made_by = serializers.CharField(source="made_by.username")
    accepted_by = serializers.CharField(source="accepted_by.username", default=None, allow_null=True)

    class Meta:
        model = Invitation
        fields = [
            *("id", "name", "email", "roles", "language", "state", "is_live", "version"),
            *(
                "created_at",
                "expires_at",
                "made_by",
                "accepted_by",
                "accepted_at",
                "mail_state",
                "mail_error",
            ),
        ]


class InvitationWithUrlSerializer(LinkInvitationSerializer):
    url = serializers.SerializerMethodField(help_text="Whoever opens it first joins the project.")

    class Meta(LinkInvitationSerializer.Meta):
        fields = [*LinkInvitationSerializer.Meta.fields, "url"]

    def get_url(self, invitation: Invitation) -> str | None:
        return invitation_url(invitation) if invitation.is_valid else None


def _project(request: Request, slug: str) -> Project:
    return project_for(person(request), slug, Capability.MANAGE_MEMBERS)


class LinkInvitationsView(APIView):
    pagination_class = NewestFirst

    @extend_schema(
        tags=TAG, operation_id="link_invitations_list", responses=LinkInvitationSerializer(many=True)
    )
    def get(self, request: Request, slug: str) -> Response:
        """The invitations by link, newest first, without their links."""
        return paginated_response(
            self, request, invitations_of(_project(request, slug)), LinkInvitationSerializer
        )

    @extend_schema(
        tags=TAG,
        operation_id="link_invitations_create",
        request=InvitationsInput,
        responses={201: InvitationWithUrlSerializer(many=True)},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Invite people, each with a link. If one of them cannot be invited, nobody is; `lines` names the problems.

        Codes: mail_unavailable, too_many_invitations, id_in_use.
        """
        project = _project(request, slug)
        fields = validated_input(InvitationsInput, request)
        rows = services.invite_by_link(
            project=project,
            actor=person(request),
            request_id=fields["id"],
            people=[_invitee(one) for one in fields["people"]],
            days=fields["days"],
            by_mail=fields["by_mail"],
        )
        return Response(InvitationWithUrlSerializer(rows, many=True).data, status=status.HTTP_201_CREATED)


def _invitee(fields: dict[str, Any]) -> Invitee:
    roles = tuple(role for role in Role.values if role in fields["roles"])
    words = {name: " ".join(fields.get(name, "").split()) for name in ("name", "email", "language")}
    return Invitee(roles, words["name"], words["email"], interface_language(words["language"]))


class LinkInvitationView(APIView):
    @extend_schema(tags=TAG, operation_id="link_invitations_read", responses=LinkInvitationSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """One invitation, without its link."""
        return Response(LinkInvitationSerializer(invitation_for(_project(request, slug), pk)).data)

    @extend_schema(
        tags=TAG, operation_id="link_invitations_revoke", responses={200: LinkInvitationSerializer}
    )
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        """Revoke it: its link ends at once. Code: illegal_move (it was accepted)."""
        project = _project(request, slug)
        row = services.revoke_invitation(project=project, actor=person(request), invitation_id=pk)
        return Response(LinkInvitationSerializer(row).data)


class NewLinkView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="link_invitations_new_link",
        request=NewLinkInput,
        responses=InvitationWithUrlSerializer,
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Replace the link of an open or expired invitation; the one before ends. Code: invitation_gone."""
        project = _project(request, slug)
        version = validated_input(NewLinkInput, request)["version"]
        row = services.renew_link(project=project, actor=person(request), invitation_id=pk, version=version)
        return Response(InvitationWithUrlSerializer(row).data)


urlpatterns = [
    path("projects/<slug:slug>/link-invitations/", LinkInvitationsView.as_view()),
    path("projects/<slug:slug>/link-invitations/<int:pk>/", LinkInvitationView.as_view()),
    path("projects/<slug:slug>/link-invitations/<int:pk>/link/", NewLinkView.as_view()),
]
