"""Serializers of exports."""

from typing import Any

from drf_spectacular.utils import extend_schema_field, inline_serializer
from rest_framework import serializers

from common.rest.serializers import StrictSerializer
from dialogues.models import Split
from jobs.models import JobState
from measures.rated_dialogues import MAXIMUM
from preference.data.models.exports import Export, FileType, FormatName, LeadingTurns
from preference.data.selectors.selection import Preview
from preference.data.selectors.study import WELL_RATED
from preference.data.services.exports import LARGEST


def splits_field() -> serializers.ListField:
    return serializers.ListField(
        child=serializers.ChoiceField(choices=Split.choices),
        required=False,
        max_length=len(Split),
        help_text="Empty: all splits.",
    )


def unreviewed_field() -> serializers.BooleanField:
    return serializers.BooleanField(
        required=False, default=False, help_text="Include finished dialogues that no expert has judged yet."
    )


def withheld_field() -> serializers.BooleanField:
    return serializers.BooleanField(
        required=False,
        default=False,
        help_text="In `diqad`, include dialogues labelled -1, -2 (private data) or phone (abandoned).",
    )


def run_field() -> serializers.IntegerField:
    return serializers.IntegerField(
        min_value=1,
        allow_null=True,
        default=None,
        help_text="Of a study, only the run with this number; `assessment` needs it if there are several.",
    )


def least_score_field() -> serializers.FloatField:
    return serializers.FloatField(
        min_value=0,
        max_value=MAXIMUM,
        allow_null=True,
        default=None,
        help_text="Of a study, the mean score from which on a conversation is in `sft` and `preference`. "
        f"null: {WELL_RATED:g}.",
    )


def number_field(help_text: str) -> serializers.IntegerField:
    return serializers.IntegerField(min_value=0, max_value=LARGEST, default=0, help_text=help_text)


class ExportInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first export.")
    format = serializers.ChoiceField(choices=FormatName.choices)
    file_type = serializers.ChoiceField(choices=FileType.choices, default=FileType.JSONL)
    splits = splits_field()
    include_unreviewed = unreviewed_field()
    include_withheld = withheld_field()
    run = run_field()
    least_score = least_score_field()
    snapshot = serializers.UUIDField(
        allow_null=True,
        default=None,
        help_text="Export this snapshot, with its filters, instead of the current project.",
    )
    seed = number_field("Seed of random draws in `quadruples`, `preference`, `reward`, `kto`.")
    epoch = number_field("Every epoch has other random draws.")
    random = serializers.BooleanField(
        default=True,
        help_text="Include pairs with a random reply of another dialogue, in `preference`, `reward`, `kto`.",
    )
    leading_assistant = serializers.ChoiceField(
        choices=LeadingTurns.choices,
        default=LeadingTurns.KEEP,
        help_text="What becomes of the assistant's turns before the first of the user, which many chat templates "
        "refuse, in `sft`, `preference`, `reward`, `kto`.",
    )


class PreviewQuery(serializers.Serializer[Any]):
    format = serializers.ChoiceField(choices=FormatName.choices, required=False, default="")
    splits = splits_field()
    include_unreviewed = unreviewed_field()
    include_withheld = withheld_field()
    run = run_field()
    least_score = least_score_field()


class PreviewSerializer(serializers.Serializer[Preview]):
    """How many dialogues would be exported, and why the others would not; each is counted once."""

    leaving = serializers.IntegerField()
    writing = serializers.IntegerField(help_text="Not finished.")
    abandoned = serializers.IntegerField()
    vetoed = serializers.IntegerField(help_text="Never exported.")
    unreviewed = serializers.IntegerField(help_text="Left out unless include_unreviewed.")
    other_split = serializers.IntegerField()
    withheld = serializers.IntegerField(
        help_text="Left out of `diqad` unless include_withheld; of a study, not rated well enough to train on."
    )
    total = serializers.IntegerField()


