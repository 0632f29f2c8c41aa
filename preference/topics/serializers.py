"""Serializers of topics and tagging runs."""

from typing import Any

from rest_framework import serializers

from common.rest.serializers import StrictSerializer
from dialogues.models import TOPIC_CHARS
from jobs.models import JobState
from preference.topics.models import Tagger, TaggingRun
from preference.topics.services.categories import NAME_CHARS


class CategorySerializer(StrictSerializer):
    id = serializers.CharField(max_length=TOPIC_CHARS, help_text="Small letters, digits, - and _.")
    en = serializers.CharField(max_length=NAME_CHARS, help_text="Name in English.")
    zh = serializers.CharField(max_length=NAME_CHARS, help_text="Name in Chinese.")


class CategoriesSerializer(StrictSerializer):
    categories = CategorySerializer(
        many=True, help_text="In their order; an empty list brings the usual ones back."
    )


class TopicInput(StrictSerializer):
    topic = serializers.CharField(
        max_length=TOPIC_CHARS, allow_blank=True, help_text="Id of one of the project's topics; empty: none."
    )


class TopicCountSerializer(serializers.Serializer[Any]):
    topic = serializers.CharField(help_text="Empty: dialogues without a topic.")
    language = serializers.CharField(help_text="Empty: not stated.")
    topic_source = serializers.CharField(source="source", help_text="What chose it; empty without a topic.")
    dialogues = serializers.IntegerField()


class TopicCountsSerializer(serializers.Serializer[Any]):
    counts = TopicCountSerializer(many=True)


class TaggingRunSerializer(serializers.ModelSerializer[TaggingRun]):
    project = serializers.CharField(source="project.slug")
    model = serializers.CharField(source="model.slug", default=None, allow_null=True)
    state = serializers.ChoiceField(choices=JobState.choices, source="job.state")
    done = serializers.IntegerField(source="job.done")
    total = serializers.IntegerField(source="job.total", allow_null=True)
    error = serializers.CharField(source="job.error")
    remedy = serializers.CharField(source="job.remedy")
    settings = serializers.DictField()
    reasons = serializers.DictField(
        child=serializers.IntegerField(), help_text="Dialogues that got no topic, by reason."
    )

    class Meta:
        model = TaggingRun
        fields = [
            "id", "project", "tagger", "model", "settings", "replaces", "state", "done", "total", "error", "remedy",
            "tagged", "unanswered", "reasons", "removed", "created_at",
        ]  # fmt: skip


class TaggingInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first run.")
    tagger = serializers.ChoiceField(choices=Tagger.choices)
    model = serializers.CharField(
        max_length=80,
        required=False,
        allow_blank=True,
        help_text="Name of a topic model, for the tagger model.",
    )
    settings = serializers.DictField(
        required=False,
        help_text="Of a judge: server, server_model, api_key_env, language, steps. What is left out has its default.",
    )
    replaces = serializers.BooleanField(
        required=False, help_text="Also tag dialogues again that a machine tagged. Default: false."
    )
