"""Dialogues and imports that a person may read."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Left
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from accounts.models import User
from common.languages import language_name
from common.refusals import NotFound, Refusal
from dialogues.models import (
    Action,
    CandidateSet,
    DeletedDialogue,
    Dialogue,
    RefusedRow,
    ReviewState,
    Utterance,
)
from dialogues.parsing.row_errors import RowError
from jobs.models import LIVE_STATES, Job, JobState
from projects.models import Event, Project
from projects.roles import Capability
from projects.selectors import capabilities_of, project_for

FILTERS = ("origin", "state", "review_state", "split", "language", "domain", "topic", "import_job")
NO_TOPIC = "none"  # as a filter: dialogues without a topic
OPENING_CHARS = 160
SEARCH_WINDOW = 20_000  # dialogues; 0.2 s in the database with 14 utterances each
MAX_EVENTS = 100
LANGUAGES = 50


def dialogues_of(project: Project, *, action: str = "", **filters: str) -> QuerySet[Dialogue]:
    """The project's dialogues in the order in which they were added. filters: see FILTERS; empty ones are ignored.

    action: only dialogues with an utterance of this action.
    """
    active = {name: value for name, value in filters.items() if value}
    if active.get("topic") == NO_TOPIC:
        active["topic"] = ""
    if unknown := set(active) - set(FILTERS):
        raise TypeError(f"no such filter: {', '.join(sorted(unknown))}")
    rows = Dialogue.objects.filter(project=project, **active).order_by("id")
    if action:
        rows = rows.filter(Exists(Utterance.objects.filter(dialogue=OuterRef("pk"), action=action)))
    return rows


def has_topics(project: Project) -> bool:
    """Whether any dialogue of the project has a topic."""
    return Dialogue.objects.filter(project=project).exclude(topic="").exists()


def languages_of(project: Project) -> list[tuple[str, str]]:
    """The languages of the project's dialogues, each as (code, name); dialogues without one are left out."""
    rows = Dialogue.objects.filter(project=project).exclude(language="").order_by("language")
    return [
        (code, language_name(code)) for code in rows.values_list("language", flat=True).distinct()[:LANGUAGES]
    ]


def annotate_opening(rows: QuerySet[Dialogue]) -> QuerySet[Dialogue]:
    """Annotate each dialogue with the beginning of its first utterance as `opening`."""
    first = Utterance.objects.filter(dialogue=OuterRef("pk"), position=0)
    return rows.annotate(opening=Subquery(first.values(begins=Left("text", OPENING_CHARS))))


def search_dialogues(
    rows: QuerySet[Dialogue], words: str, before: int | None
) -> tuple[QuerySet[Dialogue], int | None]:
    """Search the newest SEARCH_WINDOW dialogues with an id below `before` for a text or an external id.

    PostgreSQL has no word index for Chinese, so the search is limited instead. Returns the matches and the lowest id
    that was searched, to be passed as the next `before`; None once everything was searched.
    """
    newest = rows.order_by("-id")
    newest = newest.filter(id__lt=before) if before is not None else newest
    floor = newest.values_list("id", flat=True)[SEARCH_WINDOW - 1 : SEARCH_WINDOW].first()
    contains_words = Exists(Utterance.objects.filter(dialogue=OuterRef("pk"), text__icontains=words))
    matches = newest.filter(Q(external_id=words) | contains_words)
    return (matches if floor is None else matches.filter(id__gte=floor)), floor


def count_actions(dialogues: Collection[Dialogue]) -> Mapping[int, Mapping[str, int]]:
    """The number of utterances by action, for each dialogue id; one query."""
    rows = Utterance.objects.filter(dialogue__in=dialogues, action__in=Action.values).order_by()
    counts: dict[int, dict[str, int]] = defaultdict(lambda: dict.fromkeys(Action.values, 0))
    for dialogue, action, n in rows.values_list("dialogue", "action").annotate(n=Count("id")):
        counts[dialogue][action] = n
    return counts


def dialogue_not_found() -> NotFound:
    return NotFound(_("There is no such dialogue."), _("It may belong to a project that you have left."))


