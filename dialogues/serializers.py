"""Serializers of the REST API of dialogues and imports."""

import csv
from collections.abc import Iterator
from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.spreadsheets import escape_formula
from dialogues.import_reports import explain_failed_import
from dialogues.models import (
    TOPIC_CHARS,
    Action,
    CandidateSet,
    Dialogue,
    DialogueState,
    Origin,
    RefusedRow,
    ReviewState,
    Split,
    Utterance,
)
from dialogues.parsing.formats import FORMATS
from dialogues.parsing.key_map import MAX_CHARS
from dialogues.selectors import (
    phase_of,
    refused_rows_of,
    to_row_error,
)
from jobs.models import Job, JobState

FORMAT_NAMES = [(name, name) for name in FORMATS]
MAP_HELP = (
    "Paths of keys, for the format json: `dialogues=data,utterances=messages,speaker=role,text=content`, and `id` and"
    " `parent` for message trees. Without a speaker, A and B alternate. Default: guessed from the file."
)
LANGUAGE_HELP = (
    "Code such as `zh-Hans` or `en`, for the dialogues for which the file names no language. Default: none."
)
ON_ERROR = [("skip", "skip"), ("stop", "stop")]


class ImportQuery(serializers.Serializer[Any]):
    """How to read the file."""

    id = serializers.UUIDField(help_text="Chosen by the client. Sending it again returns the first import.")
    format = serializers.ChoiceField(choices=FORMAT_NAMES)
    on_error = serializers.ChoiceField(
        choices=ON_ERROR,
        default="skip",
        help_text="skip: leave out refused rows; stop: import nothing if a row is refused.",
    )
    run = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        default=None,
        allow_null=True,
        help_text="Number of the run, for the format assessment. Default: the next number.",
    )
    map = serializers.CharField(
        required=False, max_length=MAX_CHARS, default="", allow_blank=True, help_text=MAP_HELP
    )
    language = serializers.CharField(required=False, default="", allow_blank=True, help_text=LANGUAGE_HELP)
    name = serializers.CharField(
        required=False,
        max_length=200,
        default="",
        help_text="Shown to people. Default: the name of the file.",
    )


class ImportForm(ImportQuery):
    """The same fields and the file, as multipart/form-data."""

    file = serializers.FileField(
        allow_empty_file=True, help_text="UTF-8 text or XLSX, also packed with gzip."
    )


class RowErrorSerializer(serializers.Serializer[Any]):
    """A row that was refused."""

    line = serializers.IntegerField(help_text="From 1.")
    code = serializers.CharField(help_text="For programs.")
    reason = serializers.CharField(help_text="The cause, in the person's language.")
    remedy = serializers.CharField(help_text="What to do, in the person's language.")


class RefusedRowSerializer(RowErrorSerializer):
    def to_representation(self, instance: RefusedRow) -> dict[str, Any]:
        return super().to_representation(to_row_error(instance))


