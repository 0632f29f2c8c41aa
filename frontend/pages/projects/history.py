"""The history of a project: what happened, who did it and why, from its events."""

from collections.abc import Mapping, Sequence
from typing import Final

from django.contrib.auth.decorators import login_required
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.batch_review.selectors.rounds import batch_numbers, rounds_by_id
from annotation.tasks.models.rounds import Round
from frontend.pages.projects.event_values import values_of
from frontend.pages.requests import signed_in
from frontend.templatetags.jobs import job_title
from frontend.templatetags.ui import STATE_STYLES
from frontend.ui.paging import keyset_page
from jobs.models import Job
from jobs.selectors import jobs_by_id
from projects.models import IS_DECISION, Event
from projects.roles import Capability
from projects.selectors import events_of, project_for

WORDS: Final[dict[str, str | Promise]] = {
    "created": gettext_lazy("Project created"),
    "edited": gettext_lazy("Title, description or guidelines changed"),
    "archived": gettext_lazy("Project archived"),
    "restored": gettext_lazy("Restored"),
    "copied": gettext_lazy("Project copied"),
    "member_joined": gettext_lazy("A person joined"),
    "member_roles": gettext_lazy("Roles changed"),
    "member_removed": gettext_lazy("A person was removed"),
    "member_group": gettext_lazy("Group of a person changed"),
    "member_languages": gettext_lazy("Languages of a person changed"),
    "invited": gettext_lazy("A person was invited"),
    "invitation_accepted": gettext_lazy("An invitation was accepted"),
    "invitation_revoked": gettext_lazy("An invitation was revoked"),
    "labelling_changed": gettext_lazy("Labelling settings changed"),
    "authoring_changed": gettext_lazy("Writing settings changed"),
    "assessment_changed": gettext_lazy("Study settings changed"),
    "batch_plan_changed": gettext_lazy("Batch settings changed"),
    "schema_saved": gettext_lazy("Questions saved"),
    "schema_used": gettext_lazy("Another version of the questions in use"),
    "planned": gettext_lazy("Dialogues planned"),
    "replanned": gettext_lazy("People, group or priority of waiting dialogues changed"),
    "replan_undone": gettext_lazy("Change of waiting dialogues undone"),
    "ordered": gettext_lazy("Order of the queue changed"),
    "import_undone": gettext_lazy("Import undone"),
    "language_set": gettext_lazy("Language given to dialogues that had none"),
    "hub_token_set": gettext_lazy("Hub token set"),
    "hub_token_replaced": gettext_lazy("Hub token replaced"),
    "hub_token_removed": gettext_lazy("Hub token removed"),
    "hub_token_used": gettext_lazy("Hub token used to push a snapshot"),
    "files_removed": gettext_lazy("Files removed"),
    "cut": gettext_lazy("Batch cut"),
    "regrouped": gettext_lazy("Batch given to another group"),
    "decided": gettext_lazy("Dispute decided"),
    "verdict": gettext_lazy("An expert judged a dialogue"),
    "review": gettext_lazy("Review of a dialogue changed"),
    "topic": gettext_lazy("Topic of a dialogue changed"),
    "topics": gettext_lazy("List of topics changed"),
    "admission_test": gettext_lazy("Admission test changed"),
    "gold_made": gettext_lazy("Gold example added"),
    "gold_changed": gettext_lazy("Gold example changed"),
    "gold_retired": gettext_lazy("Gold example retired"),
    "state": gettext_lazy("State changed"),
    "project_deleted": gettext_lazy("Project deleted"),
    "rate_changed": gettext_lazy("Cost of an hour changed"),
    "dialogue_deleted": gettext_lazy("Dialogue deleted for good"),
    "invited_by_link": gettext_lazy("People were invited by link"),
    "invited_again": gettext_lazy("A person got a new one-time password"),
    "invitation_renewed": gettext_lazy("An invitation got a new link"),
    "password_link": gettext_lazy("A password link was created"),
    "password_set_by_link": gettext_lazy("A person chose a new password by link"),
    "reset": gettext_lazy("An author started a dialogue again"),
    "restore": gettext_lazy("An author brought turns back"),
    "raised": gettext_lazy("An annotator disputed a correction"),
    "labelled": gettext_lazy("A model labelled dialogues"),
    "new_edition": gettext_lazy("New edition of the admission test"),
    "try_granted": gettext_lazy("A person got another attempt at the admission test"),
    "admission_try": gettext_lazy("An attempt at the admission test ended"),
    "admitted": gettext_lazy("A person was admitted"),
    "thread": gettext_lazy("A question changed its state"),
    "faq": gettext_lazy("A question was added to or taken from the frequent ones"),
    "run_created": gettext_lazy("Run of the study created"),
    "run_imported": gettext_lazy("Run of ratings imported"),
    "places": gettext_lazy("Places of a run changed"),
    "topic_changed": gettext_lazy("A participant changed the topic"),
    "system_replaced": gettext_lazy("A conversation got another system"),
    "changed": gettext_lazy("Settings of a model or system changed"),
    "retired": gettext_lazy("System retired"),
    "offered": gettext_lazy("A model was offered to another project"),
    "shared": gettext_lazy("A model is shared with another project"),
    "offer_ended": gettext_lazy("The offer of a model ended"),
    "no_longer_shared": gettext_lazy("A model is no longer shared"),
    "downloaded": gettext_lazy("A file was downloaded"),
    "file_removed": gettext_lazy("File of an export removed"),
    "registered": gettext_lazy("A trained model was registered"),
    "promoted": gettext_lazy("Another model writes the candidates"),
    "rolled_back": gettext_lazy("The earlier model writes the candidates again"),
    "undone": gettext_lazy("A tagging of topics was undone"),
    "label_replaced": gettext_lazy("A final label was replaced"),
    "webhook_made": gettext_lazy("Webhook added"),
    "webhook_changed": gettext_lazy("Webhook changed"),
    "webhook_secret": gettext_lazy("A webhook got a new secret"),
    "webhook_tested": gettext_lazy("Test event sent to a webhook"),
    "webhook_replayed": gettext_lazy("Deliveries of a webhook were sent again"),
}
# What was created, if it is not the project.
CREATED: Final = {
    "generator": gettext_lazy("A model for candidates was added"),
    "system": gettext_lazy("A chatbot was added"),
}
# In the filter; the others are too many or too small to look for.
CHOICES: Final = (
    "edited", "member_joined", "member_roles", "member_removed", "labelling_changed", "authoring_changed",
    "schema_saved", "planned", "replanned", "import_undone", "decided", "archived",
)  # fmt: skip
JOB: Final = "jobs.job"
ROUND: Final = "annotation.round"
# Filters that take several kinds of events, by name: in words, and which events they are.
GROUPS: Final[dict[str, tuple[Promise, Q]]] = {
    "batches": (gettext_lazy("Batches"), Q(subject_type=ROUND) | Q(kind="cut")),
    "imports": (
        gettext_lazy("Imports"),
        Q(kind__in=["import_undone", "language_set"])
        | Q(kind="state", subject_type=JOB, data__kind__in=["import", "undo_import"]),
    ),
    "invitations": (
        gettext_lazy("Invitations"),
        Q(
            kind__in=[
                "invited", "invited_by_link", "invited_again", "invitation_accepted", "invitation_renewed",
                "invitation_revoked",
            ]
        )
        | Q(kind="state", subject_type="projects.invitation"),
    ),
}  # fmt: skip
EVERYTHING: Final = "everything"
# What an event is about, by the kind of its row. The number of a row of settings says nothing to anybody.
SUBJECTS: Final = {
    "dialogue": gettext_lazy("dialogue %(n)s"),
    "task": gettext_lazy("task %(n)s"),
    "assignment": gettext_lazy("assignment %(n)s"),
    "batch": gettext_lazy("batch %(n)s"),
}
BATCHES_NAMED: Final = 10  # of one cut