def dialogue_for(user: User, dialogue_id: int) -> Dialogue:
    """A dialogue of a project whose dialogues the person may read. Authors fetch their own through annotation."""
    dialogue = Dialogue.objects.select_related("project").filter(pk=dialogue_id).first()
    if dialogue is None:
        refuse_deleted(user, dialogue_id)
    if dialogue is None or Capability.READ_DIALOGUES not in capabilities_of(user, dialogue.project):
        raise dialogue_not_found()
    return dialogue


def refuse_deleted(user: User, dialogue_id: int) -> None:
    """Raise Refusal `deleted` if the dialogue was deleted and the person might have read it."""
    row = DeletedDialogue.objects.select_related("project").filter(dialogue=dialogue_id).first()
    if row is not None and Capability.READ_DIALOGUES in capabilities_of(user, row.project):
        raise Refusal(
            "deleted",
            _("Dialogue %(n)d was deleted on %(date)s.")
            % {"n": dialogue_id, "date": date_format(timezone.localtime(row.deleted_at), "DATE_FORMAT")},
            _("It cannot be brought back. Its managers see who deleted it, and why."),
            status=410,
        )


def deletions_of(project: Project) -> QuerySet[DeletedDialogue]:
    """What stays of the project's deleted dialogues, the newest first."""
    rows = DeletedDialogue.objects.filter(project=project).select_related("deleted_by", "job")
    return rows.order_by("-id")


def deletion_for(user: User, dialogue_id: int) -> DeletedDialogue | None:
    """The tombstone of a dialogue of a project that the person manages; None if it was not deleted."""
    row = (
        DeletedDialogue.objects.select_related("project", "deleted_by", "job")
        .filter(dialogue=dialogue_id)
        .first()
    )
    managed = row is not None and Capability.MANAGE_MEMBERS in capabilities_of(user, row.project)
    return row if managed else None


def deletable_dialogue_for(user: User, dialogue_id: int) -> Dialogue:
    """A dialogue of a project that the person manages. Raises NotFound, NotAllowed, Refusal deleted."""
    dialogue = dialogue_for(user, dialogue_id)
    project_for(user, dialogue.project.slug, Capability.MANAGE_MEMBERS)
    return dialogue


def utterances_of(dialogue: Dialogue) -> QuerySet[Utterance]:
    """The utterances in order, each with its candidate set; one query."""
    return Utterance.objects.filter(dialogue=dialogue).select_related("candidate_set").order_by("position")


def candidate_sets_of(project: Project) -> QuerySet[CandidateSet]:
    """The candidates of the project's turns, in the order in which they were generated or imported."""
    return CandidateSet.objects.filter(dialogue__project=project).select_related("dialogue").order_by("id")


def replies_to(page: Collection[CandidateSet]) -> Mapping[int, Utterance]:
    """By candidate set, the utterance that was sent where it was shown; one query."""
    rows = Utterance.objects.filter(candidate_set__in=page)
    return {utterance.candidate_set_id: utterance for utterance in rows if utterance.candidate_set_id}


@dataclass(frozen=True, slots=True)
class History:
    """The events of a dialogue, newest first. names_people: whether the reader may see who did what."""

    events: list[Event]
    names_people: bool


def history_of(user: User, dialogue: Dialogue) -> History:
    """The last MAX_EVENTS changes that the person may see.

    Reviewers judge the text alone: until there is a verdict they see neither the authors nor other people's decisions.
    """
    granted = capabilities_of(user, dialogue.project)
    reviews_blind = Capability.REVIEW in granted and dialogue.review_state == ReviewState.UNREVIEWED
    events = Event.objects.filter(subject_type=dialogue._meta.label_lower, subject_id=str(dialogue.pk))
    events = events.exclude(kind__in=["verdict", "review"]) if reviews_blind else events
    names_people = Capability.READ_STATISTICS in granted and not reviews_blind
    return History(list(events.select_related("actor").order_by("-id")[:MAX_EVENTS]), names_people)


def imports_of(project: Project) -> QuerySet[Job]:
    """The imports of the project, newest first."""
    rows = Job.objects.filter(project=project, kind="import").select_related("created_by", "project")
    return rows.order_by("-created_at", "-id")


