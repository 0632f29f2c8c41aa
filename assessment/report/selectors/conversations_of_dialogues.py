"""Conversations of a study as dialogues: with which system, and how people rated them."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from django.db.models import Avg, Case, F, QuerySet, When

from assessment.sessions.models.conversations import Rating, Session
from assessment.setup.models import AssessmentSettings
from dialogues.models import Dialogue
from measures.rated_dialogues import MAXIMUM
from projects.models import Project


@dataclass(frozen=True, slots=True)
class RatedConversation:
    """values: 0-100 by statement, as they were given. mean: of the values, higher is better; None without any."""

    session: Session
    values: Mapping[str, float]
    mean: float | None


def rated_conversations(project: Project, dialogues: Collection[Dialogue]) -> dict[int, RatedConversation]:
    """The conversation of each dialogue that is one, by the dialogue's id; three queries."""
    about = ("system", "assignment__run", "assignment__participant__user")
    sessions = list(Session.objects.filter(dialogue__in=dialogues).select_related(*about))
    values: dict[int, dict[str, float]] = defaultdict(dict)
    for rating in Rating.objects.filter(session__in=sessions).order_by("id"):
        values[rating.session_id][rating.statement] = rating.value
    reversed_ = _reversed_statements(project)
    return {
        session.dialogue_id: RatedConversation(
            session, values[session.pk], _mean(values[session.pk], reversed_)
        )
        for session in sessions
        if session.dialogue_id
    }


def filter_by_mean(rows: QuerySet[Dialogue], project: Project, least: float) -> QuerySet[Dialogue]:
    """Only dialogues whose mean rating is at least this high; see RatedConversation."""
    value, statement = F("assessment_session__ratings__value"), "assessment_session__ratings__statement__in"
    agreed = Case(When(**{statement: _reversed_statements(project)}, then=MAXIMUM - value), default=value)
    return rows.annotate(mean_rating=Avg(agreed)).filter(mean_rating__gte=least)


def _mean(values: Mapping[str, float], reversed_: Collection[str]) -> float | None:
    if not values:
        return None
    return fmean(MAXIMUM - value if name in reversed_ else value for name, value in values.items())


def _reversed_statements(project: Project) -> Sequence[str]:
    settings = AssessmentSettings.objects.get(project=project)
    return [each.name for each in settings.statement_list if each.is_reversed]
