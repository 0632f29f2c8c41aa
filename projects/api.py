"""REST API of projects, members and events. annotation has POST /projects/, because it also creates settings."""

from typing import Any

from django.db import transaction
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from accounts.rest.languages import reading_languages_field
from accounts.rest.person import person
from accounts.services import find_person
from common.rest.pagination import CursorPagination, NewestFirst, paginated_response, paginated_rows
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


class ProjectFilters(serializers.Serializer[Any]):
    archived = serializers.BooleanField(required=False, help_text="true: only the archived ones.")


class ProjectSummarySerializer(serializers.ModelSerializer[Project]):
    roles = serializers.SerializerMethodField(help_text="Yours.")

    class Meta:
        model = Project
        fields = ["slug", "title", "protocol", "language", "created_at", "archived_at", "roles"]

    def get_roles(self, project: Project) -> list[Role]:
        return [Role(role) for role in self.context["roles"].get(project.pk, [])]


class ProjectSerializer(ProjectSummarySerializer):
    capabilities = serializers.SerializerMethodField(help_text="What your roles let you do here.")
    version = serializers.SerializerMethodField(
        help_text="Send it with a PATCH, which is then refused if somebody else has changed the project."
    )

    class Meta(ProjectSummarySerializer.Meta):
        fields = [
            *ProjectSummarySerializer.Meta.fields,
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
        required=False, help_text="Archived: not listed, and nothing can be claimed."
    )
    version = serializers.CharField(required=False, max_length=64)


class MemberSerializer(serializers.ModelSerializer[Membership]):
    username = serializers.CharField(source="user.username")
    shown_name = serializers.CharField(source="user.shown_name")
    roles = serializers.ListField(child=serializers.ChoiceField(choices=Role.choices))
    reading_languages = serializers.ListField(
        source="user.reading_languages",
        child=serializers.CharField(),
        help_text="The person is only given dialogues in these languages. Empty: every language.",
    )

    class Meta:
        model = Membership
        fields = ["username", "shown_name", "roles", "group", "reading_languages", "joined_at"]


class MemberChangesInput(StrictSerializer):
    reading_languages = reading_languages_field(required=False)
    group = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=services.MAX_GROUP_NAME,
        help_text="Who labels together in this project. Empty: no group.",
    )


class RolesInput(StrictSerializer):
    roles = serializers.ListField(
        child=serializers.ChoiceField(choices=Role.choices), allow_empty=False, max_length=len(Role)
    )


class MemberInput(RolesInput):
    who = serializers.CharField(max_length=254, help_text="Sign-in name or email address.")


class InvitationInput(RolesInput):
    id = serializers.UUIDField(
        help_text="Chosen by the client. Sent again, it returns the account with a new one-time password."
    )
    username = serializers.CharField(max_length=150)
    email = serializers.EmailField(required=False, allow_blank=True, max_length=254)
    display_name = serializers.CharField(required=False, allow_blank=True, max_length=80)


class InvitationSerializer(serializers.Serializer[Any]):
    member = MemberSerializer()
    one_time_password = serializers.CharField(help_text="Shown only once. It only opens the password change.")


class RolesChangeSerializer(serializers.Serializer[Any]):
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


def serialize_project(request: Request, project: Project) -> dict[str, Any]:
    user = person(request)
    context = {
        "roles": memberships_by_project(user, [project]),
        "capabilities": capabilities_of(user, project),
    }
    return ProjectSerializer(project, context=context).data


