"""Reading dialogues and imports: permission is how you fetch."""

from collections.abc import Iterable

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.errors import NotFound
from accounts.models import User
from dialogues.models import Dialogue, Utterance
from dialogues.parsing import RowError
from jobs.models import Job
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

FILTERS = ("origin", "state", "review_state", "split", "language", "domain")


def dialogues_of(project: Project, **filters: str) -> QuerySet[Dialogue]:
    """The project's dialogues in the order in which they came; filters by FILTERS, empty ones ignored."""
    chosen = {name: value for name, value in filters.items() if value}
    if unknown := set(chosen) - set(FILTERS):
        raise TypeError(f"no such filter: {', '.join(sorted(unknown))}")
    return Dialogue.objects.filter(project=project, **chosen).order_by("id")


def dialogue_for(user: User, dialogue_id: int) -> Dialogue:
    """Any dialogue of a project whose dialogues the person may read; authors fetch their own through annotation."""
    dialogue = Dialogue.objects.select_related("project").filter(pk=dialogue_id).first()
    if dialogue is None or Capability.READ_DIALOGUES not in capabilities_of(user, dialogue.project):
        raise NotFound(_("There is no such dialogue."), _("It may belong to a project that you have left."))
    return dialogue


def utterances_of(dialogue: Dialogue) -> QuerySet[Utterance]:
    """In order, each with the candidates that it was chosen among; one query."""
    return Utterance.objects.filter(dialogue=dialogue).select_related("candidate_set").order_by("position")


def imports_of(project: Project) -> QuerySet[Job]:
    """The project's imports, the newest first."""
    return Job.objects.filter(project=project, kind="import").select_related("created_by")


def import_errors(job: Job) -> Iterable[RowError]:
    """The rows that an import refused, the first 200 of job.result["refused"], readable in the active language."""
    return [RowError(each["line"], each["code"], each["params"]) for each in job.result.get("errors", [])]
