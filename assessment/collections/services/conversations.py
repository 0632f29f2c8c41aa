"""One conversation of a collection: a system continues a context by some replies."""

import time
from dataclasses import replace
from typing import Final

from django.db import connection, transaction
from django.utils import timezone

from assessment.collections.models import CollectedDialogue
from assessment.systems.connectors.protocol import Conversation, Question, SystemReply
from assessment.systems.models import Connector, System
from assessment.systems.services.asking import ask, checked_reply, close_conversation, open_conversation
from dialogues.models import DIALOGUE_MOVES, Dialogue, DialogueState, Origin, Utterance, new_external_id
from dialogues.splits import split_for
from generation.backends.replies import child_seed
from generation.conversation import context_of, speaker_at
from generation.models import CandidateRequest, RequestState
from generation.protocol import BackendError, Message, Sampling
from generation.services import CandidateOptions, request_candidates, retry_request, wake_if_overdue
from projects.transitions import move

POLL_SECONDS: Final = 0.2
ENDED: Final = (RequestState.DONE, RequestState.FAILED, RequestState.CANCELLED)
FLIPPED: Final = {"A": "B", "B": "A"}


def continue_conversation(row: CollectedDialogue, system: System, *, replies: int) -> None:
    """Have the system add so many replies to the row's context. Continues after an interruption.

    Raises BackendError if the system fails as often as the project allows.
    """
    draft = row.draft or _create_draft(row)
    handles: dict[str, str] = {}
    while (stored := draft.utterance_count - len(row.context)) < replies:
        _add_reply(row, system, draft, handles, seed=child_seed(row.collection.seed, row.pk * 1_000 + stored))
    for handle in filter(None, handles.values()):
        close_conversation(system, handle)
    if draft.state == DialogueState.WRITING:
        _finish_draft(draft)


@transaction.atomic
def _finish_draft(draft: Dialogue) -> None:
    move(
        draft,
        to=DialogueState.FINISHED,
        moves=DIALOGUE_MOVES,
        project=draft.project,
        finished_at=timezone.now(),
    )


@transaction.atomic
def _create_draft(row: CollectedDialogue) -> Dialogue:
    """The system's copy of the context, with the speakers that generation knows."""
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


def _add_reply(
    row: CollectedDialogue, system: System, draft: Dialogue, handles: dict[str, str], seed: int
) -> None:
    settings = row.collection.project.assessment
    patience = settings.reply_timeout_seconds
    for attempt in range(settings.reply_retries + 1):
        try:
            deadline = time.monotonic() + patience
            reply = _ask_once(system, draft, handles, child_seed(seed, attempt), deadline, attempt)
        except BackendError as error:
            if not error.retryable or attempt == settings.reply_retries:
                raise
            time.sleep(2.0**attempt)
        else:
            _store_reply(draft, reply)
            return


def _ask_once(
    system: System, draft: Dialogue, handles: dict[str, str], seed: int, deadline: float, attempt: int
) -> SystemReply:
    if system.connector == Connector.GENERATOR:
        return _ask_generator(system, draft, deadline, attempt)
    context = _seen_by_system(context_of(draft))
    side = speaker_at(draft.utterance_count)
    conversation = Conversation(draft.pk, tuple(system.persona))
    if side not in handles:
        handles[side] = open_conversation(system, conversation, deadline)
    connection.close()  # none is held while a system is asked
    return ask(system, Question(conversation, context, seed, deadline, handles[side]))


def _seen_by_system(context: tuple[Message, ...]) -> tuple[Message, ...]:
    """The context with the next speaker as "B": a system knows itself by that name, whichever side it plays."""
    if speaker_at(len(context)) == "B":
        return context
    return tuple(replace(message, speaker=FLIPPED[message.speaker]) for message in context)


def _ask_generator(system: System, draft: Dialogue, deadline: float, attempt: int) -> SystemReply:
    """A reply through generation's queue, whose worker decodes the requests of several conversations together."""
    options = CandidateOptions(
        generator=system.generator,
        count=1,
        sampling=Sampling(**system.sampling),
        persona=tuple(system.persona),
    )
    request = request_candidates(dialogue=draft, options=options, ordinal=attempt)
    if request.state in (RequestState.FAILED, RequestState.CANCELLED):
        request = retry_request(request=request)
    request = _wait_for(request, deadline)
    answer = request.candidate_set
    if answer is None:
        raise BackendError(request.error or "The model gave no reply.", request.remedy, retryable=True)
    candidate = answer.candidates[0]
    return checked_reply(SystemReply(candidate["text"], {"model": answer.version_of(0)}))


def _wait_for(request: CandidateRequest, deadline: float) -> CandidateRequest:
    while request.state not in ENDED:
        if time.monotonic() > deadline:
            raise BackendError(
                "No worker answered in time.", "Start a worker of the queue gpu.", retryable=True
            )
        wake_if_overdue(request)
        time.sleep(POLL_SECONDS)
        request.refresh_from_db()
    return request


@transaction.atomic
def _store_reply(draft: Dialogue, reply: SystemReply) -> None:
    position = draft.utterance_count
    Utterance.objects.create(
        dialogue=draft,
        position=position,
        speaker=speaker_at(position),
        text=reply.text,
        metadata=dict(reply.trace),
    )
    draft.utterance_count = position + 1
    draft.save(update_fields=["utterance_count"])
