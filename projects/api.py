"""REST API of projects, their members and what happened. POST /projects/ is annotation's: it makes settings too."""

from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from accounts.services import find_person
from common.rest.pagination import CursorPagination, NewestFirst, paginated_response
from common.rest.serializers import StrictSerializer, validated_input, validated_query
from projects import services
from projects.models import DialogueLanguage, Event, Membership, Project, Role
from projects.roles import Capability
from projects.selectors import (
    capabilities_of,
    events_of,
    find_member,
    members_of,
    memberships_by_project,
    project_for,
    projects_for,
)

TAG = ["Projects"]
MEMBERS = ["Members"]


class ProjectShort(serializers.ModelSerializer[Project]):
    roles = serializers.SerializerMethodField(help_text="Yours.")

    class Meta:
        model = Project
        fields = ["slug", "title", "protocol", "language", "created_at", "archived_at", "roles"]

    def get_roles(self, project: Project) -> list[Role]:
        return [Role(role) for role in self.context["roles"].get(project.pk, [])]


class ProjectSerializer(ProjectShort):
    capabilities = serializers.SerializerMethodField(help_text="What your roles let you do here.")
    version = serializers.SerializerMethodField(
        help_text="Send it back with a PATCH to be refused when somebody else changed the project meanwhile."
    )

    class Meta(ProjectShort.Meta):
        fields = [
            *ProjectShort.Meta.fields,
            *("description", "preset", "guidelines_en", "guidelines_zh", "capabilities", "version"),
        ]

    def get_capabilities(self, project: Project) -> list[Capability]:
        return sorted(self.context["capabilities"])

    def get_version(self, project: Project) -> str:
        return services.project_version(project)


class ProjectInput(StrictSerializer):
    title = serializers.CharField(required=False, max_length=200)
    description = serializers.CharField(required=False, allow_blank=True, max_length=services.MAX_TEXT)
    language = serializers.ChoiceField(required=False, choices=DialogueLanguage.choices)
    guidelines_en = serializers.CharField(
        required=False, allow_blank=True, trim_whitespace=False, max_length=services.MAX_TEXT
    )
    guidelines_zh = serializers.CharField(
        required=False, allow_blank=True, trim_whitespace=False, max_length=services.MAX_TEXT
    )
    archived = serializers.BooleanField(
        required=False, help_text="Archived: in nobody's list, nothing to claim."
    )
    version = serializers.CharField(required=False, max_length=64)


class MemberSerializer(serializers.ModelSerializer[Membership]):
    username = serializers.CharField(source="user.username")
    shown_name = serializers.CharField(source="user.shown_name")
    email = serializers.CharField(source="user.email")
    roles = serializers.ListField(child=serializers.ChoiceField(choices=Role.choices))

    class Meta:
        model = Membership
        fields = ["username", "shown_name", "email", "roles", "joined_at"]


class RolesInput(StrictSerializer):
    roles = serializers.ListField(
        child=serializers.ChoiceField(choices=Role.choices), allow_empty=False, max_length=len(Role)
    )


class MemberInput(RolesInput):
    who = serializers.CharField(max_length=254, help_text="Sign-in name or e-mail address.")


class InvitationInput(RolesInput):
    id = serializers.UUIDField(
        help_text="Made by the client. A second send finds the account and gives it a new one-time password."
    )
    username = serializers.CharField(max_length=150)
    email = serializers.EmailField(required=False, allow_blank=True, max_length=254)
    display_name = serializers.CharField(required=False, allow_blank=True, max_length=80)


class InvitationSerializer(serializers.Serializer[Any]):
    member = MemberSerializer()
    one_time_password = serializers.CharField(
        help_text="Shown this once. It only opens the page that changes it."
    )


class RolesChange(serializers.Serializer[Any]):
    username = serializers.CharField()
    before = serializers.ListField(
        child=serializers.CharField(), allow_null=True, help_text="Undo: PUT these."
    )
    after = serializers.ListField(child=serializers.CharField(), allow_null=True)


class EventFilters(serializers.Serializer[Any]):
    kind = serializers.CharField(required=False, allow_blank=True, max_length=40)
    subject_type = serializers.CharField(
        required=False, allow_blank=True, max_length=40, help_text="For example dialogues.dialogue."
    )
    subject_id = serializers.CharField(required=False, allow_blank=True, max_length=36)
    actor = serializers.CharField(required=False, allow_blank=True, max_length=150, help_text="Sign-in name.")


class EventSerializer(serializers.ModelSerializer[Event]):
    actor = serializers.CharField(source="actor.username", default=None, allow_null=True)
    data = serializers.JSONField()  # type: ignore[assignment]

    class Meta:
        model = Event
        fields = [
            "id",
            "at",
            "kind",
            "subject_type",
            "subject_id",
            "before",
            "after",
            "actor",
            "reason",
            "data",
        ]


