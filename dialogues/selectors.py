"""Reading dialogues and imports: permission is how you fetch."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Left
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import NotFound
from dialogues.models import Action, Dialogue, RefusedRow, ReviewState, Utterance
from dialogues.parsing import RowError
from jobs.models import Job, JobState
from projects.models import Event, Project
from projects.roles import Capability
from projects.selectors import capabilities_of

FILTERS = ("origin", "state", "review_state", "split", "language", "domain", "import_job")
OPENING_CHARS = 160
SEARCHED_AT_ONCE = 20_000  # dialogues; 0.2 s of the database at 14 utterances each
EVENTS_SHOWN = 100


def dialogues_of(project: Project, *, action: str = "", **filters: str) -> QuerySet[Dialogue]:
    """The project's dialogues in the order in which they came; filters by FILTERS, empty ones ignored.

    action: only those with an utterance that came about so.
    """
    chosen = {name: value for name, value in filters.items() if value}
    if unknown := set(chosen) - set(FILTERS):
        raise TypeError(f"no such filter: {', '.join(sorted(unknown))}")
    rows = Dialogue.objects.filter(project=project, **chosen).order_by("id")
    if action:
        rows = rows.filter(Exists(Utterance.objects.filter(dialogue=OuterRef("pk"), action=action)))
    return rows


def with_opening(rows: QuerySet[Dialogue]) -> QuerySet[Dialogue]:
    """Each with the beginning of its first utterance as `opening`."""
    first = Utterance.objects.filter(dialogue=OuterRef("pk"), position=0)
    return rows.annotate(opening=Subquery(first.values(begins=Left("text", OPENING_CHARS))))


def containing(
    rows: QuerySet[Dialogue], words: str, before: int | None
) -> tuple[QuerySet[Dialogue], int | None]:
    """The dialogues in which somebody says `words`, or whose id they are: the newest SEARCHED_AT_ONCE under `before`.

    There is no index for words (Chinese has none that PostgreSQL brings along), so the search is bounded instead.
    Returns the id down to which was searched, None when that was all of them; go on with it as the next `before`.
    """
    newest = rows.order_by("-id")
    newest = newest.filter(id__lt=before) if before is not None else newest
    floor = newest.values_list("id", flat=True)[SEARCHED_AT_ONCE - 1 : SEARCHED_AT_ONCE].first()
    said = Exists(Utterance.objects.filter(dialogue=OuterRef("pk"), text__icontains=words))
    found = newest.filter(Q(external_id=words) | said)
    return (found if floor is None else found.filter(id__gte=floor)), floor


def actions_in(dialogues: Collection[Dialogue]) -> Mapping[int, Mapping[str, int]]:
    """How many utterances of each dialogue came about by each action; one query."""
    rows = Utterance.objects.filter(dialogue__in=dialogues, action__in=Action.values).order_by()
    counts: dict[int, dict[str, int]] = defaultdict(lambda: dict.fromkeys(Action.values, 0))
    for dialogue, action, n in rows.values_list("dialogue", "action").annotate(n=Count("id")):
        counts[dialogue][action] = n
    return counts


def missing_dialogue() -> NotFound:
    return NotFound(_("There is no such dialogue."), _("It may belong to a project that you have left."))


def dialogue_for(user: User, dialogue_id: int) -> Dialogue:
    """Any dialogue of a project whose dialogues the person may read; authors fetch their own through annotation."""
    dialogue = Dialogue.objects.select_related("project").filter(pk=dialogue_id).first()
    if dialogue is None or Capability.READ_DIALOGUES not in capabilities_of(user, dialogue.project):
        raise missing_dialogue()
    return dialogue


def utterances_of(dialogue: Dialogue) -> QuerySet[Utterance]:
    """In order, each with the candidates that it was chosen among; one query."""
    return Utterance.objects.filter(dialogue=dialogue).select_related("candidate_set").order_by("position")


@dataclass(frozen=True, slots=True)
class History:
    """What happened to a dialogue, newest first. names_people: whether this person may read who did it."""

    events: list[Event]
    names_people: bool


def history_of(user: User, dialogue: Dialogue) -> History:
    """The last EVENTS_SHOWN changes, as far as the person may know them.

    Who reviews judges the words alone: while a verdict is open they see neither who wrote nor what others decided.
    """
    granted = capabilities_of(user, dialogue.project)
    judges = Capability.REVIEW in granted and dialogue.review_state == ReviewState.UNREVIEWED
    events = Event.objects.filter(subject_type=dialogue._meta.label_lower, subject_id=str(dialogue.pk))
    events = events.exclude(kind__in=["verdict", "review"]) if judges else events
    names_people = Capability.READ_STATISTICS in granted and not judges
    return History(list(events.select_related("actor").order_by("-id")[:EVENTS_SHOWN]), names_people)


def imports_of(project: Project) -> QuerySet[Job]:
    """The project's imports, the newest first."""
    rows = Job.objects.filter(project=project, kind="import").select_related("created_by", "project")
    return rows.order_by("-created_at", "-id")


def phase_of(job: Job) -> str:
    """What a running import does: "checking" is the first half of its bytes, "storing" the second. Else empty."""
    if job.state != JobState.RUNNING or not job.total:
        return ""
    return "checking" if job.done * 2 < job.total else "storing"


def import_for(user: User, import_id: UUID) -> Job:
    """An import, for members who may import into its project."""
    job = Job.objects.select_related("project", "created_by").filter(pk=import_id, kind="import").first()
    if job is None or job.project is None or Capability.IMPORT not in capabilities_of(user, job.project):
        raise missing_import()
    return job


def missing_import() -> NotFound:
    return NotFound(_("There is no such import."), _("It may belong to a project that you have left."))


def import_errors(job: Job) -> Iterable[RowError]:
    """The first 200 of the rows that an import refused, readable in the active language."""
    return [RowError(each["line"], each["code"], each["params"]) for each in job.result.get("errors", [])]


def refused_rows_of(job: Job) -> QuerySet[RefusedRow]:
    """All rows that an import refused and kept, in the order of the file."""
    return RefusedRow.objects.filter(job=job).order_by("id")


def as_error(row: RefusedRow) -> RowError:
    """With reason and remedy in the active language."""
    return RowError(row.line, row.code, row.params)
