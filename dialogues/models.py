"""Dialogues, their utterances, and the candidates of an utterance."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from jobs.models import Job
from projects.models import Project


class Split(models.TextChoices):
    TRAIN = "train", _("Train")
    VALID = "valid", _("Validation")
    TEST = "test", _("Test")


class Origin(models.TextChoices):
    IMPORTED = "imported", _("Imported")
    AUTHORED = "authored", _("Authored")
    CHATTED = "chatted", _("Chat with a system")
    COLLECTED = "collected", _("Collected from systems")


class DialogueState(models.TextChoices):
    WRITING = "writing", _("Being written")
    FINISHED = "finished", _("Finished")
    ABANDONED = "abandoned", _("Abandoned")


DIALOGUE_MOVES = {
    DialogueState.WRITING: {DialogueState.FINISHED, DialogueState.ABANDONED},
    DialogueState.FINISHED: {DialogueState.WRITING},  # its author takes it back before an expert has seen it
    DialogueState.ABANDONED: {DialogueState.WRITING},
}


class ReviewState(models.TextChoices):
    """Kept apart from the annotation state: a dialogue can be finished and not yet reviewed."""

    UNREVIEWED = "unreviewed", _("Not reviewed")
    PASSED = "passed", _("Passed")
    VETOED = "vetoed", _("Vetoed")


REVIEW_MOVES = {
    ReviewState.UNREVIEWED: {ReviewState.PASSED, ReviewState.VETOED},
    ReviewState.PASSED: {ReviewState.VETOED, ReviewState.UNREVIEWED},
    ReviewState.VETOED: {ReviewState.PASSED, ReviewState.UNREVIEWED},
}


class TopicSource(models.TextChoices):
    """Who or what chose a dialogue's topic. Machines never replace what a person or a file said."""

    PERSON = "person", _("A person")
    IMPORTED = "imported", _("The imported file")
    JUDGE = "judge", _("A judge")
    MODEL = "model", _("A topic model")


TOPIC_CHARS = 40


class Action(models.TextChoices):
    """How an utterance was written (Diamante §2.1). Derived from the text, never asked."""

    SELECT = "select", _("Select")
    REVISE = "revise", _("Revise")
    REWRITE = "rewrite", _("Rewrite")


def new_external_id() -> str:
    """A globally unique id, so that exports of several installations can be combined."""
    return str(uuid.uuid4())


