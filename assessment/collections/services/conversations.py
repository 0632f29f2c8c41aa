"""One conversation of a collection: a system continues a context by some replies."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from assessment.collections.models import CollectedDialogue, CollectedState
from assessment.setup.models import AssessmentSettings
from assessment.systems.connectors.protocol import Conversation, Question, SystemReply
from assessment.systems.models import Connector, System
from assessment.systems.services.asking import ask, checked_reply, close_conversation, open_conversation
from common.refusals import Refusal
from dialogues.models import DIALOGUE_MOVES, Dialogue, DialogueState, Origin, Utterance, new_external_id
from dialogues.splits import split_for
from generation.backends.replies import child_seed
from generation.conversation import context_of, speaker_at
from generation.models import CandidateRequest, RequestState
from generation.protocol import BackendError, Message, Sampling
from generation.services import (
    CandidateOptions,
    cancel_request,
    request_candidates,
    retry_request,
    wake_if_overdue,
)
from projects.transitions import move

POLL_SECONDS: Final = 0.2
# A model may have to be loaded first. A request that still waits after this has no worker.
QUEUED_SECONDS: Final = 300.0
ENDED: Final = (RequestState.DONE, RequestState.FAILED, RequestState.CANCELLED)
FLIPPED: Final = {"A": "B", "B": "A"}


class StoppedEarly(Exception):
    """The job ends before the conversation is complete. What is stored stays."""


@dataclass(slots=True)
class _Conversation:
    """A conversation that is going on. handles: what a system with a memory calls it, by the side that it plays."""

    row: CollectedDialogue
    system: System
    draft: Dialogue
    stop: threading.Event
    handles: dict[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> AssessmentSettings:
        return self.row.collection.project.assessment

    def wait(self, seconds: float) -> None:
        """Raises StoppedEarly as soon as the job ends."""
        if self.stop.wait(seconds):
            raise StoppedEarly


def continue_conversation(
    row: CollectedDialogue, system: System, *, replies: int, stop: threading.Event
) -> None:
    """Have the system add so many replies to the row's context. Continues after an interruption.

    Raises BackendError if the system fails as often as the project allows, StoppedEarly once `stop` is set, and Refusal
    no_worker if no worker generates replies.
    """
    conversation = _Conversation(row, system, _draft_of(row), stop)
    if system.connector == Connector.HTTP:
        _forget_replies(conversation)
    draft = conversation.draft
    try:
        while (stored := draft.utterance_count - len(row.context)) < replies:
            conversation.wait(0)
            _add_reply(conversation, seed=child_seed(row.collection.seed, row.pk * 1_000 + stored))
    finally:
        for handle in filter(None, conversation.handles.values()):
            close_conversation(system, handle)
    _finish_draft(draft.pk)


def store_conversation(row: CollectedDialogue, replies: Sequence[SystemReply]) -> None:
    """Store replies that are known already, as if the system had been asked for them."""
    draft = _draft_of(row)
    for reply in replies:
        _store_reply(draft, reply)
    _finish_draft(draft.pk)
    CollectedDialogue.objects.filter(pk=row.pk).update(state=CollectedState.DONE, error="")


@transaction.atomic
def _finish_draft(key: int) -> None:
    """Safe to repeat: another worker, which took the job over, may have been faster."""
    draft = Dialogue.objects.select_for_update(of=("self",)).select_related("project").get(pk=key)
    if draft.state != DialogueState.WRITING:
        return
    move(
        draft,
        to=DialogueState.FINISHED,
        moves=DIALOGUE_MOVES,
        project=draft.project,
        finished_at=timezone.now(),
    )


@transaction.atomic
def _draft_of(row: CollectedDialogue) -> Dialogue:
    """The system's copy of the context, with the speakers that generation knows; created once."""
    # The draft is read by itself: joined, it would be as old as the wait for the lock.
    stored_key = CollectedDialogue.objects.select_for_update().get(pk=row.pk).draft_id
    if stored_key is not None:
        return Dialogue.objects.select_related("project").get(pk=stored_key)
    external_id = new_external_id()
    draft = Dialogue.objects.create(
        project=row.collection.project,
        external_id=external_id,
        origin=Origin.COLLECTED,
        state=DialogueState.WRITING,
        split=split_for(external_id),
        utterance_count=len(row.context),
        metadata={"collection": str(row.collection_id), "number": row.number},
    )
    Utterance.objects.bulk_create(
        Utterance(dialogue=draft, position=position, speaker=speaker_at(position), text=text)
        for position, (_speaker, text) in enumerate(row.context)
    )
    CollectedDialogue.objects.filter(pk=row.pk).update(draft=draft)
    return draft


