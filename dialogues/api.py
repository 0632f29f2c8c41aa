"""REST API of dialogues and imports."""

import io
from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID

from django.http import StreamingHttpResponse
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import parsers, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from common.rest.pagination import CursorPagination, NewestByTime, paginated_response, paginated_rows
from common.rest.parsers import RAW, RawParser
from common.rest.problems import CONTENT_TYPE, ProblemSerializer
from common.rest.serializers import StrictSerializer, validated_input, validated_query
from dialogues.models import CandidateSet, DeletedDialogue
from dialogues.parsing.formats import FORMATS
from dialogues.selectors import (
    candidate_sets_of,
    deletable_dialogue_for,
    deletion_for,
    deletions_of,
    dialogue_for,
    dialogues_of,
    import_for,
    imports_of,
    refused_rows_of,
    replies_to,
    search_dialogues,
    utterances_of,
)
from dialogues.serializers import (
    LANGUAGE_HELP,
    MAP_HELP,
    CandidateSetSerializer,
    DialogueDetailSerializer,
    DialogueFilters,
    DialogueSerializer,
    ImportForm,
    ImportQuery,
    ImportSerializer,
    ListedDialogueSerializer,
    RefusedRowSerializer,
    stream_errors_csv,
)
from dialogues.services import uploads
from dialogues.services.deleting import delete_dialogue, deletion_preview
from dialogues.services.imports import start_import
from dialogues.services.languages import set_missing_language
from dialogues.services.undoing import undo_import, undo_preview
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Dialogues"]
IMPORTS = ["Imports"]
RAW_ONLY = "With application/octet-stream only; in a form it is a field."
RAW_PARAMETERS = [
    OpenApiParameter("id", OpenApiTypes.UUID, description=RAW_ONLY),
    OpenApiParameter("format", enum=list(FORMATS), description=RAW_ONLY),
    OpenApiParameter("on_error", enum=["skip", "stop"], description=RAW_ONLY),
    OpenApiParameter("run", OpenApiTypes.INT, description=RAW_ONLY),
    OpenApiParameter("map", description=f"{RAW_ONLY} {MAP_HELP}"),
    OpenApiParameter("language", description=f"{RAW_ONLY} {LANGUAGE_HELP}"),
    OpenApiParameter("name", description=RAW_ONLY),
]
DISK_FULL: Mapping[Any, Any] = {(507, CONTENT_TYPE): ProblemSerializer}


