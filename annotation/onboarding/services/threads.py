"""Threads about dialogues: questions, answers, decisions (DiQAD Appendix A: trainers collect and discuss cases)."""

from uuid import UUID

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.onboarding.models import THREAD_MOVES, Message, MessageKind, Thread, ThreadSeen, ThreadState
from annotation.onboarding.selectors.threads import dialogue_for_thread, thread_for
from common.idempotency import check_repeat
from common.refusals import Invalid, NotAllowed, Refusal
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of
from projects.transitions import move, record

MAX_TEXT = 4000  # characters
STATE_AFTER = {
    MessageKind.QUESTION: ThreadState.OPEN,
    MessageKind.ANSWER: ThreadState.ANSWERED,
    MessageKind.DECISION: ThreadState.DECIDED,
}


@transaction.atomic
def ask_question(
    *,
    asker: User,
    project: Project,
    dialogue_id: int,
    thread_id: UUID,
    text: str,
    position: int | None = None,
) -> Thread:
    """Open a thread on a dialogue, or on one of its utterances. The same thread_id again returns the first.

    Raises NotFound (not one of the person's dialogues), Invalid, Refusal: id_in_use.
    """
    dialogue = dialogue_for_thread(asker, project, dialogue_id)
    text = _checked_text(text)
    if position is not None and not 0 <= position < dialogue.utterance_count:
        raise Invalid(_("The dialogue has no utterance %(n)d.") % {"n": position + 1}, field="position")
    thread, is_new = Thread.objects.get_or_create(
        pk=thread_id,
        defaults={"project": project, "dialogue": dialogue, "asker": asker, "position": position},
    )
    if not is_new:
        check_repeat(thread, asker_id=asker.pk, dialogue_id=dialogue.pk, position=position)
        check_repeat(Message.objects.get(pk=thread_id), text=text)
        return thread
    _store_message(thread, asker, thread_id, MessageKind.QUESTION, text)
    record(thread, kind="thread", project=project, actor=asker, after=ThreadState.OPEN)
    return thread


@transaction.atomic
def reply_to_thread(
    *, author: User, thread_id: UUID, message_id: UUID, kind: str, text: str, faq: bool = False
) -> Thread:
    """Add a further question (which reopens the thread), an answer, or a trainer's decision.

    faq: show the decision on the page of guidelines. The same message_id again changes nothing.
    Raises NotFound, Invalid, NotAllowed, Refusal: id_in_use.
    """
    thread = thread_for(author, thread_id)
    Thread.objects.select_for_update().get(pk=thread.pk)
    thread.refresh_from_db(fields=["state", "is_faq"])
    text = _checked_text(text)
    if stored := Message.objects.filter(pk=message_id).first():
        check_repeat(stored, thread_id=thread.pk, author_id=author.pk, kind=kind, text=text)
        return thread
    if kind not in MessageKind.values:
        raise Invalid(_("A message is a question, an answer or a decision."), field="kind")
    if kind == MessageKind.DECISION:
        _check_decides(author, thread.project)
    _store_message(thread, author, message_id, MessageKind(kind), text)
    _move_thread(thread, author, MessageKind(kind))
    if kind == MessageKind.DECISION and thread.is_faq != faq:
        Thread.objects.filter(pk=thread.pk).update(is_faq=faq)
    return thread


def _move_thread(thread: Thread, author: User, kind: MessageKind) -> None:
    # An answer after the decision is a remark: the decision stays until somebody asks again.
    is_remark = thread.state == ThreadState.DECIDED and kind == MessageKind.ANSWER
    state = STATE_AFTER[kind]
    if thread.state != state and not is_remark:
        move(thread, to=state, moves=THREAD_MOVES, project=thread.project, actor=author, kind="thread")


@transaction.atomic
def show_in_guidelines(*, trainer: User, thread_id: UUID, faq: bool) -> Thread:
    """Show the decision of a thread on the page of guidelines, or remove it. Safe to repeat."""
    thread = thread_for(trainer, thread_id)
    _check_decides(trainer, thread.project)
    if faq and thread.state != ThreadState.DECIDED:
        raise Refusal("not_decided", _("This question is not decided yet."), _("Decide it first."))
    if Thread.objects.filter(pk=thread.pk, is_faq=not faq).update(is_faq=faq):
        record(thread, kind="faq", project=thread.project, actor=trainer, data={"shown": faq})
    thread.is_faq = faq
    return thread


def mark_seen(*, user: User, threads: list[Thread]) -> None:
    """Record that the person has read these threads as they are now."""
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


def _checked_text(text: str) -> str:
    text = text.replace("\0", "").strip()
    if not text:
        raise Invalid(_("Write something first."), field="text")
    if len(text) > MAX_TEXT:
        raise Invalid(_("A message has at most %(n)s characters.") % {"n": intcomma(MAX_TEXT)}, field="text")
    return text


def _store_message(thread: Thread, author: User, message_id: UUID, kind: MessageKind, text: str) -> None:
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
