"""Serializers of snapshots and of pushing them to a Hub."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from common.rest.serializers import StrictSerializer
from dialogues.models import Split
from jobs.models import Job, JobState
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.shortages import shortages_on_card
from preference.data.serializers.exports import (
    FiltersSerializer,
    number_field,
    splits_field,
    unreviewed_field,
)
from preference.data.services.snapshots import NAME_CHARS


class SnapshotInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first snapshot.")
    name = serializers.CharField(
        max_length=NAME_CHARS,
        required=False,
        default="",
        allow_blank=True,
        help_text="Default: project and time.",
    )
    splits = splits_field()
    include_unreviewed = unreviewed_field()
    seed = number_field("Default seed for random draws from this snapshot.")


class CardColumnSerializer(serializers.Serializer[Any]):
    """A column of Table 1 of the paper (Diamante); shares of actions refer to `had_candidates`.

    Actions, candidates and replies are counted in authoring projects only.
    """

    split = serializers.ChoiceField(choices=[*Split.values, "total"])
    dialogues = serializers.IntegerField()
    utterances = serializers.IntegerField()
    mean_length = serializers.FloatField(allow_null=True, help_text="Characters per utterance.")
    select = serializers.IntegerField(required=False)
    revise = serializers.IntegerField(required=False)
    rewrite = serializers.IntegerField(required=False)
    had_candidates = serializers.IntegerField(
        required=False, help_text="Utterances with candidates and an action."
    )
    replies = serializers.IntegerField(
        required=False, help_text="Turns where a candidate differs from what was sent."
    )


class CandidatesSerializer(serializers.Serializer[Any]):
    turns = serializers.IntegerField()
    mean = serializers.FloatField(allow_null=True)
    by_number = serializers.DictField(
        child=serializers.IntegerField(), help_text="Turns by number of candidates."
    )


class CardSerializer(serializers.Serializer[Any]):
    """Statistics of a snapshot. Counts by name list the most frequent names; "" counts what is not stated.

    Of an authoring project: candidates and model_versions. Of a labelling project: labels and origins.
    """

    splits = CardColumnSerializer(many=True)
    candidates = CandidatesSerializer(required=False)
    model_versions = serializers.DictField(
        child=serializers.IntegerField(), required=False, help_text="Turns."
    )
    labels = serializers.DictField(
        child=serializers.DictField(child=serializers.IntegerField()),
        required=False,
        help_text="Dialogues by question and final label.",
    )
    origins = serializers.DictField(
        child=serializers.IntegerField(),
        required=False,
        help_text="Dialogues by how their final label came about.",
    )
    languages = serializers.DictField(child=serializers.IntegerField(), help_text="Dialogues.")
    domains = serializers.DictField(child=serializers.IntegerField(), help_text="Dialogues.")
    licences = serializers.DictField(
        child=serializers.IntegerField(), help_text="Dialogues by licence, as named in imported files."
    )
    gaps = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Dialogues: unreviewed, imported, scripted, without_candidates, imported_labels, one_judgement; "
        "turns: no_action, empty_candidates, repeated_candidates.",
    )
    longest = serializers.IntegerField(help_text="Utterances of the longest dialogue.")


class PushedSerializer(serializers.Serializer[Any]):
    repo_id = serializers.CharField()
    url = serializers.CharField()
    commit = serializers.CharField()
    private = serializers.BooleanField()
    at = serializers.DateTimeField()


class SnapshotSerializer(serializers.ModelSerializer[Snapshot]):
    project = serializers.CharField(source="project.slug")
    filters = FiltersSerializer
    state = serializers.ChoiceField(choices=JobState.choices, source="job.state")
    done = serializers.IntegerField(source="job.done", help_text="Dialogues.")
    total = serializers.IntegerField(source="job.total", allow_null=True, help_text="Dialogues.")
    error = serializers.CharField(source="job.error", help_text="Why it failed; empty otherwise.")
    remedy = serializers.CharField(source="job.remedy")
    taken_by = serializers.CharField(source="job.created_by.username", allow_null=True, default=None)
    has_files = serializers.SerializerMethodField(help_text="Whether `files/` can be downloaded.")
    pushed = PushedSerializer(many=True)
    deleted_dialogues = serializers.SerializerMethodField(
        help_text="Dialogues of it that were deleted since; if there are any, its files are closed."
    )

    class Meta:
        model = Snapshot
        fields = [
            "id", "project", "name", "filters", "seed", "schema_version", "state", "done", "total", "error", "remedy",
            "taken_by", "created_at", "bytes", "sha256", "has_files", "pushed", "deleted_dialogues",
        ]  # fmt: skip

    def get_has_files(self, snapshot: Snapshot) -> bool:
        return bool(snapshot.path) and not snapshot.deleted

    def get_deleted_dialogues(self, snapshot: Snapshot) -> int:
        return len(snapshot.deleted)


class SnapshotDetailSerializer(SnapshotSerializer):
    card = serializers.SerializerMethodField(help_text="Null until it is done.")
    warnings = serializers.SerializerMethodField(help_text="What the snapshot lacks for training.")

    class Meta(SnapshotSerializer.Meta):
        fields = [*SnapshotSerializer.Meta.fields, "card", "warnings"]

    @extend_schema_field(CardSerializer(allow_null=True))
    def get_card(self, snapshot: Snapshot) -> dict[str, Any] | None:
        return dict(CardSerializer(snapshot.card).data) if snapshot.card else None

    def get_warnings(self, snapshot: Snapshot) -> list[str]:
        return [shortage.text() for shortage in shortages_on_card(snapshot.card)]


class PushInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first job.")
    repo_id = serializers.CharField(max_length=200, help_text="owner/name on the Hub.")
    private = serializers.BooleanField(
        default=True, help_text="Whether a newly created repository is private."
    )


class PushJobSerializer(serializers.ModelSerializer[Job]):
    class Meta:
        model = Job
        fields = ["id", "state", "error", "remedy", "created_at"]
