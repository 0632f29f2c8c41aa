"""Collections and their reports as JSON."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from assessment.collections.models import Collection, CollectionKind
from assessment.collections.selectors.collections import CollectionProgress
from assessment.collections.selectors.report import CollectionReport, Criterion, SystemRow
from assessment.collections.selectors.verdict import verdict_sentences
from assessment.collections.services.checks import MAX_DIALOGUES, MAX_ROUNDS
from assessment.collections.services.starting import MAX_SEED, ROUNDS
from assessment.systems.services.systems import MAX_NAME
from common.rest.serializers import StrictSerializer
from jobs.models import JobState

CSV_HEAD = ("system", "criterion", "mean", "low", "high", "items", "made", "missing", "rated")
MAX_SYSTEMS = 100


class CollectionInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first collection.")
    kind = serializers.ChoiceField(choices=CollectionKind.choices)
    target = serializers.SlugField(max_length=80, help_text="The labelling project whose members rate.")
    systems = serializers.ListField(
        child=serializers.CharField(max_length=MAX_NAME),
        default=list,
        max_length=MAX_SYSTEMS,
        help_text="Names (static and self_chat).",
    )
    source = serializers.SlugField(  # type: ignore[assignment]  # DRF takes its fields off the class
        max_length=80,
        default="",
        allow_blank=True,
        help_text="The project whose dialogues give the contexts.",
    )
    run = serializers.IntegerField(
        default=None,
        allow_null=True,
        min_value=1,
        max_value=2**31 - 1,
        help_text="Its conversations are rated.",
    )
    count = serializers.IntegerField(
        default=None,
        allow_null=True,
        min_value=1,
        max_value=MAX_DIALOGUES,
        help_text="Contexts or openings; null: 100 for static, 50 for self_chat.",
    )
    rounds = serializers.IntegerField(default=ROUNDS, min_value=1, max_value=MAX_ROUNDS)
    any_split = serializers.BooleanField(
        default=False,
        help_text="Also contexts outside of the test split, which models may have been trained on.",
    )
    with_human = serializers.BooleanField(default=True, help_text="Rate the human reply, too (static).")
    seed = serializers.IntegerField(
        default=None,
        allow_null=True,
        min_value=0,
        max_value=MAX_SEED,
        help_text="Of the contexts; null: drawn.",
    )


class CollectionSerializer(serializers.Serializer[Any]):
    """Numbers are dialogues. planned: raters have them. rated: by everybody who should."""

    id = serializers.UUIDField()
    kind = serializers.ChoiceField(choices=CollectionKind.choices)
    target = serializers.CharField()
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]
    run = serializers.IntegerField(allow_null=True)
    systems = serializers.ListField(child=serializers.CharField())
    rounds = serializers.IntegerField()
    seed = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    job = serializers.UUIDField()
    state = serializers.ChoiceField(choices=JobState.choices, help_text="Of the job.")
    error = serializers.CharField()
    remedy = serializers.CharField()
    dialogues = serializers.IntegerField()
    made = serializers.IntegerField()
    missing = serializers.IntegerField()
    planned = serializers.IntegerField()
    rated = serializers.IntegerField()


def serialize_collection(collection: Collection, progress: CollectionProgress) -> dict[str, Any]:
    """A collection and how far it is."""
    job = collection.job
    return {
        "id": str(collection.pk),
        "kind": collection.kind,
        "target": collection.target.slug,
        "source": collection.source.slug if collection.source else None,
        "run": collection.run.number if collection.run else None,
        "systems": job.parameters["systems"],
        "rounds": collection.rounds,
        "seed": collection.seed,
        "created_at": collection.created_at,
        "job": str(job.pk),
        "state": job.state,
        "error": job.error,
        "remedy": job.remedy,
        **asdict(progress),
    }


class CollectionEstimateSerializer(serializers.Serializer[Any]):
    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()


class CollectionSystemRowSerializer(serializers.Serializer[Any]):
    system = serializers.CharField(allow_null=True, help_text="null: the human reply.")
    made = serializers.IntegerField()
    missing = serializers.IntegerField()
    rated = serializers.IntegerField()
    scores = serializers.DictField(child=CollectionEstimateSerializer(), help_text="By criterion.")


class CollectionComparisonSerializer(serializers.Serializer[Any]):
    better = serializers.CharField(allow_null=True)
    worse = serializers.CharField(allow_null=True)
    means = serializers.ListField(child=serializers.FloatField())
    p = serializers.FloatField(allow_null=True, help_text="Two-sided, adjusted for the number of pairs.")
    n = serializers.IntegerField()
    needed = serializers.IntegerField(allow_null=True)


class CollectionOneSidedSerializer(serializers.Serializer[Any]):
    better = serializers.CharField(allow_null=True)
    worse = serializers.CharField(allow_null=True)
    p = serializers.FloatField(allow_null=True)


class CollectionCriterionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    text = serializers.DictField(child=serializers.CharField())
    agreement = CollectionEstimateSerializer(help_text="Fleiss' κ.")
    without_majority = serializers.IntegerField(help_text="Items whose score is the median.")
    comparisons = CollectionComparisonSerializer(many=True)
    one_sided = CollectionOneSidedSerializer(many=True)


class CollectionBeatenSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    system = serializers.CharField()
    criterion = serializers.CharField()
    score = serializers.FloatField()
    human = serializers.FloatField()
    dialogue = serializers.IntegerField()
    human_dialogue = serializers.IntegerField()


class CollectionMissingSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    system = serializers.CharField(allow_null=True)
    error = serializers.CharField()


class CollectionReportSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=CollectionKind.choices)
    verdict = serializers.ListField(child=serializers.CharField())
    planned = serializers.IntegerField()
    rated = serializers.IntegerField()
    systems = CollectionSystemRowSerializer(many=True)
    agreement = CollectionEstimateSerializer(help_text="Fleiss' κ over all criteria.")
    criteria = CollectionCriterionSerializer(many=True)
    better_than_human = CollectionBeatenSerializer(many=True)
    missing = CollectionMissingSerializer(many=True)


def serialize_report(report: CollectionReport) -> dict[str, Any]:
    """The report as JSON. A system is null where the human reply is meant."""
    return {
        "kind": report.kind.value,
        "verdict": verdict_sentences(report),
        "planned": report.planned,
        "rated": report.rated,
        "systems": [_serialize_system(row) for row in report.systems],
        "agreement": report.overall_agreement.as_dict(),
        "criteria": [_serialize_criterion(criterion) for criterion in report.criteria],
        "better_than_human": [asdict(each) for each in report.beaten],
        "missing": [{**asdict(each), "system": each.system or None} for each in report.missing],
    }


def _serialize_system(row: SystemRow) -> dict[str, Any]:
    return {
        "system": row.system or None,
        "made": row.made,
        "missing": row.missing,
        "rated": row.rated,
        "scores": {name: score.as_dict() for name, score in row.scores.items()},
    }


def _serialize_criterion(criterion: Criterion) -> dict[str, Any]:
    return {
        "name": criterion.name,
        "text": {"en": criterion.text.en, "zh": criterion.text.zh},
        "agreement": criterion.agreement.as_dict(),
        "without_majority": criterion.split,
        "comparisons": [
            {
                "better": each.better or None,
                "worse": each.worse or None,
                "means": list(each.means),
                "p": each.p,
                "n": each.n,
                "needed": each.needed,
            }
            for each in criterion.comparisons
        ],
        "one_sided": [
            {"better": test.better or None, "worse": test.worse or None, "p": test.p}
            for test in criterion.pairwise
        ],
    }


def report_rows(report: CollectionReport) -> Iterator[dict[str, Any]]:
    """The table of scores in long form, with the columns CSV_HEAD. An empty system is the human reply."""
    for row in report.systems:
        for name, score in row.scores.items():
            yield {
                "system": row.system,
                "criterion": name,
                "mean": score.value,
                "low": score.low,
                "high": score.high,
                "items": score.n,
                "made": row.made,
                "missing": row.missing,
                "rated": row.rated,
            }