@transaction.atomic
def _forget_replies(conversation: _Conversation) -> None:
    """A service that remembers its conversations lost this one with the worker: it begins again."""
    draft, kept = conversation.draft, len(conversation.row.context)
    if draft.state == DialogueState.WRITING and draft.utterance_count > kept:
        Utterance.objects.filter(dialogue=draft, position__gte=kept).delete()
        draft.utterance_count = kept
        draft.save(update_fields=["utterance_count"])


def _add_reply(conversation: _Conversation, seed: int) -> None:
    settings = conversation.settings
    for attempt in range(settings.reply_retries + 1):
        try:
            reply = _ask_once(conversation, child_seed(seed, attempt), attempt)
        except BackendError as error:
            if not error.retryable or attempt == settings.reply_retries:
                raise
            conversation.wait(2.0**attempt)
        else:
            _store_reply(conversation.draft, reply)
            return


def _ask_once(conversation: _Conversation, seed: int, attempt: int) -> SystemReply:
    system, draft = conversation.system, conversation.draft
    if system.connector == Connector.GENERATOR:
        return _ask_generator(conversation, attempt)
    deadline = time.monotonic() + conversation.settings.reply_timeout_seconds
    context = _seen_by_system(context_of(draft))
    side = speaker_at(draft.utterance_count)
    about = Conversation(draft.pk, tuple(system.persona))
    if side not in conversation.handles:
        conversation.handles[side] = open_conversation(system, about, deadline)
    connection.close()  # none is held while a system is asked
    return ask(system, Question(about, context, seed, deadline, conversation.handles[side]))


def _seen_by_system(context: tuple[Message, ...]) -> tuple[Message, ...]:
    """The context with the next speaker as "B": a system knows itself by that name, whichever side it plays."""
    if speaker_at(len(context)) == "B":
        return context
    return tuple(replace(message, speaker=FLIPPED[message.speaker]) for message in context)


def _ask_generator(conversation: _Conversation, attempt: int) -> SystemReply:
    """A reply through generation's queue, whose worker decodes the requests of several conversations together."""
    system = conversation.system
    options = CandidateOptions(
        generator=system.generator,
        count=1,
        sampling=Sampling(**system.sampling),
        persona=tuple(system.persona),
    )
    request = request_candidates(dialogue=conversation.draft, options=options, ordinal=attempt)
    if request.state in (RequestState.FAILED, RequestState.CANCELLED):
        request = retry_request(request=request)
    _wait_for(request, conversation)
    answer = request.candidate_set
    if answer is None:
        raise BackendError(request.error or "The model gave no reply.", request.remedy, retryable=True)
    candidate = answer.candidates[0]
    return checked_reply(SystemReply(candidate["text"], {"model": answer.version_of(0)}))


def _wait_for(request: CandidateRequest, conversation: _Conversation) -> None:
    """A worker that has taken the request ends it in time; without a worker the job fails, not the system."""
    queued_until = time.monotonic() + QUEUED_SECONDS
    while request.state not in ENDED:
        if request.state != RequestState.QUEUED:
            queued_until = time.monotonic() + QUEUED_SECONDS
        elif time.monotonic() > queued_until:
            cancel_request(request=request)
            raise Refusal(
                "no_worker",
                _("No worker generates replies of the models of this server."),
                _("Start a worker of the queue “gpu”, then start the job again."),
            )
        wake_if_overdue(request)
        conversation.wait(POLL_SECONDS)
        request.refresh_from_db()


@transaction.atomic
def _store_reply(draft: Dialogue, reply: SystemReply) -> None:
    """Unless another worker, which took the job over, has stored one: then that one counts."""
    position = draft.utterance_count
    is_next = Dialogue.objects.filter(pk=draft.pk, utterance_count=position, state=DialogueState.WRITING)
    if not is_next.update(utterance_count=position + 1):
        draft.refresh_from_db()
        return
    Utterance.objects.create(
        dialogue=draft,
        position=position,
        speaker=speaker_at(position),
        text=reply.text,
        metadata=dict(reply.trace),
    )
    draft.utterance_count = position + 1