class Dialogue(models.Model):
    """An ordered conversation of a project."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="dialogues")
    external_id = models.CharField(
        max_length=200,
        default=new_external_id,
        help_text=_("Its name outside of this installation: the imported file's, else made here once."),
    )
    origin = models.CharField(max_length=9, choices=Origin)
    state = models.CharField(max_length=9, choices=DialogueState)
    review_state = models.CharField(max_length=10, choices=ReviewState, default=ReviewState.UNREVIEWED)
    split = models.CharField(max_length=5, choices=Split, help_text=_("Assigned once, by a hash"))
    language = models.CharField(max_length=10, blank=True)
    domain = models.CharField(max_length=80, blank=True)
    # Web processes of the release before write rows without topics while an upgrade runs.
    topic = models.CharField(
        max_length=TOPIC_CHARS,
        blank=True,
        default="",
        db_default="",
        help_text=_("Id of one of the project's topics; empty: none yet"),
    )
    topic_source = models.CharField(max_length=8, choices=TopicSource, blank=True, default="", db_default="")
    topic_probability = models.FloatField(null=True, help_text=_("Of the topic, if a model chose it"))
    topic_job = models.ForeignKey(
        Job, null=True, on_delete=models.SET_NULL, related_name="tagged_dialogues", db_index=False
    )
    metadata = models.JSONField(default=dict)
    utterance_count = models.PositiveIntegerField(default=0)
    import_job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="dialogues")
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "external_id"], name="one_dialogue_per_external_id"),
            models.CheckConstraint(
                condition=Q(topic="", topic_source="") | (~Q(topic="") & ~Q(topic_source="")),
                name="a_topic_has_a_source",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "state", "review_state", "id"], name="dialogue_review"),
            models.Index(fields=["project", "-id"], name="dialogue_newest"),
            models.Index(fields=["project", "utterance_count", "id"], name="dialogue_length"),
            models.Index(fields=["project", "topic", "id"], name="dialogue_topic", condition=~Q(topic="")),
            models.Index(
                fields=["topic_job"], name="dialogue_topic_job", condition=Q(topic_job__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"dialogue {self.pk}"


class CandidateSet(models.Model):
    """The candidates of one turn, in the order in which they are displayed.

    candidates: list of {"text", "seed", "tokens", "logprob", "score", "warmth"} (see generation/protocol.py); a source
    is an index into it. If two models wrote the set, `model_version` is empty and every candidate has its own
    "model_version". sampling: how the candidates were sampled, and the "order" in which they are displayed.
    One row holds the whole set, because it is written once and always read as a whole.
    """

    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="candidate_sets")
    position = models.PositiveIntegerField(
        help_text=_("Position of the utterance that they are candidates for")
    )
    candidates = models.JSONField()
    model_version = models.CharField(max_length=200, blank=True)
    sampling = models.JSONField(default=dict)
    seed = models.BigIntegerField(null=True, help_text=_("Of the display order"))
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["dialogue", "position"], name="candidate_set_turn")]

    def __str__(self) -> str:
        return f"candidates for {self.dialogue_id}[{self.position}]"

    def version_of(self, place: int | None) -> str:
        """The version of the model that wrote the candidate at this index; "" for None in a set of two models."""
        own = self.candidates[place] if place is not None and place < len(self.candidates) else {}
        return str(own.get("model_version") or self.model_version)


class Provenance(models.Model):
    """How a text came about: the action, the source candidate, and the characters changed from it (Levenshtein)."""

    candidate_set = models.ForeignKey(CandidateSet, null=True, on_delete=models.SET_NULL, related_name="+")
    action = models.CharField(max_length=7, choices=Action, blank=True)
    source = models.PositiveSmallIntegerField(
        null=True, help_text=_("Place of the source candidate in its set")
    )
    edit_distance = models.PositiveIntegerField(
        null=True, help_text=_("Characters, Levenshtein, from the source")
    )

    class Meta:
        abstract = True


class Utterance(Provenance):
    """One message of a dialogue. Its provenance is stored with it, so that exports and statistics need not guess."""

    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="utterances")
    position = models.PositiveIntegerField()
    speaker = models.CharField(max_length=80)
    text = models.TextField()
    time = models.CharField(max_length=40, blank=True)
    metadata = models.JSONField(default=dict)
    action_derived = models.BooleanField(
        default=False,
        db_default=False,
        help_text=_("Derived from the texts on import, because the file does not name the action"),
    )

    class Meta:
        ordering = ["dialogue_id", "position"]
        indexes = [
            models.Index(fields=["action", "dialogue"], name="utterance_action", condition=~Q(action="")),
        ]
        constraints = [
            models.UniqueConstraint(fields=["dialogue", "position"], name="one_utterance_per_position"),
            models.CheckConstraint(
                condition=Q(action="select", source__isnull=False, edit_distance=0)
                | Q(action="revise", source__isnull=False)
                | Q(action__in=["rewrite", ""]),
                name="action_names_its_source",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.speaker}: {self.text[:40]}"


class DeletedDialogue(models.Model):
    """What stays of a deleted dialogue: when, by whom, why, and how much went with it; none of its text.

    dialogue: its former id. id_sha256: of its external id, so that an import of the same file leaves it out. counts:
    how many rows went, by code (dialogues.services.deleting). job: looks through exports and snapshots.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="deleted_dialogues")
    dialogue = models.BigIntegerField()
    id_sha256 = models.CharField(max_length=64)
    reason = models.TextField()
    counts = models.JSONField(default=dict)
    deleted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    deleted_at = models.DateTimeField(default=timezone.now)
    job = models.ForeignKey(Job, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "id_sha256"], name="one_deletion_per_external_id"),
            models.UniqueConstraint(fields=["dialogue"], name="one_deletion_per_dialogue"),
        ]
        indexes = [models.Index(fields=["project", "-id"], name="deletion_newest")]

    def __str__(self) -> str:
        return f"deleted dialogue {self.dialogue}"


class RefusedRow(models.Model):
    """A row that an import refused: a code and its parameters, so that everybody reads it in their own language."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="refused_rows", db_index=False)
    line = models.PositiveIntegerField()
    code = models.CharField(max_length=40)
    params = models.JSONField(default=dict)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["job", "id"], name="refused_row_job")]

    def __str__(self) -> str:
        return f"line {self.line}: {self.code}"