class ProjectsView(APIView):
    pagination_class = CursorPagination

    @extend_schema(
        tags=TAG,
        operation_id="projects_list",
        parameters=[ProjectFilters],
        responses=ProjectSummarySerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        """The projects that you take part in."""
        user = person(request)

        def serialize(page: list[Project]) -> object:
            context = {"roles": memberships_by_project(user, page)}
            return ProjectSummarySerializer(page, many=True, context=context).data

        archived = validated_query(ProjectFilters, request).get("archived", False)
        return paginated_rows(self, request, projects_for(user, archived=archived), serialize)


class ProjectView(APIView):
    @extend_schema(tags=TAG, operation_id="projects_read", responses=ProjectSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """One project, with its guidelines and what you may do in it."""
        return Response(serialize_project(request, project_for(person(request), slug)))

    @extend_schema(
        tags=TAG, operation_id="projects_update", request=ProjectInput, responses=ProjectSerializer
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change title, description, language, guidelines; archive or restore. Code: changed_meanwhile."""
        user = person(request)
        project = project_for(user, slug, Capability.CONFIGURE)
        changes = validated_input(ProjectInput, request)
        archived, version = changes.pop("archived", None), changes.pop("version", None)
        if archived is not None:
            project_for(user, slug, Capability.MANAGE_MEMBERS)  # before anything is changed
        with transaction.atomic():
            project = self._change(user, project, changes, archived, version)
        return Response(serialize_project(request, project))

    def _change(
        self,
        user: User,
        project: Project,
        changes: dict[str, Any],
        archived: bool | None,
        version: str | None,
    ) -> Project:
        project = services.update_project(project=project, actor=user, changes=changes, version=version)
        if archived is not None:
            change = services.archive_project if archived else services.restore_project
            project = change(project=project, actor=user)
        return project


class MembersView(APIView):
    pagination_class = CursorPagination

    @extend_schema(tags=MEMBERS, operation_id="members_list", responses=MemberSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The members and their roles."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        return paginated_response(self, request, members_of(project), MemberSerializer)

    @extend_schema(
        tags=MEMBERS,
        operation_id="members_add",
        request=MemberInput,
        responses={201: MemberSerializer, 200: MemberSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Give a person with an account these roles; 200 if they were already a member. Code: ambiguous_person."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        fields = validated_input(MemberInput, request)
        change = services.set_member(
            project=project, actor=person(request), user=find_person(fields["who"]), roles=fields["roles"]
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
        """Create an account with a one-time password.

        Codes: username_taken, email_taken, password_is_own, id_in_use.
        """
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        fields = validated_input(InvitationInput, request)
        user, plain = services.invite_person(
            project=project, actor=person(request), invitation_id=fields.pop("id"), **fields
        )
        member = members_of(project).get(user=user)
        body = InvitationSerializer({"member": member, "one_time_password": plain}).data
        return Response(body, status=status.HTTP_201_CREATED)


class MemberView(APIView):
    @extend_schema(
        tags=MEMBERS, operation_id="members_set_roles", request=RolesInput, responses=RolesChangeSerializer
    )
    def put(self, request: Request, slug: str, username: str) -> Response:
        """Give a person exactly these roles; adds them if they are not a member. Code: last_manager."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        fields = validated_input(RolesInput, request)
        change = services.set_member(
            project=project, actor=person(request), user=find_person(username), roles=fields["roles"]
        )
        return Response(RolesChangeSerializer(serialize_change(change)).data)

    @extend_schema(
        tags=MEMBERS, operation_id="members_update", request=MemberChangesInput, responses=MemberSerializer
    )
    @transaction.atomic
    def patch(self, request: Request, slug: str, username: str) -> Response:
        """Change a member's group, or the languages that they read, here and in their other projects."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        user = find_member(project, username)
        changes = validated_input(MemberChangesInput, request)
        whose: dict[str, Any] = {"project": project, "actor": person(request), "user": user}
        if "reading_languages" in changes:
            services.set_member_languages(**whose, languages=changes["reading_languages"])
        if "group" in changes:
            services.set_group(**whose, group=changes["group"])
        return Response(MemberSerializer(members_of(project).get(user=user)).data)

    @extend_schema(tags=MEMBERS, operation_id="members_remove", responses={200: RolesChangeSerializer})
    def delete(self, request: Request, slug: str, username: str) -> Response:
        """End the membership. The person's work stays. Code: last_manager."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        change = services.remove_member(
            project=project, actor=person(request), user=find_member(project, username)
        )
        return Response(RolesChangeSerializer(serialize_change(change)).data)


def serialize_change(change: services.RolesChange) -> dict[str, Any]:
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
        """The events of the project and who caused them, newest first."""
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
