"""Shapes of the REST API of dialogues and imports."""

import csv
from collections.abc import Iterator
from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from dialogues.models import (
    Action,
    Dialogue,
    DialogueState,
    Origin,
    RefusedRow,
    ReviewState,
    Split,
    Utterance,
)
from dialogues.parsing import FORMATS
from dialogues.selectors import (
    as_error,
    phase_of,
    refused_rows_of,
)
from jobs.models import Job, JobState

FORMAT_NAMES = [(name, name) for name in FORMATS]
ON_ERROR = [("skip", "skip"), ("stop", "stop")]


class ImportQuery(serializers.Serializer[Any]):
    """How the file is to be read."""

    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first import.")
    format = serializers.ChoiceField(choices=FORMAT_NAMES)
    on_error = serializers.ChoiceField(
        choices=ON_ERROR,
        default="skip",
        help_text="skip: leave refused rows out; stop: import nothing if one is refused.",
    )
    name = serializers.CharField(
        required=False,
        max_length=200,
        default="",
        help_text="Shown to people; the name of the file by default.",
    )


class ImportForm(ImportQuery):
    """The same, with the file, as multipart/form-data."""

    file = serializers.FileField(allow_empty_file=True, help_text="UTF-8 text.")


class RowErrorSerializer(serializers.Serializer[Any]):
    """A row that was refused."""

    line = serializers.IntegerField(help_text="From 1.")
    code = serializers.CharField(help_text="For programs.")
    reason = serializers.CharField(help_text="The cause, in the person's language.")
    remedy = serializers.CharField(help_text="What to do, in the person's language.")


class RefusedRowSerializer(RowErrorSerializer):
    def to_representation(self, instance: RefusedRow) -> dict[str, Any]:
        return super().to_representation(as_error(instance))


class ImportSerializer(serializers.ModelSerializer[Job]):
    """An import, as far as it is. The numbers count dialogues, `utterances` and `refused` rows apart."""

    project = serializers.CharField(source="project.slug")
    name = serializers.CharField(source="parameters.name", help_text="Of the file.")
    format = serializers.ChoiceField(source="parameters.format", choices=FORMAT_NAMES)
    on_error = serializers.ChoiceField(source="parameters.on_error", choices=ON_ERROR)
    size = serializers.IntegerField(source="parameters.size", help_text="Of the file, in bytes.")
    state = serializers.ChoiceField(choices=JobState.choices)
    done = serializers.IntegerField(
        help_text="Bytes of the file: checking is the first half of the way, storing the second."
    )
    total = serializers.IntegerField(allow_null=True, help_text="The size of the file.")
    phase = serializers.SerializerMethodField(help_text="While it runs.")
    stored = serializers.IntegerField(source="result.stored", default=0)
    already_there = serializers.IntegerField(source="result.already_there", default=0)
    utterances = serializers.IntegerField(source="result.utterances", default=0)
    refused = serializers.IntegerField(source="result.refused", default=0, help_text="Rows; see errors/.")
    same_as = serializers.UUIDField(
        source="result.same_as",
        default=None,
        allow_null=True,
        help_text="The earlier import of the very same file, whose dialogues are all still there.",
    )
    error = serializers.CharField(help_text="Why it failed; empty otherwise.")
    remedy = serializers.CharField()
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)

    class Meta:
        model = Job
        fields = [
            "id", "project", "name", "format", "on_error", "size", "state", "phase", "done", "total", "stored",
            "already_there", "utterances", "refused", "same_as", "error", "remedy", "created_by",
            "created_at", "ended_at",
        ]  # fmt: skip

    @extend_schema_field(serializers.ChoiceField(choices=["checking", "storing", ""]))
    def get_phase(self, job: Job) -> str:
        return phase_of(job)


class DialogueFilters(serializers.Serializer[Any]):
    origin = serializers.ChoiceField(required=False, choices=Origin.choices)
    state = serializers.ChoiceField(required=False, choices=DialogueState.choices)
    review_state = serializers.ChoiceField(required=False, choices=ReviewState.choices)
    split = serializers.ChoiceField(required=False, choices=Split.choices)
    language = serializers.CharField(required=False, max_length=10)
    domain = serializers.CharField(required=False, max_length=80)
    action = serializers.ChoiceField(
        required=False, choices=Action.choices, help_text="Only dialogues with such an utterance."
    )
    import_job = serializers.UUIDField(required=False, help_text="Only what this import stored.")


class DialogueSerializer(serializers.ModelSerializer[Dialogue]):
    project = serializers.CharField(source="project.slug")
    import_job = serializers.UUIDField(source="import_job_id", allow_null=True)

    class Meta:
        model = Dialogue
        fields = [
            "id", "external_id", "project", "origin", "state", "review_state", "split", "language", "domain",
            "utterance_count", "import_job", "created_at", "finished_at",
        ]  # fmt: skip


class KeptCandidateSerializer(serializers.Serializer[Any]):
    """A reply of the model; what an imported file did not say is null."""

    text = serializers.CharField()
    seed = serializers.IntegerField(allow_null=True)
    tokens = serializers.IntegerField(allow_null=True)
    logprob = serializers.FloatField(allow_null=True)
    score = serializers.FloatField(allow_null=True)
    warmth = serializers.FloatField(default=1.0)
    model_version = serializers.CharField(default="", help_text="Only where two models wrote the set.")


class SpokenSerializer(serializers.ModelSerializer[Utterance]):
    """An utterance with the candidates that it was chosen among, in displayed order; source is a place in them."""

    metadata = serializers.DictField()
    action = serializers.ChoiceField(choices=Action.choices, allow_blank=True)
    candidates = KeptCandidateSerializer(many=True, source="candidate_set.candidates", default=list)
    model_version = serializers.SerializerMethodField(help_text="Of the candidate that it was made from.")

    class Meta:
        model = Utterance
        fields = [
            "position", "speaker", "text", "time", "metadata", "action", "source", "edit_distance", "candidates",
            "model_version",
        ]  # fmt: skip

    def get_model_version(self, utterance: Utterance) -> str:
        shown = utterance.candidate_set
        return shown.version_of(utterance.source) if shown else ""


class DialogueFull(DialogueSerializer):
    metadata = serializers.DictField()
    utterances = serializers.SerializerMethodField()

    class Meta(DialogueSerializer.Meta):
        fields = [*DialogueSerializer.Meta.fields, "metadata", "utterances"]

    @extend_schema_field(SpokenSerializer(many=True))
    def get_utterances(self, dialogue: Dialogue) -> list[dict[str, Any]]:
        return list(SpokenSerializer(self.context["utterances"], many=True).data)


class _Line:
    """What csv.writer writes to; the line comes back from writerow()."""

    def write(self, line: str) -> str:
        return line


def errors_as_csv(job: Job) -> StreamingHttpResponse:
    """Every refused row, streamed. The byte order mark makes spreadsheets read UTF-8."""
    writer = csv.writer(_Line())

    def lines() -> Iterator[str]:
        yield "\ufeff" + writer.writerow(["line", "code", "reason", "remedy"])
        last = 0
        while page := list(refused_rows_of(job).filter(pk__gt=last)[:1000]):
            last = page[-1].pk
            errors = map(as_error, page)
            yield "".join(
                writer.writerow([one.line, one.code, _as_text(one.reason), _as_text(one.remedy)])
                for one in errors
            )

    answer = StreamingHttpResponse(lines(), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="import-{job.pk}-refused.csv"'
    return answer


def _as_text(cell: str) -> str:
    # A cell that begins like a formula would be run by a spreadsheet.
    return f"'{cell}" if cell[:1] in {"=", "+", "-", "@"} else cell
