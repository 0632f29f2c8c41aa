"""Dialogues of a study in the list: conversations of participants, trials, and what collections made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from assessment.collections.models import CollectedDialogue
from assessment.collections.selectors.collections import collected_systems
from assessment.report.selectors.conversations_of_dialogues import (
    RatedConversation,
    filter_by_mean,
    rated_conversations,
)
from assessment.sessions.models.conversations import Session
from assessment.sessions.models.participants import Participant
from assessment.sessions.selectors.runs import runs_of
from assessment.setup.models import AssessmentSettings
from assessment.systems.models import System, Trial
from assessment.systems.selectors.trials import tried_systems
from dialogues.models import Dialogue
from frontend.ui.filters import Filter
from frontend.ui.questions import statement_texts
from projects.models import Project

# Well-rated conversations are those that can be trained on by default.
LEAST_MEANS: Final = (80, 60, 40)
TRIAL: Final = "trial"
KINDS: Final = [
    ("participant", gettext_lazy("Conversations of participants")),
    ("collected", gettext_lazy("Collected from systems")),
    (TRIAL, gettext_lazy("Tried out")),
]


@dataclass(frozen=True, slots=True)
class StudyDialogue:
    """What a dialogue is in the study. conversation: of a participant, if it is one."""

    system: System | None
    is_trial: bool
    conversation: RatedConversation | None

    @property
    def ratings(self) -> list[tuple[str, float]]:
        """What the participant rated, in words, from 0 to 100 each."""
        if self.conversation is None or not self.conversation.values:
            return []
        project = self.conversation.session.assignment.run.project_id
        texts = statement_texts(AssessmentSettings.objects.get(project=project))
        return [(texts.get(name, name), value) for name, value in self.conversation.values.items()]


def study_filters(project: Project) -> list[Filter]:
    """The select boxes for readers who may know the systems."""
    names = System.objects.filter(project=project).values_list("name", flat=True)
    runs = [(str(run.number), _("Run %(n)d") % {"n": run.number}) for run in runs_of(project)]
    means = [(str(least), _("%(n)s and more") % {"n": intcomma(least)}) for least in LEAST_MEANS]
    return [
        Filter("kind", _("Kind"), _("Without trials"), KINDS),
        Filter("run", _("Run"), _("Every run"), runs),
        Filter("system", _("System"), _("Every system"), [(name, name) for name in names]),
        Filter("rated", _("Mean rating"), _("Every rating"), means),
    ]


def filter_study(
    rows: QuerySet[Dialogue], project: Project, chosen: Mapping[str, str], participant: Participant | None
) -> QuerySet[Dialogue]:
    """Apply the chosen filters of `study_filters`. Trials are left out unless they are chosen."""
    rows = _filter_kind(rows, chosen.get("kind", ""))
    if "run" in chosen:
        rows = rows.filter(assessment_session__assignment__run__number=int(chosen["run"]))
    if participant is not None:
        rows = rows.filter(assessment_session__assignment__participant=participant)
    if "system" in chosen:
        rows = rows.filter(_has_system(project, chosen["system"]))
    if "rated" in chosen:
        rows = filter_by_mean(rows, project, float(chosen["rated"]))
    return rows


def _filter_kind(rows: QuerySet[Dialogue], kind: str) -> QuerySet[Dialogue]:
    own = OuterRef("pk")
    is_trial = Exists(Trial.objects.filter(dialogue=own))
    if kind == TRIAL:
        return rows.filter(is_trial)
    if kind == "participant":
        return rows.filter(Exists(Session.objects.filter(dialogue=own)))
    if kind == "collected":
        return rows.filter(Exists(CollectedDialogue.objects.filter(draft=own)))
    return rows.filter(~is_trial)


def _has_system(project: Project, name: str) -> Q:
    """Whether the dialogue is with this system, in a session, a trial or a collection."""
    named = {"system__project": project, "system__name": name}
    own = OuterRef("pk")
    return (
        Q(Exists(Session.objects.filter(dialogue=own, **named)))
        | Q(Exists(Trial.objects.filter(dialogue=own, **named)))
        | Q(Exists(CollectedDialogue.objects.filter(draft=own, **named)))
    )


def describe_study(project: Project, dialogues: Sequence[Dialogue]) -> dict[int, StudyDialogue]:
    """By the key of the dialogue; five queries."""
    conversations = rated_conversations(project, dialogues)
    tried, collected = tried_systems(dialogues), collected_systems(dialogues)
    return {
        dialogue.pk: _describe(
            conversations.get(dialogue.pk), tried.get(dialogue.pk), collected.get(dialogue.pk)
        )
        for dialogue in dialogues
    }


def _describe(
    conversation: RatedConversation | None,
    tried: System | None,
    collected: System | None,
) -> StudyDialogue:
    system = conversation.session.system if conversation else tried or collected
    return StudyDialogue(system, tried is not None, conversation)


def chosen_participant(project: Project, number: int | None) -> Participant | None:
    """The participant of the project with this number."""
    found = Participant.objects.filter(project=project, pk=number) if number is not None else None
    return found.select_related("user").first() if found is not None else None