class ImportSerializer(serializers.ModelSerializer[Job]):
    """An import and its progress. The counts are of dialogues, except for `utterances` and `refused` rows."""

    project = serializers.CharField(source="project.slug")
    name = serializers.CharField(source="parameters.name", help_text="Of the file.")
    format = serializers.ChoiceField(source="parameters.format", choices=FORMAT_NAMES)
    on_error = serializers.ChoiceField(source="parameters.on_error", choices=ON_ERROR)
    map = serializers.CharField(
        source="parameters.map", default="", help_text="Paths of keys; empty: guessed."
    )
    language = serializers.CharField(
        source="parameters.language", default="", help_text="Given to dialogues that name none; empty: none."
    )
    size = serializers.IntegerField(source="parameters.size", help_text="Of the file, in bytes.")
    state = serializers.ChoiceField(choices=JobState.choices)
    done = serializers.IntegerField(
        help_text="In bytes of the file: checking is the first half, storing the second."
    )
    total = serializers.IntegerField(allow_null=True, help_text="The size of the file.")
    phase = serializers.SerializerMethodField(help_text="Empty unless the import runs.")
    stored = serializers.IntegerField(source="result.stored", default=0)
    already_there = serializers.IntegerField(source="result.already_there", default=0)
    deleted = serializers.IntegerField(
        source="result.deleted", default=0, help_text="Left out, because a manager deleted them earlier."
    )
    utterances = serializers.IntegerField(source="result.utterances", default=0)
    refused = serializers.IntegerField(source="result.refused", default=0, help_text="Rows; see errors/.")
    run = serializers.IntegerField(
        source="result.run", default=None, allow_null=True, help_text="The run that ratings were stored in."
    )
    same_as = serializers.UUIDField(
        source="result.same_as",
        default=None,
        allow_null=True,
        help_text="An earlier import of the same file, if all its dialogues still exist.",
    )
    error = serializers.SerializerMethodField(help_text="Why it failed; empty otherwise.")
    remedy = serializers.SerializerMethodField()
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)

    class Meta:
        model = Job
        fields = [
            "id", "project", "name", "format", "map", "on_error", "language", "size", "state", "phase", "done", "total",
            "stored", "already_there", "deleted", "utterances", "refused", "run", "same_as", "error", "remedy",
            "created_by", "created_at", "ended_at",
        ]  # fmt: skip

    @extend_schema_field(serializers.ChoiceField(choices=["checking", "storing", ""]))
    def get_phase(self, job: Job) -> str:
        return phase_of(job)

    def get_error(self, job: Job) -> str:
        return explain_failed_import(job)[0]

    def get_remedy(self, job: Job) -> str:
        return explain_failed_import(job)[1]


class DialogueFilters(serializers.Serializer[Any]):
    origin = serializers.ChoiceField(required=False, choices=Origin.choices)
    state = serializers.ChoiceField(required=False, choices=DialogueState.choices)
    review_state = serializers.ChoiceField(required=False, choices=ReviewState.choices)
    split = serializers.ChoiceField(required=False, choices=Split.choices)
    language = serializers.CharField(required=False, max_length=10)
    domain = serializers.CharField(required=False, max_length=80)
    topic = serializers.CharField(
        required=False, max_length=TOPIC_CHARS, help_text="Id of a topic; `none`: dialogues without one."
    )
    action = serializers.ChoiceField(
        required=False, choices=Action.choices, help_text="Only dialogues with such an utterance."
    )
    import_job = serializers.UUIDField(required=False, help_text="Only dialogues that this import stored.")
    q = serializers.CharField(
        required=False, max_length=200, help_text="A text that an utterance contains, or an external id."
    )
    before = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**63 - 1,
        help_text="With `q`: search dialogues below this id.",
    )
    texts = serializers.BooleanField(required=False, help_text="Return metadata and utterances, too.")


class DialogueSerializer(serializers.ModelSerializer[Dialogue]):
    project = serializers.CharField(source="project.slug")
    import_job = serializers.UUIDField(source="import_job_id", allow_null=True)

    class Meta:
        model = Dialogue
        fields = [
            "id", "external_id", "project", "origin", "state", "review_state", "split", "language", "domain",
            "topic", "topic_source", "topic_probability", "utterance_count", "import_job", "created_at", "finished_at",
        ]  # fmt: skip


class StoredCandidateSerializer(serializers.Serializer[Any]):
    """A reply of the model. Values that an imported file does not have are null."""

    text = serializers.CharField()
    seed = serializers.IntegerField(allow_null=True)
    tokens = serializers.IntegerField(allow_null=True)
    logprob = serializers.FloatField(allow_null=True)
    score = serializers.FloatField(allow_null=True)
    warmth = serializers.FloatField(default=1.0)
    model_version = serializers.CharField(default="", help_text="Only if two models wrote the set.")


