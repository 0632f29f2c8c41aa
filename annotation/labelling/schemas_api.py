"""REST API of a labelling project's questions."""

from typing import Any

from django.http import HttpResponseBase
from django.urls import path
from django.utils.cache import get_conditional_response
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from annotation.labelling.models.labels import Schema
from annotation.labelling.schema.errors import InvalidSchema, ProblemCollector
from annotation.labelling.schema.reading import read_schema
from annotation.labelling.schema.yaml_text import MAX_TEXT, parse_yaml, read_yaml
from annotation.labelling.selectors.schemas import (
    NEWEST_VERSION,
    current_schema,
    get_schema_version,
    load_schema,
    schema_versions,
)
from annotation.labelling.services.schemas import save_schema, use_schema
from common.refusals import Invalid
from common.rest.pagination import CursorPagination, paginated_response
from common.rest.serializers import StrictSerializer, validated_input
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Schemas"]


class Newest(CursorPagination):
    ordering = "-version"


class QuestionsInput(StrictSerializer):
    content = serializers.JSONField(
        required=False, help_text='{"questions": […]}; see the documentation of schemas.'
    )
    yaml = serializers.CharField(
        required=False, trim_whitespace=False, max_length=MAX_TEXT, help_text="The same as YAML."
    )

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if ("content" in data) == ("yaml" in data):
            raise serializers.ValidationError(_("Send either content or yaml."))
        return data


class SchemaInput(QuestionsInput):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first result.")
    use = serializers.BooleanField(required=False, help_text="New work is done under it; true if left out.")
    based_on = serializers.CharField(
        required=False,
        max_length=64,
        help_text="sha256 of the newest version that you know; refused (schema_newer) where there is a newer one.",
    )


class VersionInput(StrictSerializer):
    version = serializers.IntegerField(min_value=1, max_value=NEWEST_VERSION)


class VersionSerializer(serializers.ModelSerializer[Schema]):
    created_by = serializers.CharField(source="created_by.username", allow_null=True, default=None)
    answered = serializers.IntegerField(help_text="How many submissions answer this version now.")

    class Meta:
        model = Schema
        fields = ["version", "sha256", "created_by", "created_at", "used_at", "answered"]


class SchemaSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    sha256 = serializers.CharField(help_text="Of the content; also the ETag.")
    content = serializers.JSONField()


class SavedSerializer(SchemaSerializer):
    is_new = serializers.BooleanField(help_text="False: nothing had to be stored.")
    used_at = serializers.DateTimeField(allow_null=True)


class ProblemInSchema(serializers.Serializer[Any]):
    path = serializers.CharField(allow_blank=True, help_text="questions[2].options[0].text.zh")
    line = serializers.IntegerField(allow_null=True, help_text="Of the YAML, from 1.")
    message = serializers.CharField()
    remedy = serializers.CharField(allow_blank=True)


class CheckedSerializer(serializers.Serializer[Any]):
    content = serializers.JSONField(allow_null=True, help_text="Canonical; null where there are problems.")
    problems = ProblemInSchema(many=True)
    parsed = serializers.JSONField(
        allow_null=True, help_text="What the text says, right or not; null: unreadable."
    )


def shown(row: Schema) -> dict[str, Any]:
    return {"version": row.version, "sha256": row.sha256, "content": load_schema(row).content}


class SchemasView(APIView):
    pagination_class = Newest

    @extend_schema(tags=TAG, operation_id="schemas_list", responses=VersionSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The versions, newest first."""
        project = project_for(person(request), slug, Capability.CONFIGURE)
        return paginated_response(self, request, schema_versions(project), VersionSerializer)

    @extend_schema(
        tags=TAG,
        operation_id="schemas_save",
        request=SchemaInput,
        responses={200: SavedSerializer, 201: SavedSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Save questions as the next version, or in place of the newest one while nobody uses it.

        Codes: invalid (`problems` lists each with path, line, message and remedy), no_schema,
        schema_newer.
        """
        project = project_for(person(request), slug, Capability.CONFIGURE)
        sent = validated_input(SchemaInput, request)
        saved = save_schema(
            project=project,
            actor=person(request),
            content=_content_of(sent),
            save_id=sent["id"],
            use=sent.get("use", True),
            based_on=sent.get("based_on", ""),
        )
        answer = {**shown(saved.row), "is_new": saved.is_new, "used_at": saved.row.used_at}
        return Response(answer, status=status.HTTP_201_CREATED if saved.is_new else status.HTTP_200_OK)


def _content_of(sent: dict[str, Any]) -> Any:
    if "yaml" in sent:
        return sent["yaml"]
    if not isinstance(sent["content"], dict):
        raise Invalid(
            _("The content is no object."), _('Send {"questions": […]}.'), field="content", problems=[]
        )
    return sent["content"]


class CheckView(APIView):
    @extend_schema(
        tags=TAG, operation_id="schemas_check", request=QuestionsInput, responses=CheckedSerializer
    )
    def post(self, request: Request, slug: str) -> Response:
        """Say what is wrong with questions, storing nothing."""
        project_for(person(request), slug, Capability.CONFIGURE)
        content = _content_of(validated_input(QuestionsInput, request))
        try:
            schema = read_yaml(content) if isinstance(content, str) else read_schema(content)
        except InvalidSchema as errors:
            problems = [one.as_dict() for one in errors.problems]
            return Response({"content": None, "problems": problems, "parsed": _data_of(content)})
        return Response({"content": schema.content, "problems": [], "parsed": schema.content})


def _data_of(content: Any) -> Any:
    if not isinstance(content, str):
        return content
    found = ProblemCollector({})
    data = parse_yaml(content, found)
    return None if found.problems else data


class SchemaView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="schemas_read",
        responses={200: SchemaSerializer, 304: OpenApiResponse(description="Still the same.")},
    )
    def get(self, request: Request, slug: str, version: int) -> HttpResponseBase:
        """One version's questions. Send its ETag as If-None-Match to be told that they are still the same."""
        row = get_schema_version(project_for(person(request), slug), min(version, NEWEST_VERSION))
        etag = f'"{row.sha256}"'
        answer = Response(shown(row), headers={"ETag": etag, "Cache-Control": "private, no-cache"})
        return get_conditional_response(request._request, etag=etag, response=answer) or answer


class CurrentView(APIView):
    @extend_schema(tags=TAG, operation_id="schemas_current", responses=SchemaSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """The questions that new work is done under."""
        project = project_for(person(request), slug)
        row = current_schema(project)
        return Response(shown(row if row else get_schema_version(project, 1)))

    @extend_schema(tags=TAG, operation_id="schemas_use", request=VersionInput, responses=SchemaSerializer)
    def put(self, request: Request, slug: str) -> Response:
        """Do new work under this version. Code: no_schema."""
        project = project_for(person(request), slug, Capability.CONFIGURE)
        version = validated_input(VersionInput, request)["version"]
        return Response(shown(use_schema(project=project, actor=person(request), version=version)))


urlpatterns = [
    path("projects/<slug:slug>/schemas/", SchemasView.as_view()),
    path("projects/<slug:slug>/schemas/check/", CheckView.as_view()),
    path("projects/<slug:slug>/schemas/current/", CurrentView.as_view()),
    path("projects/<slug:slug>/schemas/<int:version>/", SchemaView.as_view()),
]
