"""Serializers of trainings."""

from typing import Any

from rest_framework import serializers

from common.rest.serializers import StrictSerializer
from jobs.models import JobState
from preference.registry.models import ModelKind
from preference.runs.assessor_options import BASELINES
from preference.runs.models import TrainingRun
from preference.runs.selectors import MOST_POINTS
from preference.runs.trainers import MOST_PROCESSES, recipe_names
from preference.training.joint.memory.assessment import Assessment
from preference.training.joint.recipe import RECIPES

LARGEST_SEED = 2**31 - 1


class TrainingInput(StrictSerializer):
    id = serializers.UUIDField(help_text="Made by the client; a second send returns the first training.")
    snapshot = serializers.UUIDField(help_text="A finished snapshot of the project.")
    model = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=300,
        help_text="Starting point: a trained model's name, or one of `bases`. Empty: the project's own model, or for "
        "an assessor or a topic model none. Administrators may name any folder or hub id.",
    )
    kind = serializers.ChoiceField(
        choices=ModelKind.choices,
        default=ModelKind.JOINT,
        help_text="joint, paireval: from snapshots of authoring projects. assessor: of labelling projects. topics: of "
        "both, from topics that people or files gave.",
    )
    recipe = serializers.ChoiceField(
        choices=recipe_names(),
        required=False,
        help_text="joint: diamante (default), quick. paireval: paper (default), reversed_lora, all_weights. "
        "assessor, topics: diqad.",
    )
    changes = serializers.DictField(
        child=serializers.JSONField(allow_null=True),
        required=False,
        help_text='Settings that differ from the recipe\'s, for example {"batch": 32}; the error for an unknown '
        "one lists all settings.",
    )
    is_lora = serializers.BooleanField(default=False, help_text="Train adapters and the head only.")
    seed = serializers.IntegerField(default=1, min_value=0, max_value=LARGEST_SEED)
    processes = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MOST_PROCESSES,
        help_text="joint, paireval: processes that divide every step. Default: one for each GPU of the worker's "
        "machine, on a CPU one.",
    )
    question = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=80,
        help_text="assessor: the question that it learns, whose final labels are 0, 1 and 2. Empty: the only one.",
    )
    models = serializers.ListField(
        child=serializers.ChoiceField(choices=BASELINES),
        required=False,
        max_length=len(BASELINES),
        help_text="assessor, topics: models to compare; the best network is registered. Default: all.",
    )


class MemoryInput(StrictSerializer):
    """Choices of a new training; see there."""

    model = serializers.CharField(required=False, allow_blank=True, max_length=300)
    recipe = serializers.ChoiceField(choices=sorted(RECIPES), required=False)
    changes = serializers.DictField(child=serializers.JSONField(allow_null=True), required=False)
    is_lora = serializers.BooleanField(default=False)
    processes = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=MOST_PROCESSES
    )


class GPUSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    memory = serializers.IntegerField(help_text="Bytes, free or not.")


class MemorySerializer(serializers.Serializer[Any]):
    """Bytes, of one process unless it says otherwise."""

    device = serializers.ChoiceField(choices=("cpu", "cuda"), source="plan.device")
    processes = serializers.IntegerField(source="plan.processes")
    computes_in = serializers.SerializerMethodField(help_text="bf16 or fp32.")
    tokens = serializers.IntegerField(source="plan.tokens", help_text="Of a micro-batch.")
    total_weights = serializers.IntegerField(source="plan.total_weights", help_text="Their number.")
    trained_weights = serializers.IntegerField(source="plan.trained_weights", help_text="Their number.")
    weights = serializers.IntegerField(source="plan.weights")
    gradients = serializers.IntegerField(source="plan.gradients")
    moments = serializers.IntegerField(source="plan.moments", help_text="Adam's.")
    activations = serializers.IntegerField(source="plan.activations")
    logits = serializers.IntegerField(source="plan.logits")
    passing = serializers.IntegerField(source="plan.passing", help_text="Gradients on their way.")
    peak = serializers.IntegerField(source="plan.peak", help_text="The sum of these at its largest.")
    main_memory = serializers.IntegerField(
        source="plan.main_memory",
        help_text="Main memory for all processes; on a GPU while they load the model.",
    )
    needed = serializers.IntegerField(help_text="The peak with what PyTorch takes for itself.")
    available = serializers.IntegerField(
        help_text="What this machine has for each process; 0 with fewer GPUs than processes."
    )
    fits = serializers.BooleanField()
    gpus = GPUSerializer(many=True, source="machine.gpus", help_text="Of this machine.")

    def get_computes_in(self, found: Assessment) -> str:
        return "bf16" if found.plan.bf16 else "fp32"


