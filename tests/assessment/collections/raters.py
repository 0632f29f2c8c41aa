"""Scripted raters: they claim and submit as the labelling page does."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from accounts.models import User
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.tasks.services.claiming import claim_next_task
from assessment.collections.models import CollectedDialogue
from common.refusals import Refusal
from dialogues.models import Dialogue
from projects.models import Project

# The scores for an utterance and for the dialogue (engagingness), by rater and the name of the system.
Opinion = Callable[[str, str], tuple[int, int]]
RATED = ("bot",)


def answers_for(dialogue: Dialogue, utterance: int, engagingness: int) -> dict[str, Any]:
    """The same score for every criterion of every reply of a system."""
    speakers = dialogue.utterances.order_by("position").values_list("position", "speaker")
    criteria = dict.fromkeys(("coherence", "informativeness", "safety"), utterance)
    return {
        "dialogue": {"engagingness": engagingness},
        "utterances": {str(position): criteria for position, speaker in speakers if speaker in RATED},
    }


def rate_everything(project: Project, raters: Sequence[User], opinion: Opinion) -> int:
    """Every rater rates until nothing is left; returns the number of submissions."""
    return sum(rate(project, rater, opinion) for rater in raters)


def rate(project: Project, rater: User, opinion: Opinion) -> int:
    sent = 0
    while True:
        try:
            assignment = claim_next_task(annotator=rater, project=project, claim_id=uuid4())
        except Refusal as refusal:
            if refusal.code != "all_done":
                raise
            return sent
        dialogue = assignment.dialogue
        assert dialogue is not None
        row = CollectedDialogue.objects.select_related("system").get(dialogue=dialogue)
        scores = opinion(rater.username, row.system.name if row.system else "")
        labels = SentLabels(id=uuid4(), schema=1, answers=answers_for(dialogue, *scores))
        submit_labels(annotator=rater, assignment_id=assignment.pk, sent=labels)
        sent += 1