class StoredUtteranceSerializer(serializers.ModelSerializer[Utterance]):
    """An utterance with its candidates in displayed order; source is an index into them."""

    metadata = serializers.DictField()
    action = serializers.ChoiceField(choices=Action.choices, allow_blank=True)
    candidates = StoredCandidateSerializer(many=True, source="candidate_set.candidates", default=list)
    model_version = serializers.SerializerMethodField(help_text="Of the source candidate.")

    class Meta:
        model = Utterance
        fields = [
            "position", "speaker", "text", "time", "metadata", "action", "action_derived", "source", "edit_distance",
            "candidates", "model_version",
        ]  # fmt: skip

    def get_model_version(self, utterance: Utterance) -> str:
        candidates = utterance.candidate_set
        return candidates.version_of(utterance.source) if candidates else ""


class DialogueDetailSerializer(DialogueSerializer):
    metadata = serializers.DictField()
    utterances = serializers.SerializerMethodField()

    class Meta(DialogueSerializer.Meta):
        fields = [*DialogueSerializer.Meta.fields, "metadata", "utterances"]

    @extend_schema_field(StoredUtteranceSerializer(many=True))
    def get_utterances(self, dialogue: Dialogue) -> list[dict[str, Any]]:
        return list(StoredUtteranceSerializer(self.context["utterances"], many=True).data)


class ListedUtteranceSerializer(serializers.ModelSerializer[Utterance]):
    metadata = serializers.DictField()
    action = serializers.ChoiceField(choices=Action.choices, allow_blank=True)

    class Meta:
        model = Utterance
        fields = ["position", "speaker", "text", "time", "metadata", "action", "source", "edit_distance"]


class ListedDialogueSerializer(DialogueSerializer):
    metadata = serializers.DictField(required=False, help_text="Only with `texts`.")
    utterances = ListedUtteranceSerializer(
        many=True, required=False, help_text="Only with `texts`; without candidates."
    )

    class Meta(DialogueSerializer.Meta):
        fields = [*DialogueSerializer.Meta.fields, "metadata", "utterances"]


class CandidateSetSerializer(serializers.ModelSerializer[CandidateSet]):
    """The candidates of one turn in displayed order, and what was sent there; `source` is an index into them."""

    external_id = serializers.CharField(source="dialogue.external_id", help_text="Of the dialogue.")
    split = serializers.CharField(source="dialogue.split")
    candidates = StoredCandidateSerializer(many=True)
    sampling = serializers.DictField()
    reply = serializers.SerializerMethodField(
        help_text="What was sent; null if nothing was, or it was undone."
    )

    class Meta:
        model = CandidateSet
        fields = [
            "id", "dialogue", "external_id", "split", "position", "candidates", "model_version", "sampling", "seed",
            "created_at", "reply",
        ]  # fmt: skip

    @extend_schema_field(ListedUtteranceSerializer(allow_null=True))
    def get_reply(self, row: CandidateSet) -> dict[str, Any] | None:
        reply = self.context["replies"].get(row.pk)
        return dict(ListedUtteranceSerializer(reply).data) if reply else None


class _LineBuffer:
    """The target of csv.writer: writerow() returns the line."""

    def write(self, line: str) -> str:
        return line


def stream_errors_csv(job: Job) -> StreamingHttpResponse:
    """The stored refused rows as a streamed table. The byte order mark makes spreadsheets read UTF-8."""
    writer = csv.writer(_LineBuffer())

    def lines() -> Iterator[str]:
        yield "\ufeff" + writer.writerow(["line", "code", "reason", "remedy"])
        last = 0
        while page := list(refused_rows_of(job).filter(pk__gt=last)[:1000]):
            last = page[-1].pk
            errors = map(to_row_error, page)
            yield "".join(
                writer.writerow(
                    [error.line, error.code, escape_formula(error.reason), escape_formula(error.remedy)]
                )
                for error in errors
            )

    answer = StreamingHttpResponse(lines(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="import-{job.pk}-refused.csv"'
    return answer