class HeldOutSerializer(serializers.Serializer[Any]):
    """What was measured of the split valid; losses in nats."""

    loss = serializers.FloatField(help_text="nll + ranking, weighted as in the recipe.")
    nll = serializers.FloatField()
    ranking = serializers.FloatField()
    p_at_1 = serializers.FloatField(
        help_text="Share of turns whose human reply has the highest preference score."
    )
    pair_accuracy = serializers.FloatField(help_text="Share of ranked pairs in the right order.")


class LatestSerializer(serializers.Serializer[Any]):
    """The newest step; empty before the first. Only joint trainings have nll and ranking."""

    step = serializers.IntegerField(required=False)
    steps = serializers.IntegerField(required=False, help_text="Total steps of the training.")
    epoch = serializers.IntegerField(required=False)
    loss = serializers.FloatField(required=False, help_text="nll + ranking, in nats.")
    nll = serializers.FloatField(required=False)
    ranking = serializers.FloatField(required=False)
    valid = HeldOutSerializer(required=False, help_text="Only if this step was validated.")
    lr = serializers.FloatField(required=False)
    seconds = serializers.FloatField(required=False, help_text="Time since the start.")
    eta_seconds = serializers.FloatField(required=False, help_text="Estimated time left.")


class TrainingSerializer(serializers.ModelSerializer[TrainingRun]):
    project = serializers.CharField(source="project.slug")
    snapshot = serializers.UUIDField(source="snapshot_id")
    parent = serializers.CharField(  # type: ignore[assignment]
        source="parent.slug", default=None, allow_null=True
    )
    changes = serializers.DictField(child=serializers.JSONField(allow_null=True))
    options = serializers.DictField(
        help_text='Of an assessor {"question", "models"}, of a topic model {"models"}, else empty.'
    )
    state = serializers.ChoiceField(choices=JobState.choices, source="job.state")
    done = serializers.IntegerField(source="job.done", help_text="Steps.")
    total = serializers.IntegerField(source="job.total", allow_null=True, help_text="Steps.")
    error = serializers.CharField(source="job.error", help_text="Why it failed; empty otherwise.")
    remedy = serializers.CharField(source="job.remedy")
    latest = LatestSerializer()
    model = serializers.CharField(source="model.slug", default=None, allow_null=True)
    has_files = serializers.BooleanField(source="folder", help_text="Whether curve and log exist.")
    started_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)
    ended_at = serializers.DateTimeField(source="job.ended_at", allow_null=True)

    class Meta:
        model = TrainingRun
        fields = [
            "id", "project", "number", "kind", "snapshot", "parent", "base", "recipe", "changes", "options", "is_lora",
            "seed", "processes", "state",
            "done", "total", "error", "remedy", "layout", "message", "latest", "model", "has_files", "started_by",
            "created_at", "ended_at",
        ]  # fmt: skip


class CurveQuery(serializers.Serializer[Any]):
    after = serializers.IntegerField(
        required=False, min_value=0, max_value=2**31, help_text="Return only steps after this one."
    )


class PointSerializer(serializers.Serializer[Any]):
    """Means over the steps `first` to `step`."""

    first = serializers.IntegerField()
    step = serializers.IntegerField()
    epoch = serializers.IntegerField()
    loss = serializers.FloatField()
    nll = serializers.FloatField(allow_null=True, help_text="null except in joint trainings.")
    ranking = serializers.FloatField(allow_null=True, help_text="null except in joint trainings.")
    lr = serializers.FloatField()
    seconds = serializers.FloatField()
    valid = HeldOutSerializer(
        allow_null=True, help_text="Mean over the validations of these steps; null without any."
    )


class CurveSerializer(serializers.Serializer[Any]):
    points = PointSerializer(many=True, help_text=f"At most {MOST_POINTS} points.")
    steps = serializers.IntegerField(help_text="Total steps of the training; 0 while unknown.")
    eta_seconds = serializers.FloatField(allow_null=True)


class BaseSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="Value for `model` of a new training.")
    is_trained = serializers.BooleanField(help_text="Whether it is a model trained on this server.")


class BasesQuery(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=ModelKind.choices, default=ModelKind.JOINT)


class BasesSerializer(serializers.Serializer[Any]):
    bases = BaseSerializer(many=True, help_text="The project's own model comes first, if it is local.")
