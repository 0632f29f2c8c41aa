"""Which conversations of a study an export takes, and reading them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from statistics import fmean
from typing import Any, NamedTuple

from django.db.models import Count, Q, QuerySet

from assessment.report.selectors.run_report import passed_participants
from assessment.sessions.models.conversations import Rating, Session, SessionState
from assessment.sessions.models.participants import PAID, Assignment, AssignmentState
from assessment.sessions.models.runs import Run
from assessment.setup.models import AssessmentSettings
from assessment.systems.models import Connector
from dialogues.models import Utterance
from measures.rated_dialogues import MAXIMUM
from preference.data.models.exports import FormatName
from preference.data.selectors.random_replies import normalize_spaces
from preference.data.selectors.selection import Filters, Preview, UtteranceText
from projects.models import Project

READ_AT_ONCE = 50  # assignments
WELL_RATED = 60.0  # mean of the statements, 0-100, from which on a conversation is used for training
TRAINING = (FormatName.SFT, FormatName.PREFERENCE)
UNDER_WAY = (AssignmentState.INVITED, AssignmentState.ACTIVE)
SYSTEM = "B"  # the speaker of replies
SEVERAL = -1  # systems


@dataclass(frozen=True, slots=True)
class StudyAssignment:
    """An assignment that ended paid and those of its conversations that the filters let through, in their order."""

    assignment: Assignment
    sessions: Sequence[Session]


class RatedReply(NamedTuple):
    """A reply of a system, its name, and the mean score of its conversation."""

    system: int
    system_name: str
    score: float
    dialogue_id: str
    language: str
    context: Sequence[UtteranceText]
    said: UtteranceText


@dataclass
class StudySelection:
    """The assignments of a study that ended paid, in the order of their ids; as in the report, others are left out.

    last_id: newer assignments are not part of it. left_out: stays empty.
    """

    project: Project
    filters: Filters
    last_id: int
    left_out: Counter[str] = field(default_factory=Counter)

    @cached_property
    def settings(self) -> AssessmentSettings:
        return AssessmentSettings.objects.get(project=self.project)

    def count(self) -> int:
        """Conversations."""
        return self._sessions().count()

    def dialogue_count(self, page: Sequence[Any]) -> int:
        return sum(len(each.sessions) for each in page)

    def pages(self) -> Iterator[list[StudyAssignment]]:
        after = 0
        while rows := list(self._assignments(after)[:READ_AT_ONCE]):
            by_assignment: dict[int, list[Session]] = defaultdict(list)
            for session in self._sessions().filter(assignment__in=rows):
                by_assignment[session.assignment_id].append(session)
            yield [StudyAssignment(row, by_assignment[row.pk]) for row in rows]
            after = rows[-1].pk

    def texts(self, sessions: Iterable[Session]) -> dict[int, list[UtteranceText]]:
        """The utterances of the conversations by dialogue, in order; one query."""
        dialogues = [session.dialogue_id for session in sessions if session.dialogue_id]
        rows = Utterance.objects.filter(dialogue__in=dialogues).order_by("dialogue_id", "position")
        by_dialogue: dict[int, list[UtteranceText]] = defaultdict(list)
        for row in rows.values_list("dialogue_id", "position", "speaker", "text"):
            by_dialogue[row[0]].append(UtteranceText(*row))
        return by_dialogue

    def ratings(self, sessions: Iterable[Session]) -> dict[int, dict[str, float]]:
        """The values by session and statement, 0-100 and not reversed; one query."""
        rows = Rating.objects.filter(session__in=[session.pk for session in sessions]).order_by("id")
        by_session: dict[int, dict[str, float]] = defaultdict(dict)
        for session, statement, value in rows.values_list("session_id", "statement", "value"):
            by_session[session][statement] = value
        return by_session

    @cached_property
    def mean_scores(self) -> Mapping[int, float]:
        """The mean score of each conversation that can be trained on, 0-100 and higher is better, by session.

        Those are conversations with texts and an ordinary system, by participants who passed the reliability test.
        """
        reversed_ = {each.name for each in self.settings.statement_list if each.is_reversed}
        names = {each.name for each in self.settings.statement_list}
        values: dict[int, list[float]] = defaultdict(list)
        rows = Rating.objects.filter(session__in=self._trainable(), statement__in=names)
        for session, statement, value in rows.values_list("session_id", "statement", "value"):
            values[session].append(MAXIMUM - value if statement in reversed_ else value)
        return {session: fmean(given) for session, given in values.items()}

    def replies(self, page: Sequence[StudyAssignment]) -> Iterator[RatedReply]:
        """The replies of the conversations that can be trained on."""
        rated = [session for each in page for session in each.sessions if session.pk in self.mean_scores]
        texts = self.texts(rated)
        for session in rated:
            if (dialogue := session.dialogue) is None:
                continue
            utterances = texts.get(dialogue.pk, [])
            for place, said in enumerate(utterances):
                if place and said.speaker == SYSTEM:
                    yield RatedReply(
                        session.system_id,
                        session.system.name,
                        self.mean_scores[session.pk],
                        dialogue.external_id,
                        dialogue.language,
                        utterances[:place],
                        said,
                    )

    @cached_property
    def shared_replies(self) -> Mapping[bytes, Sequence[RatedReply]]:
        """The replies to contexts that two systems or more answered, by context_key.

        The study is read twice, so that memory holds only those replies, and a short key for every other context.
        """
        systems: dict[bytes, int] = {}
        for page in self.pages():
            for reply in self.replies(page):
                key = context_key(reply.context)
                systems[key] = reply.system if systems.get(key, reply.system) == reply.system else SEVERAL
        shared: dict[bytes, list[RatedReply]] = defaultdict(list)
        for page in self.pages():
            for reply in self.replies(page):
                if systems.get(key := context_key(reply.context)) == SEVERAL:
                    shared[key].append(reply)
        return shared

    def _trainable(self) -> QuerySet[Session]:
        passed = Q(pk__in=[])
        for run in self._runs():
            passed |= Q(
                assignment__run=run, assignment__participant__in=passed_participants(run, self.settings)
            )
        rows = self._sessions().filter(passed, dialogue__isnull=False)
        return rows.exclude(system__connector=Connector.DEGRADED).order_by().select_related(None)

    def _runs(self) -> QuerySet[Run]:
        runs = Run.objects.filter(project=self.project)
        return runs if self.filters.run is None else runs.filter(number=self.filters.run)

    def _assignments(self, after: int = 0) -> QuerySet[Assignment]:
        rows = Assignment.objects.filter(
            run__in=self._runs(), state__in=PAID, id__gt=after, id__lte=self.last_id
        )
        return rows.select_related("run").order_by("id")

    def _sessions(self) -> QuerySet[Session]:
        rows = Session.objects.filter(_in_splits(self.filters), assignment__in=self._assignments().order_by())
        rows = rows.exclude(state=SessionState.VOIDED).select_related("system", "dialogue")
        return rows.order_by("assignment_id", "place", "attempt")


def select_study(project: Project, filters: Filters) -> StudySelection:
    """The selection at this moment."""
    newest = Assignment.objects.filter(run__project=project).order_by("-id").values_list("id", flat=True)
    return StudySelection(project, filters, newest.first() or 0)


def preview_study(project: Project, filters: Filters, format: str = "") -> Preview:
    """What an export of a study would take, in conversations; withheld: not rated well enough to train on."""
    runs = Q() if filters.run is None else Q(assignment__run__number=filters.run)
    sessions = Session.objects.filter(runs, assignment__run__project=project).order_by()
    voided, in_splits = Q(state=SessionState.VOIDED), _in_splits(filters)
    paid, under_way = Q(assignment__state__in=PAID), Q(assignment__state__in=UNDER_WAY)
    counts = sessions.aggregate(
        leaving=Count("id", filter=paid & ~voided & in_splits),
        other_split=Count("id", filter=paid & ~voided & ~in_splits),
        writing=Count("id", filter=under_way & ~voided),
        abandoned=Count("id", filter=voided | (~paid & ~under_way)),
    )
    selected = counts["leaving"]
    if format in TRAINING:
        scores = select_study(project, filters).mean_scores
        counts["leaving"] = sum(is_well_rated(score, filters) for score in scores.values())
    return Preview(**counts, withheld=selected - counts["leaving"])


def context_key(context: Sequence[UtteranceText]) -> bytes:
    """Equal for contexts that differ in nothing but white space."""
    texts = "\0".join(f"{one.speaker}\1{normalize_spaces(one.text)}" for one in context)
    return sha256(texts.encode()).digest()[:16]


def is_well_rated(score: float | None, filters: Filters) -> bool:
    return score is not None and score >= (WELL_RATED if filters.least_score is None else filters.least_score)


def _in_splits(filters: Filters) -> Q:
    """Conversations without texts have no split; they leave with every one."""
    return Q(dialogue=None) | Q(dialogue__split__in=filters.splits)
