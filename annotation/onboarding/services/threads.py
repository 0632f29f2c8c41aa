"""Threads about dialogues: a question, answers, a decision (DiQAD Appendix A: trainers collect and discuss cases)."""

from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.onboarding.models import THREAD_MOVES, Message, MessageKind, Thread, ThreadSeen, ThreadState
from annotation.onboarding.selectors.threads import dialogue_for_thread, thread_for
from common.refusals import Invalid, NotAllowed, Refusal
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of
from projects.transitions import move, record

MAX_TEXT = 4000
AFTER = {
    MessageKind.QUESTION: ThreadState.OPEN,
    MessageKind.ANSWER: ThreadState.ANSWERED,
    MessageKind.DECISION: ThreadState.DECIDED,
}


@transaction.atomic
def ask(
    *,
    asker: User,
    project: Project,
    dialogue_id: int,
    thread_id: UUID,
    text: str,
    position: int | None = None,
) -> Thread:
    """Open a thread on a dialogue, or on one utterance. The same thread_id again returns the first.

    Raises NotFound (not one of the person's dialogues), Invalid.
    """
    dialogue = dialogue_for_thread(asker, project, dialogue_id)
    text = _checked(text)
    if position is not None and not 0 <= position < dialogue.utterance_count:
        raise Invalid(_("The dialogue has no utterance %(n)d.") % {"n": position + 1}, field="position")
    thread, made = Thread.objects.get_or_create(
        pk=thread_id,
        defaults={"project": project, "dialogue": dialogue, "asker": asker, "position": position},
    )
    if not made:
        if thread.asker_id != asker.pk or thread.dialogue_id != dialogue.pk:
            raise Refusal("id_in_use", _("This id belongs to another thread."), _("Use a new one."))
        _check_same(Message.objects.get(pk=thread_id), text)
        return thread
    _write(thread, asker, thread_id, MessageKind.QUESTION, text)
    record(thread, kind="thread", project=project, actor=asker, after=ThreadState.OPEN)
    return thread


@transaction.atomic
def reply(
    *, author: User, thread_id: UUID, message_id: UUID, kind: str, text: str, faq: bool = False
) -> Thread:
    """Add a further question (which reopens), an answer, or a trainer's decision. The same message_id: nothing more.

    faq: the decision is shown on the guideline page.
    """
    thread = thread_for(author, thread_id)
    Thread.objects.select_for_update().get(pk=thread.pk)
    thread.refresh_from_db(fields=["state", "is_faq"])
    if stored := Message.objects.filter(pk=message_id).first():
        if stored.thread_id != thread.pk or stored.author_id != author.pk:
            raise Refusal("id_in_use", _("This id belongs to another message."), _("Use a new one."))
        _check_same(stored, _checked(text))
        return thread
    if kind not in MessageKind.values:
        raise Invalid(_("A message is a question, an answer or a decision."), field="kind")
    text = _checked(text)
    if kind == MessageKind.DECISION:
        _check_decides(author, thread.project)
    _write(thread, author, message_id, MessageKind(kind), text)
    # An answer to what is decided is a remark: the decision holds until somebody asks again.
    to = AFTER[MessageKind(kind)]
    if thread.state != to and not (thread.state == ThreadState.DECIDED and kind == MessageKind.ANSWER):
        move(thread, to=to, moves=THREAD_MOVES, project=thread.project, actor=author, kind="thread")
    if kind == MessageKind.DECISION and thread.is_faq != faq:
        Thread.objects.filter(pk=thread.pk).update(is_faq=faq)
    return thread


@transaction.atomic
def show_in_guidelines(*, trainer: User, thread_id: UUID, faq: bool) -> Thread:
    """Put the decision of a thread on the guideline page, or take it away. Safe to repeat."""
    thread = thread_for(trainer, thread_id)
    _check_decides(trainer, thread.project)
    if faq and thread.state != ThreadState.DECIDED:
        raise Refusal("not_decided", _("This question is not decided yet."), _("Decide it first."))
    if Thread.objects.filter(pk=thread.pk, is_faq=not faq).update(is_faq=faq):
        record(thread, kind="faq", project=thread.project, actor=trainer, data={"shown": faq})
    thread.is_faq = faq
    return thread


def mark_seen(*, user: User, threads: list[Thread]) -> None:
    """The person has read these threads as they are now."""
    now = timezone.now()
    ThreadSeen.objects.bulk_create(
        [ThreadSeen(thread=thread, user=user, seen_at=now) for thread in threads],
        update_conflicts=True,
        unique_fields=["thread", "user"],
        update_fields=["seen_at"],
    )


def _check_decides(user: User, project: Project) -> None:
    if Capability.DECIDE not in capabilities_of(user, project):
        raise NotAllowed(_("Only trainers decide."), _("Write an answer instead."))


def _check_same(stored: Message, text: str) -> None:
    if stored.text != text:
        raise Refusal(
            "id_in_use",
            _("Under this id other words are stored already."),
            _("Reload the page: your words are kept; then send them again."),
        )


def _checked(text: str) -> str:
    text = text.replace("\0", "").strip()
    if not text:
        raise Invalid(_("Write something first."), field="text")
    if len(text) > MAX_TEXT:
        raise Invalid(_("A message has at most %(n)d characters.") % {"n": MAX_TEXT}, field="text")
    return text


def _write(thread: Thread, author: User, message_id: UUID, kind: MessageKind, text: str) -> None:
    now = timezone.now()
    decides = Capability.DECIDE in capabilities_of(author, thread.project)
    Message.objects.create(
        pk=message_id,
        thread=thread,
        author=author,
        kind=kind,
        is_trainers=decides,
        text=text,
        written_at=now,
    )
    Thread.objects.filter(pk=thread.pk).update(moved_at=now)
    mark_seen(user=author, threads=[thread])