FiltersSerializer = inline_serializer(
    "ExportFilters",
    {
        "splits": serializers.ListField(child=serializers.ChoiceField(choices=Split.choices)),
        "include_unreviewed": serializers.BooleanField(),
        "include_withheld": serializers.BooleanField(default=False),
        "run": serializers.IntegerField(required=False),
        "least_score": serializers.FloatField(required=False),
    },
)


SnapshotNameSerializer = inline_serializer(
    "SnapshotName",
    {
        "id": serializers.UUIDField(),
        "name": serializers.CharField(),
        "sha256": serializers.CharField(help_text="SHA-256 of its dialogues.jsonl."),
    },
    allow_null=True,
    default=None,
    help_text="Source of the file; null: the project at that time.",
)


class ManifestSerializer(serializers.Serializer[Any]):
    """What is in the file: enough to verify it and to make it again."""

    format = serializers.ChoiceField(choices=FormatName.choices)
    file_type = serializers.ChoiceField(choices=FileType.choices, default=FileType.JSONL)
    schema_version = serializers.CharField(help_text="Version of the format.")
    project = serializers.CharField()
    snapshot = SnapshotNameSerializer
    filters = FiltersSerializer
    dialogues = serializers.IntegerField()
    left_out = serializers.DictField(
        child=serializers.IntegerField(),
        default=dict,
        help_text="Dialogues that the format left out, by final label.",
    )
    skipped = serializers.DictField(
        child=serializers.IntegerField(),
        default=dict,
        help_text="Turns without a row or a random pair, by reason: no_candidates, no_other_dialogue, no_user_turn.",
    )
    rows = serializers.IntegerField()
    bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    seed = serializers.IntegerField(
        allow_null=True, help_text="Seed of random draws; null if nothing was drawn."
    )
    epoch = serializers.IntegerField(allow_null=True, default=None)
    leading_assistant = serializers.ChoiceField(
        choices=LeadingTurns.choices,
        allow_null=True,
        default=None,
        help_text="Null in formats without roles.",
    )
    labels = serializers.DictField(
        child=serializers.IntegerField(),
        default=dict,
        help_text="In `kto`, the rows with the label true (desirable) and false (undesirable).",
    )
    code_version = serializers.CharField()
    created_at = serializers.DateTimeField()


class ExportSerializer(serializers.ModelSerializer[Export]):
    project = serializers.CharField(source="project.slug")
    format = serializers.ChoiceField(choices=FormatName.choices)
    file_type = serializers.ChoiceField(choices=FileType.choices)
    snapshot = serializers.UUIDField(source="snapshot_id", allow_null=True)
    filters = FiltersSerializer
    state = serializers.ChoiceField(choices=JobState.choices, source="job.state")
    done = serializers.IntegerField(source="job.done", help_text="Dialogues.")
    total = serializers.IntegerField(source="job.total", allow_null=True, help_text="Dialogues.")
    error = serializers.CharField(source="job.error", help_text="Why it failed; empty otherwise.")
    remedy = serializers.CharField(source="job.remedy")
    started_by = serializers.CharField(source="job.created_by.username", allow_null=True, default=None)
    ended_at = serializers.DateTimeField(source="job.ended_at", allow_null=True)
    has_file = serializers.SerializerMethodField(help_text="Whether `file/` can be downloaded.")
    manifest = serializers.SerializerMethodField(help_text="Null until it is done.")

    class Meta:
        model = Export
        fields = [
            "id", "project", "format", "file_type", "snapshot", "filters", "state", "done", "total", "error",
            "remedy", "started_by", "created_at", "ended_at", "has_file", "manifest",
        ]  # fmt: skip

    def get_has_file(self, export: Export) -> bool:
        return bool(export.path) and export.job.state == JobState.DONE

    @extend_schema_field(ManifestSerializer(allow_null=True))
    def get_manifest(self, export: Export) -> dict[str, Any] | None:
        return ManifestSerializer(export.manifest).data if export.manifest else None
