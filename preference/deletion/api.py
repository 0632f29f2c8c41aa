"""REST API of deleting a project."""

from typing import Any
from uuid import UUID

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from common.rest.serializers import StrictSerializer, validated_input
from jobs.models import Job
from jobs.services import cancel_job
from preference.deletion.project_deletion import blockers_of, count_contents, delete_project, deletion_for
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Projects"]


class ProjectDeletionInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; becomes the id of the job.")
    slug = serializers.CharField(help_text="The short name of the project, to confirm.")


class ProjectDeletionPreviewSerializer(serializers.Serializer[Any]):
    goes = serializers.DictField(child=serializers.IntegerField(), help_text="Rows that go with it, by kind.")
    blockers = serializers.ListField(child=serializers.CharField(), help_text="Why it cannot be deleted yet.")


class ProjectDeletionSerializer(serializers.ModelSerializer[Job]):
    slug = serializers.CharField(source="parameters.slug")

    class Meta:
        model = Job
        fields = [
            "id",
            "slug",
            "state",
            "done",
            "total",
            "result",
            "error",
            "remedy",
            "created_at",
            "ended_at",
        ]


class ProjectDeletionView(APIView):
    @extend_schema(
        tags=TAG, operation_id="projects_deletion_preview", responses=ProjectDeletionPreviewSerializer
    )
    def get(self, request: Request, slug: str) -> Response:
        """What deleting the project removes, and what keeps it from being deleted. For managers."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        return Response({"goes": count_contents(project), "blockers": blockers_of(project)})

    @extend_schema(
        tags=TAG,
        operation_id="projects_delete",
        request=ProjectDeletionInput,
        responses={202: ProjectDeletionSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Delete an archived project with everything in it, in a job. For managers. Codes: not_deletable, id_in_use."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        sent = validated_input(ProjectDeletionInput, request)
        job = delete_project(project=project, actor=person(request), request_id=sent["id"], slug=sent["slug"])
        return Response(ProjectDeletionSerializer(job).data, status=status.HTTP_202_ACCEPTED)


class DeletionJobView(APIView):
    @extend_schema(tags=TAG, operation_id="project_deletions_read", responses=ProjectDeletionSerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """How far the deletion is. For the person who started it."""
        return Response(ProjectDeletionSerializer(deletion_for(person(request), pk)).data)


class DeletionCancelView(APIView):
    @extend_schema(
        tags=TAG, operation_id="project_deletions_cancel", request=None, responses=ProjectDeletionSerializer
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Cancel the deletion before a worker has begun. Code: not_stoppable."""
        job = cancel_job(job=deletion_for(person(request), pk), actor=person(request))
        return Response(ProjectDeletionSerializer(job).data)


urlpatterns = [
    path("projects/<slug:slug>/deletion/", ProjectDeletionView.as_view()),
    path("project-deletions/<uuid:pk>/", DeletionJobView.as_view()),
    path("project-deletions/<uuid:pk>/cancel/", DeletionCancelView.as_view()),
]