@dataclass(frozen=True, slots=True)
class Undoing:
    """The undoing of an import. last: the newest job that undoes it. removed: dialogues that all of them removed.

    left: dialogues of the import that are still there.
    """

    last: Job
    removed: int
    left: int

    @property
    def is_live(self) -> bool:
        return self.last.state in LIVE_STATES


def undoings_of(project: Project, imports: Collection[Job]) -> Mapping[str, Undoing]:
    """By the id of the import, how it was undone; imports that were not are left out. At most two queries."""
    ids = [str(job.pk) for job in imports]
    jobs = Job.objects.filter(project=project, kind="undo_import", parameters__import__in=ids)
    last: dict[str, Job] = {}
    removed: Counter[str] = Counter()
    for job in jobs.select_related("created_by").order_by("created_at", "id"):
        count = job.result.get("removed", job.done)  # one that an earlier release stopped has no result
        if count or job.state in LIVE_STATES:
            last[job.parameters["import"]] = job
            removed[job.parameters["import"]] += count
    rows = Dialogue.objects.filter(import_job__in=[job for job in imports if str(job.pk) in last]).order_by()
    left = {str(key): n for key, n in rows.values_list("import_job").annotate(n=Count("id"))}
    return {key: Undoing(job, removed[key], left.get(key, 0)) for key, job in last.items()}


def imports_with_dialogues(project: Project) -> QuerySet[Job]:
    """The imports of which a dialogue is still there, newest first."""
    return imports_of(project).filter(Exists(Dialogue.objects.filter(import_job=OuterRef("pk"))))


@dataclass(frozen=True, slots=True)
class ImportLanguages:
    """The languages of an import's dialogues, and where they are not from the file.

    counts: dialogues by language. without: dialogues that have none. is_given_with_import: some dialogues may have got
    the language that was chosen for the import. n_given_with_import: how many; None: the import's release did not count
    them. given_later: events, the oldest first.
    """

    counts: Mapping[str, int]
    without: int
    is_given_with_import: bool
    n_given_with_import: int | None
    given_later: Sequence[Event]

    @property
    def dialogues(self) -> int:
        return self.without + sum(self.counts.values())


def languages_of_import(job: Job) -> ImportLanguages:
    """Two queries."""
    rows = Dialogue.objects.filter(import_job=job).order_by()
    counts = dict(rows.values_list("language").annotate(n=Count("id")).order_by("-n", "language"))
    without = counts.pop("", 0)
    n_given = job.result.get("language_given")
    return ImportLanguages(
        counts=counts,
        without=without,
        is_given_with_import=bool(counts and job.parameters.get("language") and n_given != 0),
        n_given_with_import=n_given,
        given_later=_languages_given_later(job) if counts else [],
    )


def _languages_given_later(job: Job) -> list[Event]:
    rows = Event.objects.filter(
        subject_type=Job._meta.label_lower, subject_id=str(job.pk), kind="language_set"
    )
    return list(rows.select_related("actor").order_by("id"))


def phase_of(job: Job) -> str:
    """The phase of a running import: "checking" for the first half of the bytes, then "storing". Otherwise empty."""
    if job.state != JobState.RUNNING or not job.total:
        return ""
    return "checking" if job.done * 2 < job.total else "storing"


def import_for(user: User, import_id: UUID) -> Job:
    """An import, if the person may import into its project."""
    job = Job.objects.select_related("project", "created_by").filter(pk=import_id, kind="import").first()
    if job is None or job.project is None or Capability.IMPORT not in capabilities_of(user, job.project):
        raise import_not_found()
    return job


def import_not_found() -> NotFound:
    return NotFound(_("There is no such import."), _("It may belong to a project that you have left."))


def import_errors(job: Job) -> Iterable[RowError]:
    """The first 200 rows that an import refused."""
    return [RowError(error["line"], error["code"], error["params"]) for error in job.result.get("errors", [])]


def refused_rows_of(job: Job) -> QuerySet[RefusedRow]:
    """The stored refused rows of an import, in the order of the file."""
    return RefusedRow.objects.filter(job=job).order_by("id")


def to_row_error(row: RefusedRow) -> RowError:
    """The row as an error with reason and remedy in the active language."""
    return RowError(row.line, row.code, row.params)
