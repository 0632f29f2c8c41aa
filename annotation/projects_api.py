"""Making projects and setting how they work. POST shares the address of the list, which is projects.api's."""

from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.errors import NotAllowed
from accounts.rest.person import person
from accounts.rest.shapes import Strict, checked
from annotation.models import AuthoringSettings
from annotation.presets import PRESETS
from annotation.selectors.authoring import authoring_of
from annotation.services.configuring import EDITABLE, update_authoring
from annotation.services.planning import create_project
from generation.selectors import servable_generators
from projects import api as projects_api
from projects.models import DialogueLanguage
from projects.roles import Capability
from projects.selectors import may_create_projects, project_for


class NewProjectInput(Strict):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first project.")
    slug = serializers.RegexField(
        r"^[a-z0-9][a-z0-9_-]*$",
        max_length=80,
        help_text="Small letters, digits, - and _; used in addresses.",
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
        """Make a project and become its manager. Codes: slug_taken, not_allowed (for managers of a project)."""
        user, sent = person(request), checked(NewProjectInput, request)
        if not may_create_projects(user):
            raise NotAllowed(
                _("Only managers make projects."), _("Ask one of them, or whoever runs this server.")
            )
        project = create_project(actor=user, creation_id=sent.pop("id"), **sent)
        return Response(projects_api.shown(request, project), status=status.HTTP_201_CREATED)


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
        help_text="Writes half of the candidates, so that two models are compared; null: none.",
    )

    class Meta:
        model = AuthoringSettings
        fields = EDITABLE


class AuthoringInput(Strict, AuthoringSerializer):
    pass


class AuthoringView(APIView):
    @extend_schema(tags=projects_api.TAG, operation_id="authoring_read", responses=AuthoringSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """How dialogues are written in this project."""
        project = project_for(person(request), slug, Capability.CONFIGURE)
        return Response(AuthoringSerializer(authoring_of(project)).data)

    @extend_schema(
        tags=projects_api.TAG,
        operation_id="authoring_update",
        request=AuthoringInput(partial=True),
        responses=AuthoringSerializer,
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change some of it; it holds from the next turn on."""
        project = project_for(person(request), slug, Capability.CONFIGURE)
        sent = AuthoringInput(authoring_of(project), data=request.data, partial=True)
        sent.is_valid(raise_exception=True)
        settings = update_authoring(project=project, actor=person(request), changes=sent.validated_data)
        return Response(AuthoringSerializer(settings).data)


urlpatterns = [
    path("projects/", ProjectsView.as_view()),
    path("projects/<slug:slug>/authoring/", AuthoringView.as_view()),
]