class ImportsView(APIView):
    pagination_class = NewestByTime
    parser_classes = (parsers.MultiPartParser, RawParser)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        # Before authentication, which reads the form for a CSRF token: a file that is too large is refused unread.
        if request.method == "POST":
            uploads.check_content_length(request.META.get("CONTENT_LENGTH"))
        super().initial(request, *args, **kwargs)

    def handle_exception(self, exc: Exception) -> Response:
        # The parser also writes to the disk, long before the service does.
        if isinstance(exc, OSError) and uploads.is_full_disk(exc):
            exc = uploads.disk_full()
        return super().handle_exception(exc)

    @extend_schema(tags=IMPORTS, operation_id="imports_list", responses=ImportSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The project's imports, newest first."""
        project = project_for(person(request), slug, Capability.IMPORT)
        return paginated_response(self, request, imports_of(project), ImportSerializer)

    @extend_schema(
        tags=IMPORTS,
        operation_id="imports_start",
        parameters=RAW_PARAMETERS,
        request={"multipart/form-data": ImportForm, RAW: OpenApiTypes.BINARY},
        responses={202: ImportSerializer, **DISK_FULL},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Send a file and start its import; follow `state`, stop it with `/jobs/{id}/cancel/`.

        As multipart/form-data, or the file alone as application/octet-stream with the other fields in the query.
        Codes: too_large (413), disk_full (507), archived, id_in_use.
        """
        project = project_for(person(request), slug, Capability.IMPORT)
        file, fields = self._read_body(request)
        job = start_import(
            project=project,
            actor=person(request),
            source=file,
            name=fields["name"] or getattr(file, "name", None) or str(fields["id"]),
            format=fields["format"],
            on_error=fields["on_error"],
            run=fields["run"],
            map=fields["map"],
            language=fields["language"],
            submission_id=fields["id"],
        )
        return Response(ImportSerializer(job).data, status=status.HTTP_202_ACCEPTED)

    def _read_body(self, request: Request) -> tuple[Any, dict[str, Any]]:
        if (request.content_type or "").partition(";")[0].strip() == RAW:
            body = cast(dict[str, Any], request.data)  # an empty QueryDict if there is no body
            return body.get("file", io.BytesIO()), validated_query(ImportQuery, request)
        form = validated_input(ImportForm, request)
        return form.pop("file"), form


class ImportView(APIView):
    @extend_schema(tags=IMPORTS, operation_id="imports_read", responses=ImportSerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """Poll every second or two until `state` is done, failed or cancelled."""
        return Response(ImportSerializer(import_for(person(request), pk)).data)


class ImportErrorsView(APIView):
    pagination_class = CursorPagination

    @extend_schema(tags=IMPORTS, operation_id="imports_errors", responses=RefusedRowSerializer(many=True))
    def get(self, request: Request, pk: UUID) -> Response:
        """The refused rows in the order of the file; at most 100,000."""
        return paginated_response(
            self, request, refused_rows_of(import_for(person(request), pk)), RefusedRowSerializer
        )


class ImportErrorsCsvView(APIView):
    @extend_schema(
        tags=IMPORTS, operation_id="imports_errors_csv", responses={(200, "text/csv"): OpenApiTypes.STR}
    )
    def get(self, request: Request, pk: UUID) -> StreamingHttpResponse:
        """The refused rows as a table: line, code, reason, remedy."""
        return stream_errors_csv(import_for(person(request), pk))


class ImportUndoInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; becomes the id of the job.")


class UndoPreviewSerializer(serializers.Serializer[Any]):
    removable = serializers.IntegerField(help_text="Dialogues that nobody has begun with.")
    kept = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Dialogues that stay: begun, reviewed, in_batch, gold, discussed.",
    )


class UndoStartedSerializer(serializers.Serializer[Any]):
    job = serializers.UUIDField()


class UndoView(APIView):
    @extend_schema(tags=IMPORTS, operation_id="imports_undo_preview", responses=UndoPreviewSerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """What undoing the import would remove, and what stays."""
        return Response(undo_preview(import_for(person(request), pk)))

    @extend_schema(
        tags=IMPORTS,
        operation_id="imports_undo",
        request=ImportUndoInput,
        responses={202: UndoStartedSerializer},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Remove the dialogues of the import that nobody has begun with. Codes: not_ready, not_undoable, id_in_use."""
        imported = import_for(person(request), pk)
        job = undo_import(
            job=imported, actor=person(request), request_id=validated_input(ImportUndoInput, request)["id"]
        )
        return Response({"job": job.pk}, status=status.HTTP_202_ACCEPTED)


class MissingLanguageInput(StrictSerializer):
    language = serializers.CharField(help_text="Code such as `zh-Hans` or `en`.")


class MissingLanguageSerializer(serializers.Serializer[Any]):
    changed = serializers.IntegerField(help_text="Dialogues that had no language and have this one now.")


class MissingLanguageView(APIView):
    @extend_schema(
        tags=IMPORTS,
        operation_id="imports_set_missing_language",
        request=MissingLanguageInput,
        responses=MissingLanguageSerializer,
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Give a language to those dialogues of the import that have none. Code: archived."""
        imported = import_for(person(request), pk)
        language = validated_input(MissingLanguageInput, request)["language"]
        changed = set_missing_language(job=imported, actor=person(request), language=language)
        return Response({"changed": changed})


class DeletionInput(StrictSerializer):
    reason = serializers.CharField(
        help_text="Who asked for it, or why. Required; without the dialogue's text."
    )


class DeletionPreviewSerializer(serializers.Serializer[Any]):
    goes = serializers.DictField(child=serializers.IntegerField(), help_text="Rows that go with it, by kind.")
    stays = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="What is affected: held (people who have it open), judged (places in samples), snapshots.",
    )


class DeletedDialogueSerializer(serializers.ModelSerializer[DeletedDialogue]):
    """What stays of a deleted dialogue."""

    deleted_by = serializers.CharField(source="deleted_by.username", default=None, allow_null=True)
    job = serializers.UUIDField(
        source="job_id", allow_null=True, help_text="Removes exports, marks snapshots."
    )

    class Meta:
        model = DeletedDialogue
        fields = ["dialogue", "deleted_at", "deleted_by", "reason", "counts", "job"]


class DeletionView(APIView):
    @extend_schema(tags=TAG, operation_id="dialogues_deletion_preview", responses=DeletionPreviewSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """What deleting the dialogue would remove, and what is affected. For managers."""
        return Response(deletion_preview(deletable_dialogue_for(person(request), pk)))

    @extend_schema(
        tags=TAG, operation_id="dialogues_delete", request=DeletionInput, responses=DeletedDialogueSerializer
    )
    def post(self, request: Request, pk: int) -> Response:
        """Delete the dialogue and everything made of it, for good. For managers; sent again, it returns the same.

        Codes: busy while a job reads the project's dialogues.
        """
        stored = deletion_for(person(request), pk)
        if stored is None:
            dialogue = deletable_dialogue_for(person(request), pk)
            reason = validated_input(DeletionInput, request)["reason"]
            stored = delete_dialogue(dialogue=dialogue, actor=person(request), reason=reason)
        return Response(DeletedDialogueSerializer(stored).data)


class DeletedDialoguesView(APIView):
    pagination_class = CursorPagination

    @extend_schema(tags=TAG, operation_id="dialogues_deleted", responses=DeletedDialogueSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """What stays of the project's deleted dialogues. For managers."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        return paginated_response(self, request, deletions_of(project), DeletedDialogueSerializer)


class DialoguesView(APIView):
    pagination_class = CursorPagination

    @extend_schema(
        tags=TAG,
        operation_id="dialogues_list",
        parameters=[DialogueFilters],
        responses=ListedDialogueSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """The project's dialogues in the order in which they were added.

        With `q`, those whose text contains it: of the newest 20,000. `searched_to` is the lowest id that was searched;
        send it as `before` for older ones. It is null when everything was searched.
        """
        project = project_for(person(request), slug, Capability.READ_DIALOGUES)
        filters = validated_query(DialogueFilters, request)
        words, before = filters.pop("q", ""), filters.pop("before", None)
        texts = filters.pop("texts", False)
        rows, searched_to = dialogues_of(project, **filters), None
        if words:
            rows, searched_to = search_dialogues(rows, words, before)
        rows = rows.select_related("project").prefetch_related(*(["utterances"] if texts else []))
        serializer = ListedDialogueSerializer if texts else DialogueSerializer
        response = paginated_response(self, request, rows, serializer)
        if words:
            response.data["searched_to"] = searched_to
        return response


class CandidateSetsView(APIView):
    pagination_class = CursorPagination

    @extend_schema(tags=TAG, operation_id="candidate_sets_list", responses=CandidateSetSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The candidates of every turn of the project, in the order in which they were stored."""
        project = project_for(person(request), slug, Capability.READ_DIALOGUES)

        def serialize(page: list[CandidateSet]) -> object:
            return CandidateSetSerializer(page, many=True, context={"replies": replies_to(page)}).data

        return paginated_rows(self, request, candidate_sets_of(project), serialize)


class DialogueView(APIView):
    @extend_schema(tags=TAG, operation_id="dialogues_read", responses=DialogueDetailSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """A dialogue with its utterances and their candidates."""
        dialogue = dialogue_for(person(request), pk)
        detail = DialogueDetailSerializer(dialogue, context={"utterances": utterances_of(dialogue)})
        return Response(detail.data)


urlpatterns = [
    path("dialogues/<int:pk>/deletion/", DeletionView.as_view()),
    path("projects/<slug:slug>/deleted-dialogues/", DeletedDialoguesView.as_view()),
    path("imports/<uuid:pk>/undo/", UndoView.as_view()),
    path("imports/<uuid:pk>/language/", MissingLanguageView.as_view()),
    path("projects/<slug:slug>/imports/", ImportsView.as_view()),
    path("imports/<uuid:pk>/", ImportView.as_view()),
    path("imports/<uuid:pk>/errors/", ImportErrorsView.as_view()),
    path("imports/<uuid:pk>/errors.csv", ImportErrorsCsvView.as_view()),
    path("projects/<slug:slug>/dialogues/", DialoguesView.as_view()),
    path("projects/<slug:slug>/candidate-sets/", CandidateSetsView.as_view()),
    path("dialogues/<int:pk>/", DialogueView.as_view()),
]
