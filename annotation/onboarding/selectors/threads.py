"""Reading threads. Annotators see those on dialogues that they hold or labelled, without names."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.onboarding.models import Message, MessageKind, Thread, ThreadSeen, ThreadState
from annotation.tasks.models.work import Assignment, AssignmentState
from common.refusals import NotFound
from dialogues.models import Dialogue
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

OWN_STATES = (AssignmentState.ACTIVE, AssignmentState.SAVED, AssignmentState.SUBMITTED)


def sees_all_threads(user: User, project: Project) -> bool:
    """Whether the person sees every thread: trainers, controllers, managers and engineers."""
    return Capability.READ_DIALOGUES in capabilities_of(user, project)


def sees_thread_names(user: User, project: Project) -> bool:
    """Whether the person sees who wrote a message.

    Controllers do not: whoever asks about a dialogue holds or labelled it, and controllers judge it without names.
    """
    return Capability.READ_STATISTICS in capabilities_of(user, project)


def _own_dialogues(user: User) -> QuerySet[Assignment]:
    return Assignment.objects.filter(dialogue=OuterRef("dialogue"), annotator=user, state__in=OWN_STATES)


def visible_threads(
    user: User,
    project: Project,
    *,
    state: str = "",
    unread: bool = False,
    granted: Set[Capability] | None = None,
) -> QuerySet[Thread]:
    """The threads that the person may read, with `unread` and the first message as `question`.

    granted: the person's capabilities in the project; None: they are looked up.
    """
    rows = Thread.objects.filter(project=project)
    may = capabilities_of(user, project) if granted is None else granted
    if Capability.READ_DIALOGUES not in may:
        rows = rows.filter(Q(asker=user) | Exists(_own_dialogues(user)))
    if state in ThreadState.values:
        rows = rows.filter(state=state)
    first = Message.objects.filter(thread=OuterRef("pk")).order_by("written_at")
    seen = ThreadSeen.objects.filter(thread=OuterRef("pk"), user=user, seen_at__gte=OuterRef("moved_at"))
    rows = rows.annotate(question=Subquery(first.values("text")[:1]), unread=~Exists(seen))
    if unread:
        rows = rows.filter(unread=True)
    return rows.select_related("asker").order_by("-moved_at", "-pk")


def assignments_of_dialogue(user: User, dialogue_id: int) -> QuerySet[Assignment]:
    """The person's assignments of a dialogue that they hold or labelled, the newest first."""
    own = Assignment.objects.filter(dialogue=dialogue_id, annotator=user, state__in=OWN_STATES)
    return own.order_by("-pk")


def dialogue_for_thread(user: User, project: Project, dialogue_id: int) -> Dialogue:
    """A dialogue whose threads the person may read and add to; NotFound otherwise."""
    row = Dialogue.objects.select_related("project").filter(pk=dialogue_id, project=project).first()
    own = assignments_of_dialogue(user, dialogue_id)
    asked = Thread.objects.filter(dialogue=dialogue_id, asker=user)
    if row is None or not (sees_all_threads(user, project) or own.exists() or asked.exists()):
        raise NotFound(
            _("There is no such dialogue among yours."), _("Ask about a dialogue that you hold or labelled.")
        )
    return row


def thread_for(user: User, thread_id: UUID) -> Thread:
    """A thread that the person may read, as a member of its project; NotFound otherwise."""
    row = Thread.objects.select_related("project", "dialogue").filter(pk=thread_id).first()
    is_member = row is not None and Capability.SEE in capabilities_of(user, row.project)
    if row is None or not is_member or not visible_threads(user, row.project).filter(pk=thread_id).exists():
        raise NotFound(_("There is no such thread."), _("Go back to the list."))
    return row


@dataclass(frozen=True, slots=True)
class VisibleMessage:
    """A message as one person sees it. by: a name, or only the role if the person must not see names."""

    id: UUID
    kind: str
    by: str
    is_own: bool
    text: str
    written_at: datetime


def messages_by_thread(
    user: User, threads: Sequence[Thread], *, names: bool
) -> dict[UUID, list[VisibleMessage]]:
    """By thread, oldest first; one query."""
    messages: dict[UUID, list[VisibleMessage]] = {thread.pk: [] for thread in threads}
    for row in Message.objects.filter(thread__in=threads).select_related("author"):
        author, is_own = _author_name(row, user, names), row.author_id == user.pk
        message = VisibleMessage(row.pk, row.kind, author, is_own, row.text, row.written_at)
        messages[row.thread_id].append(message)
    return messages


def _author_name(row: Message, user: User, names: bool) -> str:
    if row.author_id == user.pk:
        return _("You")
    if names:
        return row.author.shown_name
    return _("Trainer") if row.is_trainers else _("Annotator")


def count_open_threads(project: Project) -> int:
    """How many questions wait for an answer."""
    return Thread.objects.filter(project=project, state=ThreadState.OPEN).count()


def count_unread_answers(user: User, project: Project) -> int:
    """How many of the person's own questions have new messages."""
    return visible_threads(user, project, unread=True).filter(asker=user).count()


def faq_entries(project: Project) -> list[dict[str, Any]]:
    """Decisions that a trainer put on the page of guidelines, oldest first: {"question", "decision", "at"}."""
    decisions = Message.objects.filter(kind=MessageKind.DECISION).order_by("written_at")
    questions = Message.objects.filter(kind=MessageKind.QUESTION).order_by("written_at")
    rows = (
        Thread.objects.filter(project=project, is_faq=True, state=ThreadState.DECIDED)
        .prefetch_related(
            Prefetch("messages", decisions, to_attr="decisions"),
            Prefetch("messages", questions, to_attr="questions"),
        )
        .order_by("created_at")
    )
    return [
        {"question": row.questions[0].text, "decision": row.decisions[-1].text, "at": row.moved_at}
        for row in rows
        if row.questions and row.decisions
    ]