@login_required
@never_cache
@require_safe
def history(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(signed_in(request), slug, Capability.MANAGE_MEMBERS)
    kind = request.GET.get("kind", "")
    rows = _chosen(events_of(project), kind)
    page = keyset_page(rows, request.GET.get("before"))
    jobs = jobs_by_id(project, [event.subject_id for event in page.rows if event.subject_type == JOB])
    rounds = rounds_by_id(project, _round_ids(page.rows))
    numbers = batch_numbers(project, _named_batches(page.rows))
    context = {
        "project": project,
        "title": _("History"),
        "page": page,
        "events": [
            (
                event,
                describe(event),
                describe_change(event),
                facts_of(event, jobs),
                links_of(slug, event, jobs, rounds, numbers),
            )
            for event in page.rows
        ],
        "kinds": [
            (EVERYTHING, _("Everything")),
            *((name, words) for name, (words, _events) in GROUPS.items()),
            *((name, WORDS[name]) for name in CHOICES),
        ],
        "kind": kind,
    }
    return render(request, "projects/history.html", context)


def _chosen(rows: QuerySet[Event], kind: str) -> QuerySet[Event]:
    """kind: a kind of event or the name of a filter. Any other value selects decisions and settings."""
    if kind == EVERYTHING:
        return rows
    if kind in GROUPS:
        return rows.filter(GROUPS[kind][1])
    return rows.filter(kind=kind) if kind in WORDS else rows.filter(IS_DECISION)


def describe(event: Event) -> str:
    """The event in words; its name for a kind that has none."""
    if event.kind == "created" and (words := CREATED.get(event.subject_type.rpartition(".")[2])):
        return str(words)
    return str(WORDS.get(event.kind, event.kind.replace("_", " ")))


def describe_change(event: Event) -> str:
    """The states before and after in words; empty if the event changed none."""
    if not event.before or not event.after:
        return ""
    return " → ".join(_state_name(event, state) for state in (event.before, event.after))


def _state_name(event: Event, state: str) -> str:
    subject = event.subject_type.rpartition(".")[2]
    if state == "open" and subject not in ("task", "round"):
        return _("open")  # a question, a run; the open state of tasks has a name of its own
    style = STATE_STYLES.get(state)
    return str(style.label) if style else state


def facts_of(event: Event, jobs: Mapping[str, Job]) -> str:
    """The short values of an event, and its subject if that is a dialogue, a task, an assignment or a job.

    jobs: by id, those that the events are about.
    """
    values = values_of(event, leave_out="name" if _import_of(event, jobs) else "")
    kind = SUBJECTS.get(event.subject_type.rpartition(".")[2])
    subject = [str(kind) % {"n": event.subject_id}] if kind else []
    if event.subject_type == JOB and not _import_of(event, jobs):
        subject = [job_title(jobs.get(event.subject_id) or Job(kind=event.data.get("kind", "")))]
    return " · ".join([*subject, *values])


def links_of(
    slug: str, event: Event, jobs: Mapping[str, Job], rounds: Mapping[int, Round], numbers: Mapping[int, int]
) -> list[tuple[str, str]]:
    """Words and address of the import or the batches that the event is about. numbers: of batches, by id."""
    if job := _import_of(event, jobs):
        return [(job_title(job), reverse("import", args=[slug, job.pk]))]
    if row := next((rounds.get(key) for key in _round_ids([event])), None):
        words = _("batch %(n)s, round %(round)s") % {"n": row.batch.number, "round": row.number}
        return [(words, reverse("batch", args=[slug, row.batch.number]))]
    known = sorted(numbers[key] for key in _cut(event)[:BATCHES_NAMED] if key in numbers)
    links = [(_("batch %(n)s") % {"n": number}, reverse("batch", args=[slug, number])) for number in known]
    more = len(_cut(event)) - BATCHES_NAMED
    if more > 0:
        words = ngettext("and %(n)s more", "and %(n)s more", more) % {"n": intcomma(more)}
        links.append((words, reverse("batches", args=[slug])))
    return links


def _import_of(event: Event, jobs: Mapping[str, Job]) -> Job | None:
    job = jobs.get(event.subject_id) if event.subject_type == JOB else None
    return job if job is not None and job.kind == "import" else None


def _round_ids(events: Sequence[Event]) -> list[int]:
    return [int(one.subject_id) for one in events if one.subject_type == ROUND and one.subject_id.isdecimal()]


def _named_batches(events: Sequence[Event]) -> list[int]:
    """The ids of the batches that were cut and are named."""
    return [key for event in events for key in _cut(event)[:BATCHES_NAMED]]


def _cut(event: Event) -> list[int]:
    return list(event.data.get("batches", [])) if event.kind == "cut" else []


urlpatterns = [path("p/<slug:slug>/history/", history, name="history")]
