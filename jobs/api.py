"""REST API of jobs: progress, cancel, retry. Imports, exports and other rooms start their own jobs."""

from functools import cached_property
from typing import Any, Literal
from uuid import UUID

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from common.rest.pagination import NewestByTime, paginated_response
from common.rest.serializers import validated_query
from jobs.broker import broker_answers
from jobs.models import Job, JobState
from jobs.selectors import job_for, job_to_manage, jobs_of, served_queues
from jobs.services import cancel_job, retry_job
from projects.selectors import project_for

TAG = ["Jobs"]


class JobFilters(serializers.Serializer[Any]):
    state = serializers.ChoiceField(required=False, allow_blank=True, choices=JobState.choices)
    kind = serializers.CharField(
        required=False, allow_blank=True, max_length=40, help_text="Kind of job: import, export …"
    )


class JobSerializer(serializers.ModelSerializer[Job]):
    project = serializers.CharField(source="project.slug")
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)
    parameters = serializers.JSONField()
    result = serializers.JSONField()
    waits_for = serializers.SerializerMethodField(
        help_text="Of a queued job: queue (Redis cannot be reached), worker (none serves its queue), else empty. "
        "The job is kept and starts by itself."
    )

    class Meta:
        model = Job
        fields = [
            "id", "project", "kind", "queue", "state", "done", "total", "unit", "parameters", "result", "error",
            "remedy", "attempts", "created_by", "created_at", "started_at", "heartbeat_at",
            "cancel_requested_at", "ended_at", "waits_for",
        ]  # fmt: skip

    @cached_property
    def _served_queues(self) -> set[str]:
        return served_queues()

    def get_waits_for(self, job: Job) -> Literal["", "queue", "worker"]:
        if job.state != JobState.QUEUED:
            return ""
        if not broker_answers():
            return "queue"
        return "" if job.queue in self._served_queues else "worker"


class JobsView(APIView):
    pagination_class = NewestByTime

    @extend_schema(
        tags=TAG, operation_id="jobs_list", parameters=[JobFilters], responses=JobSerializer(many=True)
    )
    def get(self, request: Request, slug: str) -> Response:
        """The project's jobs, newest first."""
        user = person(request)
        jobs = jobs_of(user, project_for(user, slug), **validated_query(JobFilters, request))
        return paginated_response(self, request, jobs, JobSerializer)


class JobView(APIView):
    @extend_schema(tags=TAG, operation_id="jobs_read", responses=JobSerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """Poll every second or two until `state` is done, failed or cancelled."""
        return Response(JobSerializer(job_for(person(request), pk)).data)


class CancelView(APIView):
    @extend_schema(tags=TAG, operation_id="jobs_cancel", request=None, responses={200: JobSerializer})
    def post(self, request: Request, pk: UUID) -> Response:
        """Cancel the job; a running job stops at its next safe point. Safe to repeat."""
        job = cancel_job(job=job_to_manage(person(request), pk), actor=person(request))
        return Response(JobSerializer(job).data)


class RetryView(APIView):
    @extend_schema(tags=TAG, operation_id="jobs_retry", request=None, responses={200: JobSerializer})
    def post(self, request: Request, pk: UUID) -> Response:
        """Put a failed or cancelled job back into the queue. Code: illegal_move (it is done)."""
        job = retry_job(job=job_to_manage(person(request), pk), actor=person(request))
        return Response(JobSerializer(job).data)


urlpatterns = [
    path("projects/<slug:slug>/jobs/", JobsView.as_view()),
    path("jobs/<uuid:pk>/", JobView.as_view()),
    path("jobs/<uuid:pk>/cancel/", CancelView.as_view()),
    path("jobs/<uuid:pk>/retry/", RetryView.as_view()),
]
