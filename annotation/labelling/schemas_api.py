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


class NewestVersions(CursorPagination):
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
    id = serializers.UUIDField(help_text="Created by the client; sending it again returns the first result.")
    use = serializers.BooleanField(
        required=False, help_text="Whether new work uses this version; true by default."
    )
    based_on = serializers.CharField(
        required=False,
        max_length=64,
        help_text="sha256 of the newest version that you have seen; refused (schema_newer) if there is a newer one.",
    )


class VersionInput(StrictSerializer):
    version = serializers.IntegerField(min_value=1, max_value=NEWEST_VERSION)


class SchemaVersionSerializer(serializers.ModelSerializer[Schema]):
    created_by = serializers.CharField(source="created_by.username", allow_null=True, default=None)
    answered = serializers.IntegerField(help_text="Number of current submissions for this version.")

    class Meta:
        model = Schema
        fields = ["version", "sha256", "created_by", "created_at", "used_at", "answered"]


class SchemaSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    sha256 = serializers.CharField(help_text="Of the content; also the ETag.")
    content = serializers.JSONField()


class SavedSchemaSerializer(SchemaSerializer):
    is_new = serializers.BooleanField(help_text="False if nothing had to be stored.")
    used_at = serializers.DateTimeField(allow_null=True)


class SchemaProblemSerializer(serializers.Serializer[Any]):
    path = serializers.CharField(allow_blank=True, help_text="questions[2].options[0].text.zh")
    line = serializers.IntegerField(allow_null=True, help_text="Of the YAML, from 1.")
    message = serializers.CharField()
    remedy = serializers.CharField(allow_blank=True)


class SchemaCheckSerializer(serializers.Serializer[Any]):
    content = serializers.JSONField(allow_null=True, help_text="Canonical; null if there are problems.")
    problems = SchemaProblemSerializer(many=True)
    parsed = serializers.JSONField(
        allow_null=True, help_text="The parsed text, valid or not; null if it cannot be parsed."
    )


def serialize_schema(row: Schema) -> dict[str, Any]:
    return {"version": row.version, "sha256": row.sha256, "content": load_schema(row).content}


class SchemasView(APIView):
    pagination_class = NewestVersions

    @extend_schema(tags=TAG, operation_id="schemas_list", responses=SchemaVersionSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The versions, newest first."""
        project = project_for(person(request), slug, Capability.CONFIGURE)
        return paginated_response(self, request, schema_versions(project), SchemaVersionSerializer)

    @extend_schema(
        tags=TAG,
        operation_id="schemas_save",
        request=SchemaInput,
        responses={200: SavedSchemaSerializer, 201: SavedSchemaSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Save questions as the next version, or replace the newest one while nobody uses it.

        Codes: invalid (`problems` lists each with path, line, message and remedy), no_schema, schema_newer, id_in_use.
        """
        project = project_for(person(request), slug, Capability.CONFIGURE)
        sent = validated_input(SchemaInput, request)
        saved = save_schema(
            project=project,
            actor=person(request),
            content=_sent_content(sent),
            save_id=sent["id"],
            use=sent.get("use", True),
            based_on=sent.get("based_on", ""),
        )
        body = {**serialize_schema(saved.row), "is_new": saved.is_new, "used_at": saved.row.used_at}
        return Response(body, status=status.HTTP_201_CREATED if saved.is_new else status.HTTP_200_OK)


def _sent_content(sent: dict[str, Any]) -> Any:
    if "yaml" in sent:
        return sent["yaml"]
    if not isinstance(sent["content"], dict):
        raise Invalid(
            _("The content must be an object."), _('Send {"questions": […]}.'), field="content", problems=[]
        )
    return sent["content"]


class CheckView(APIView):
    @extend_schema(
        tags=TAG, operation_id="schemas_check", request=QuestionsInput, responses=SchemaCheckSerializer
    )
    def post(self, request: Request, slug: str) -> Response:
        """Check questions without storing them."""
        project_for(person(request), slug, Capability.CONFIGURE)
        content = _sent_content(validated_input(QuestionsInput, request))
        try:
            schema = read_yaml(content) if isinstance(content, str) else read_schema(content)
        except InvalidSchema as errors:
            problems = [problem.as_dict() for problem in errors.problems]
            return Response({"content": None, "problems": problems, "parsed": _parsed_content(content)})
        return Response({"content": schema.content, "problems": [], "parsed": schema.content})


def _parsed_content(content: Any) -> Any:
    if not isinstance(content, str):
        return content
    problems = ProblemCollector({})
    data = parse_yaml(content, problems)
    return None if problems.found else data


class SchemaView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="schemas_read",
        responses={200: SchemaSerializer, 304: OpenApiResponse(description="Not changed.")},
    )
    def get(self, request: Request, slug: str, version: int) -> HttpResponseBase:
        """One version's questions. Send its ETag as If-None-Match to get 304 if they have not changed."""
        row = get_schema_version(project_for(person(request), slug), min(version, NEWEST_VERSION))
        etag = f'"{row.sha256}"'
        response = Response(
            serialize_schema(row), headers={"ETag": etag, "Cache-Control": "private, no-cache"}
        )
        return get_conditional_response(request._request, etag=etag, response=response) or response


class CurrentView(APIView):
    @extend_schema(tags=TAG, operation_id="schemas_current", responses=SchemaSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """The questions that new work uses."""
        project = project_for(person(request), slug)
        row = current_schema(project)
        return Response(serialize_schema(row if row else get_schema_version(project, 1)))

    @extend_schema(tags=TAG, operation_id="schemas_use", request=VersionInput, responses=SchemaSerializer)
    def put(self, request: Request, slug: str) -> Response:
        """Use this version for new work. Code: no_schema."""
        project = project_for(person(request), slug, Capability.CONFIGURE)
        version = validated_input(VersionInput, request)["version"]
        return Response(serialize_schema(use_schema(project=project, actor=person(request), version=version)))


urlpatterns = [
    path("projects/<slug:slug>/schemas/", SchemasView.as_view()),
    path("projects/<slug:slug>/schemas/check/", CheckView.as_view()),
    path("projects/<slug:slug>/schemas/current/", CurrentView.as_view()),
    path("projects/<slug:slug>/schemas/<int:version>/", SchemaView.as_view()),
]
