"""REST API of the settings of a labelling project, and of changing the dialogues that are not labelled yet."""

from typing import Any
from uuid import UUID

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from annotation.labelling.models.labels import LabellingSettings
from annotation.labelling.selectors.replanning import Replan, preview_replan
from annotation.labelling.selectors.settings import labelling_project
from annotation.labelling.services.planning import MAX_OVERLAP, plan_labelling
from annotation.labelling.services.replan_undo import undo_replan
from annotation.labelling.services.replanning import MAX_PRIORITY, check_replan, replan_tasks
from annotation.labelling.services.settings import LABELLING_SETTINGS, update_labelling
from common.rest.serializers import StrictSerializer, validated_input, validated_query
from projects import api as projects_api
from projects.roles import Capability


class LabellingSettingsSerializer(serializers.ModelSerializer[LabellingSettings]):
    class Meta:
        model = LabellingSettings
        fields = LABELLING_SETTINGS


class LabellingSettingsInput(StrictSerializer, LabellingSettingsSerializer):
    pass


class LabellingSettingsView(APIView):
    @extend_schema(
        tags=projects_api.TAG,
        operation_id="labelling_settings_read",
        responses=LabellingSettingsSerializer,
    )
    def get(self, request: Request, slug: str) -> Response:
        """How dialogues are labelled in this project."""
        project = labelling_project(person(request), slug, Capability.CONFIGURE)
        return Response(LabellingSettingsSerializer(project.labelling).data)

    @extend_schema(
        tags=projects_api.TAG,
        operation_id="labelling_settings_update",
        request=LabellingSettingsInput(partial=True),
        responses=LabellingSettingsSerializer,
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change some settings. The overlap applies to tasks that are created afterwards; see `replans`."""
        project = labelling_project(person(request), slug, Capability.CONFIGURE)
        sent = LabellingSettingsInput(project.labelling, data=request.data, partial=True)
        sent.is_valid(raise_exception=True)
        settings = update_labelling(project=project, actor=person(request), changes=sent.validated_data)
        return Response(LabellingSettingsSerializer(settings).data)


class LabellingPlanInput(StrictSerializer):
    plan_id = serializers.UUIDField(help_text="Made by the client; a second send adds nothing.")
    overlap = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_OVERLAP,
        help_text="People per dialogue; the project's setting if missing.",
    )
    group = serializers.CharField(
        required=False, allow_blank=True, max_length=40, help_text="Only these annotators; empty: anybody."
    )
    priority = serializers.IntegerField(
        required=False, min_value=-MAX_PRIORITY, max_value=MAX_PRIORITY, help_text="Smaller comes first."
    )


class LabellingPlanSerializer(serializers.Serializer[Any]):
    made = serializers.IntegerField(help_text="Dialogues that can be labelled now.")


class LabellingPlanView(APIView):
    @extend_schema(
        tags=projects_api.TAG,
        operation_id="labelling_plan",
        request=LabellingPlanInput,
        responses={201: LabellingPlanSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Let people label the dialogues that nobody can label yet. Code: id_in_use."""
        project = labelling_project(person(request), slug, Capability.CONFIGURE)
        sent = validated_input(LabellingPlanInput, request)
        made = plan_labelling(project=project, actor=person(request), **sent)
        return Response({"made": made}, status=status.HTTP_201_CREATED)


class ReplanValues(serializers.Serializer[Any]):
    overlap = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_OVERLAP, help_text="People per dialogue."
    )
    group = serializers.CharField(
        required=False, allow_blank=True, max_length=40, help_text="Only these annotators; empty: anybody."
    )
    priority = serializers.IntegerField(
        required=False, min_value=-MAX_PRIORITY, max_value=MAX_PRIORITY, help_text="Smaller comes first."
    )
    of_group = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=40,
        help_text="Change only the dialogues of this group; empty: only those for anybody.",
    )
    of_import = serializers.UUIDField(required=False, help_text="Change only the dialogues of this import.")
    of_dialogues = serializers.ListField(
        required=False,
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1),
        allow_empty=False,
        max_length=1000,
        help_text="Change only these dialogues.",
    )