def shown(request: Request, project: Project) -> dict[str, Any]:
    user = person(request)
    context = {
        "roles": memberships_by_project(user, [project]),
        "capabilities": capabilities_of(user, project),
    }
    return ProjectSerializer(project, context=context).data


class ProjectsView(APIView):
    pagination_class = CursorPagination

    @extend_schema(tags=TAG, operation_id="projects_list", responses=ProjectShort(many=True))
    def get(self, request: Request) -> Response:
        """The projects that you take part in."""
        user, pages = person(request), self.pagination_class()
        rows = pages.paginate_queryset(projects_for(user), request, view=self) or []
        context = {"roles": memberships_by_project(user, rows)}
        return pages.get_paginated_response(ProjectShort(rows, many=True, context=context).data)


class ProjectView(APIView):
    @extend_schema(tags=TAG, operation_id="projects_read", responses=ProjectSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """One project, with its guidelines and what you may do in it."""
        return Response(shown(request, project_for(person(request), slug)))

    @extend_schema(
        tags=TAG, operation_id="projects_update", request=ProjectInput, responses=ProjectSerializer
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change title, description, language, guidelines; archive or restore. Code: changed_meanwhile."""
        user = person(request)
        project = project_for(user, slug, Capability.CONFIGURE)
        changes = validated_input(ProjectInput, request)
        archived, version = changes.pop("archived", None), changes.pop("version", None)
        project = services.update_project(project=project, actor=user, changes=changes, version=version)
        if archived is not None:
            act = services.archive_project if archived else services.restore_project
            project = act(project=project_for(user, slug, Capability.MANAGE_MEMBERS), actor=user)
        return Response(shown(request, project))


class MembersView(APIView):
    pagination_class = CursorPagination

    @extend_schema(tags=MEMBERS, operation_id="members_list", responses=MemberSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Who takes part, in which roles."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        return paginated_response(self, request, members_of(project), MemberSerializer)

    @extend_schema(
        tags=MEMBERS,
        operation_id="members_add",
        request=MemberInput,
        responses={201: MemberSerializer, 200: MemberSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Give somebody who has an account these roles; 200 when they were a member before. Code: ambiguous_person."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        sent = validated_input(MemberInput, request)
        change = services.set_member(
            project=project, actor=person(request), user=find_person(sent["who"]), roles=sent["roles"]
        )
        member = members_of(project).get(user=change.user)
        code = status.HTTP_201_CREATED if change.is_new else status.HTTP_200_OK
        return Response(MemberSerializer(member).data, status=code)


class InvitationsView(APIView):
    @extend_schema(
        tags=MEMBERS,
        operation_id="members_invite",
        request=InvitationInput,
        responses={201: InvitationSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Make an account with a one-time password. Codes: username_taken, email_taken, password_is_own."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        sent = validated_input(InvitationInput, request)
        user, plain = services.invite_person(
            project=project, actor=person(request), invitation_id=sent.pop("id"), **sent
        )
        member = members_of(project).get(user=user)
        body = InvitationSerializer({"member": member, "one_time_password": plain}).data
        return Response(body, status=status.HTTP_201_CREATED)


class MemberView(APIView):
    @extend_schema(tags=MEMBERS, operation_id="members_set_roles", request=RolesInput, responses=RolesChange)
    def put(self, request: Request, slug: str, username: str) -> Response:
        """Give somebody exactly these roles, adding them where they are no member. Code: last_manager."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        sent = validated_input(RolesInput, request)
        change = services.set_member(
            project=project, actor=person(request), user=find_person(username), roles=sent["roles"]
        )
        return Response(RolesChange(described(change)).data)

    @extend_schema(tags=MEMBERS, operation_id="members_remove", responses={200: RolesChange})
    def delete(self, request: Request, slug: str, username: str) -> Response:
        """End the membership; the person's work stays. Code: last_manager."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        change = services.remove_member(
            project=project, actor=person(request), user=find_member(project, username)
        )
        return Response(RolesChange(described(change)).data)


def described(change: services.Change) -> dict[str, Any]:
    return {"username": change.user.username, "before": change.before, "after": change.after}


class EventsView(APIView):
    pagination_class = NewestFirst

    @extend_schema(
        tags=TAG,
        operation_id="events_list",
        parameters=[EventFilters],
        responses=EventSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """What happened in the project and who did it, newest first."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        filters = validated_query(EventFilters, request)
        if "actor" in filters:
            filters["actor__username"] = filters.pop("actor")
        return paginated_response(self, request, events_of(project, **filters), EventSerializer)


urlpatterns = [
    path("projects/", ProjectsView.as_view()),
    path("projects/<slug:slug>/", ProjectView.as_view()),
    path("projects/<slug:slug>/members/", MembersView.as_view()),
    path("projects/<slug:slug>/members/<str:username>/", MemberView.as_view()),
    path("projects/<slug:slug>/invitations/", InvitationsView.as_view()),
    path("projects/<slug:slug>/events/", EventsView.as_view()),
]
