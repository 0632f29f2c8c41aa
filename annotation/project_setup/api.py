"""REST API of new projects. POST has the address of the list of projects, whose GET is in projects.api."""

from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from annotation.authoring.settings_api import AuthoringView
from annotation.project_setup.copying import copy_project
from annotation.project_setup.presets.registry import PRESETS
from annotation.project_setup.services import create_project
from common.refusals import NotAllowed
from common.rest.serializers import StrictSerializer, validated_input
from projects import api as projects_api
from projects.models import DialogueLanguage
from projects.roles import Capability
from projects.selectors import may_create_projects, project_for


class NewProjectInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first project.")
    slug = serializers.RegexField(
        r"^[a-z0-9][a-z0-9_-]*$",
        max_length=80,
        help_text="Lower-case letters, digits, - and _; used in addresses.",
    )
    preset = serializers.ChoiceField(choices=sorted(PRESETS), help_text="What the project starts with.")
    title = serializers.CharField(required=False, allow_blank=True, max_length=200)
    description = serializers.CharField(required=False, allow_blank=True, max_length=20_000)
    language = serializers.ChoiceField(required=False, choices=DialogueLanguage.choices)


class ProjectsView(projects_api.ProjectsView):
    @extend_schema(
        tags=projects_api.TAG,
        operation_id="projects_create",
        request=NewProjectInput,
        responses={201: projects_api.ProjectSerializer},
    )
    def post(self, request: Request) -> Response:
        """Create a project and become its manager. Codes: slug_taken, id_in_use, not_allowed."""
        user = person(request)
        if not may_create_projects(user):
            raise NotAllowed(
                _("Only managers create projects."), _("Ask one of them, or whoever runs this server.")
            )
        sent = validated_input(NewProjectInput, request)
        project = create_project(actor=user, creation_id=sent.pop("id"), **sent)
        return Response(projects_api.serialize_project(request, project), status=status.HTTP_201_CREATED)


class CopyInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first copy.")
    slug = serializers.RegexField(r"^[a-z0-9][a-z0-9_-]*$", max_length=80)
    title = serializers.CharField(required=False, allow_blank=True, max_length=200)
    with_people = serializers.BooleanField(
        required=False, help_text="Members come along, with roles and groups."
    )


class CopiesView(APIView):
    @extend_schema(
        tags=projects_api.TAG,
        operation_id="projects_copy",
        request=CopyInput,
        responses={201: projects_api.ProjectSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Create a project with the settings, questions and guidelines of this one. Codes: slug_taken, id_in_use."""
        user = person(request)
        source = project_for(user, slug, Capability.MANAGE_MEMBERS)
        sent = {"title": "", **validated_input(CopyInput, request)}
        project = copy_project(source=source, actor=user, creation_id=sent.pop("id"), **sent)
        return Response(projects_api.serialize_project(request, project), status=status.HTTP_201_CREATED)


urlpatterns = [
    path("projects/<slug:slug>/copies/", CopiesView.as_view()),
    path("projects/", ProjectsView.as_view()),
    path("projects/<slug:slug>/authoring/", AuthoringView.as_view()),
]