class ReplanInput(StrictSerializer, ReplanValues):
    id = serializers.UUIDField(help_text="Made by the client; a second send changes nothing.")


class ReplanPreviewSerializer(serializers.Serializer[Any]):
    tasks = serializers.IntegerField(help_text="Not done yet and selected.")
    changed = serializers.IntegerField(help_text="Those with other values afterwards.")
    added = serializers.IntegerField(help_text="Assignments to give out, more than now.")
    removed = serializers.IntegerField(help_text="Assignments to give out, fewer than now.")
    kept_larger = serializers.IntegerField(
        help_text="More people hold or have labelled them than `overlap`; they keep those people."
    )
    completed = serializers.IntegerField(help_text="They have enough labels at once.")
    in_batches = serializers.IntegerField(help_text="They keep the group of their batch.")
    unread = serializers.IntegerField(
        help_text="In languages that none of their annotators reads: nobody gets them."
    )
    short = serializers.IntegerField(
        help_text="They then want more people than there are annotators: they cannot be finished."
    )


class ReplanResultSerializer(serializers.Serializer[Any]):
    changed = serializers.IntegerField()
    added = serializers.IntegerField()
    removed = serializers.IntegerField()
    job = serializers.UUIDField(
        source="job.pk",
        default=None,
        allow_null=True,
        help_text="Resolves tasks that have enough labels now.",
    )


class ReplansView(APIView):
    @extend_schema(
        tags=projects_api.TAG,
        operation_id="replans_preview",
        parameters=[ReplanValues],
        responses=ReplanPreviewSerializer,
    )
    def get(self, request: Request, slug: str) -> Response:
        """What the change would do. Nothing is changed; send the same values with POST to do it."""
        project = labelling_project(person(request), slug, Capability.CONFIGURE)
        replan = Replan(**validated_query(ReplanValues, request))
        check_replan(project, replan)
        return Response(ReplanPreviewSerializer(preview_replan(project, replan)).data)

    @extend_schema(
        tags=projects_api.TAG,
        operation_id="replans_create",
        request=ReplanInput,
        responses=ReplanResultSerializer,
    )
    def post(self, request: Request, slug: str) -> Response:
        """Change overlap, group or priority of the dialogues that are not labelled yet. Code: id_in_use."""
        project = labelling_project(person(request), slug, Capability.CONFIGURE)
        sent = validated_input(ReplanInput, request)
        done = replan_tasks(
            project=project, actor=person(request), request_id=sent.pop("id"), replan=Replan(**sent)
        )
        return Response(ReplanResultSerializer(done).data)


class ReplanUndoInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send changes nothing.")


class UndoneReplanSerializer(ReplanResultSerializer):
    kept = serializers.IntegerField(help_text="Changed or finished since; they stay as they are.")


class ReplanUndoView(APIView):
    @extend_schema(
        tags=projects_api.TAG,
        operation_id="replans_undo",
        request=ReplanUndoInput,
        responses=UndoneReplanSerializer,
    )
    def post(self, request: Request, slug: str, pk: UUID) -> Response:
        """Give the dialogues their former overlap, group and priority, unless they were changed or finished since.

        Codes: already_undone, cannot_undo (the change was too large to be kept), id_in_use.
        """
        project = labelling_project(person(request), slug, Capability.CONFIGURE)
        sent = validated_input(ReplanUndoInput, request)
        done = undo_replan(project=project, actor=person(request), request_id=sent["id"], undone=pk)
        return Response(UndoneReplanSerializer(done).data)


urlpatterns = [
    path("projects/<slug:slug>/labelling/", LabellingSettingsView.as_view()),
    path("projects/<slug:slug>/labelling/plan/", LabellingPlanView.as_view()),
    path("projects/<slug:slug>/labelling/replans/", ReplansView.as_view()),
    path("projects/<slug:slug>/labelling/replans/<uuid:pk>/undo/", ReplanUndoView.as_view()),
]
