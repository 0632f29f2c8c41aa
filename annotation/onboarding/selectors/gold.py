"""Gold dialogues as trainers see them: how people answered them, and what could become one."""

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from accounts.models import User
from annotation.labelling.models.gold import GoldDialogue
from annotation.labelling.models.labels import FinalLabel, LabelOrigin, ShownLabels, Submission
from annotation.labelling.selectors.gold import live_gold
from annotation.labelling.selectors.visibility import hidden_labels
from annotation.onboarding.models import AdmissionItem
from dialogues.models import Dialogue
from projects.models import Project


def gold_counts(project: Project) -> dict[int, tuple[int, int]]:
    """By gold dialogue: how many people answered it, and how many of them got everything right."""
    rows = (
        AdmissionItem.objects.filter(gold__project=project, answered_at__isnull=False)
        .values("gold")
        .annotate(n=Count("pk"), right=Count("pk", filter=Q(wrong=[])))
    )
    return {row["gold"]: (row["n"], row["right"]) for row in rows}


def known_gold(annotator: User, project: Project) -> set[int]:
    """Gold dialogues that the person has labelled, or whose labels or right answers the person was shown."""
    labelled = Submission.objects.filter(task__dialogue=OuterRef("dialogue"), annotator=annotator)
    shown = ShownLabels.objects.filter(task__dialogue=OuterRef("dialogue"), person=annotator)
    return set(live_gold(project).filter(Exists(labelled) | Exists(shown)).values_list("pk", flat=True))


def gold_for(project: Project, dialogue_id: int) -> GoldDialogue | None:
    return live_gold(project).filter(dialogue=dialogue_id).first()


def proposed_answers(reader: User, project: Project, dialogue_id: int) -> FinalLabel | None:
    """The final label that people gave the dialogue, a first proposal for its right answers.

    None if missing, or if the reader may still have to judge it blind.
    """
    hidden = hidden_labels(reader, project)
    if hidden.filter(task__dialogue=dialogue_id).exists():
        return None
    finals = FinalLabel.objects.filter(project=project, dialogue=dialogue_id, superseded_at=None)
    return finals.exclude(origin=LabelOrigin.MACHINE).first()


def candidates_for_gold(project: Project) -> QuerySet[Dialogue]:
    """Dialogues that a trainer decided and that are not gold yet, the newest `decision` first."""
    gold = GoldDialogue.objects.filter(dialogue=OuterRef("pk"), retired_at=None)
    decided = Q(tasks__final_labels__superseded_at=None, tasks__final_labels__origin=LabelOrigin.DECIDED)
    rows = Dialogue.objects.filter(~Exists(gold), decided, project=project)
    return rows.annotate(decision=F("tasks__final_labels__pk")).order_by("-decision")
