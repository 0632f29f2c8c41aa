"""Trying a system out: a conversation with it before participants have one.

Models of this server answer through generation's queue, all others through a worker of the queue `chat`; the web
process only stores the message and reads what came.
"""

import logging
import time
from datetime import timedelta
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.cache import cache
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from accounts.models import User
from assessment.systems.connectors.protocol import Conversation, Question, SystemReply
from assessment.systems.models import Connector, System, Trial, TrialState, TrialTurn
from assessment.systems.selectors.identity import identity_words_in
from assessment.systems.selectors.trials import trial_turns
from assessment.systems.services.asking import (
    QUEUE,
    ask,
    checked_reply,
    close_conversation,
    open_conversation,
)
from common import clock
from common.database import release_connection, retry_on_lost_connection
from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from dialogues.models import DIALOGUE_MOVES, Dialogue, DialogueState, Origin, Utterance, new_external_id
from dialogues.splits import split_for
from generation.backends.replies import child_seed
from generation.conversation import context_of
from generation.models import RequestState
from generation.protocol import BackendError, Sampling
from generation.services import CandidateOptions, cancel_request, request_candidates, wake_if_overdue
from jobs.broker import send_task
from projects.transitions import move

logger = logging.getLogger(__name__)

MAX_INPUT: Final = 4_000  # characters
PERSON, SYSTEM = "A", "B"
# Beyond the time limit of a reply, for the message and the worker.
SLACK: Final = timedelta(seconds=10)
RESEND_AFTER: Final = timedelta(seconds=5)
NOBODY: Final = BackendError(
    gettext_noop("No worker took the message in time."),
    gettext_noop("Check that the worker of the queue runs, then send it again."),
)
TOO_LATE: Final = BackendError(
    gettext_noop("The system did not answer in time."), gettext_noop("Check whether it is overloaded.")
)
_ENDED: Final = (RequestState.DONE, RequestState.FAILED, RequestState.CANCELLED)


@transaction.atomic
def send_trial_input(*, system: System, user: User, turn_id: UUID, text: str) -> TrialTurn:
    """Send a message to the system, in the user's present trial or a new one. Safe to repeat.

    A last message without a reply because the system failed is replaced. Raises Invalid, Refusal reply_pending.
    """
    text = text.strip()
    if not 0 < len(text) <= MAX_INPUT:
        raise Invalid(
            _("A message has 1 to %(most)s characters.") % {"most": intcomma(MAX_INPUT)}, field="text"
        )
    # Locks the system, so that two windows begin one trial.
    System.objects.select_for_update(no_key=True).get(pk=system.pk)
    stored = TrialTurn.objects.select_related("input").filter(pk=turn_id, trial__user=user).first()
    if stored is not None:
        check_repeat({"text": stored.input.text}, text=text)
        return stored
    trial = _present_trial(system, user)
    turn = _add_turn(trial, turn_id, text)
    if system.connector == Connector.GENERATOR:
        _request_candidate(turn)
    else:
        transaction.on_commit(partial(_send_task, "answer_trial", str(turn.pk)), robust=True)
    return turn


def _present_trial(system: System, user: User) -> Trial:
    present = Trial.objects.select_related("dialogue", "system__generator", "system__project__assessment")
    trial = present.filter(system=system, user=user, ended_at=None).first()
    if trial is not None:
        return trial
    external_id = new_external_id()
    dialogue = Dialogue.objects.create(
        project=system.project,
        external_id=external_id,
        origin=Origin.CHATTED,
        state=DialogueState.WRITING,
        split=split_for(external_id),
        metadata={"trial": system.name},
    )
    return Trial.objects.create(system=system, user=user, dialogue=dialogue)


def _add_turn(trial: Trial, turn_id: UUID, text: str) -> TrialTurn:
    last = trial.turns.order_by("-number").first()
    if last is not None and last.state == TrialState.WAITING:
        raise Refusal(
            "reply_pending", _("The system has not answered your last message yet."), _("Wait for its reply.")
        )
    if last is not None and last.state == TrialState.FAILED:
        last.delete()
        last.input.delete()
    number = trial.turns.count() + 1
    position = 2 * (number - 1)
    utterance = Utterance.objects.create(
        dialogue=trial.dialogue, position=position, speaker=PERSON, text=text
    )
    Dialogue.objects.filter(pk=trial.dialogue_id).update(utterance_count=position + 1)
    return TrialTurn.objects.create(
        pk=turn_id, trial=trial, number=number, input=utterance, sent_at=clock.now()
    )


def _request_candidate(turn: TrialTurn) -> None:
    system = turn.trial.system
    options = CandidateOptions(
        generator=system.generator,
        count=1,
        sampling=Sampling(**system.sampling),
        persona=tuple(system.persona),
    )
    dialogue = Dialogue.objects.get(pk=turn.trial.dialogue_id)
    turn.request = request_candidates(
        dialogue=dialogue, options=options, ordinal=dialogue.candidate_requests.count()
    )
    turn.asked_at = clock.now()
    turn.save(update_fields=["request", "asked_at"])


@transaction.atomic
def end_trial(*, system: System, user: User) -> None:
    """Forget the user's present trial; the next message begins another. Safe to repeat."""
    trials = Trial.objects.select_for_update(of=("self",)).select_related("dialogue__project")
    trial = trials.filter(system=system, user=user, ended_at=None).first()
    if trial is None:
        return
    trial.ended_at = clock.now()
    trial.save(update_fields=["ended_at"])
    move(trial.dialogue, to=DialogueState.ABANDONED, moves=DIALOGUE_MOVES, project=trial.dialogue.project)
    if trial.service_session:
        transaction.on_commit(partial(_send_task, "close_trial", trial.pk), robust=True)


def _send_task(name: str, key: object) -> None:
    send_task(f"assessment.systems.tasks.{name}", args=(key,), queue=QUEUE, expires=120)


# ---- by a worker of the queue chat -----------------------------------------------------------------------------------


def answer_trial(turn_id: UUID) -> None:
    """Ask the system. Does nothing if another worker has the turn. No database connection is held meanwhile."""
    claimed = TrialTurn.objects.filter(pk=turn_id, state=TrialState.WAITING, asked_at=None)
    if not claimed.update(asked_at=clock.now()):
        return
    rows = TrialTurn.objects.select_related("trial__system__project__assessment", "trial__dialogue")
    turn = rows.get(pk=turn_id)
    try:
        reply = _ask_system(turn)
    except BackendError as error:
        retry_on_lost_connection(partial(fail_trial, turn, error))
    else:
        retry_on_lost_connection(partial(store_trial_reply, turn, reply))


def _ask_system(turn: TrialTurn) -> SystemReply:
    trial, system = turn.trial, turn.trial.system
    context = context_of(trial.dialogue)
    conversation = Conversation(trial.dialogue_id, tuple(system.persona))
    deadline = time.monotonic() + system.project.assessment.reply_timeout_seconds
    release_connection()
    handle = trial.service_session or open_conversation(system, conversation, deadline)
    if handle != trial.service_session:
        Trial.objects.filter(pk=trial.pk).update(service_session=handle)
        release_connection()
    seed = child_seed(turn.pk.int % 2**62, 0)
    return ask(system, Question(conversation, context, seed, deadline, handle))


def close_trial(trial_id: int) -> None:
    trial = Trial.objects.select_related("system").get(pk=trial_id)
    release_connection()
    close_conversation(trial.system, trial.service_session)


# ---- the result ------------------------------------------------------------------------------------------------------


@transaction.atomic
def store_trial_reply(turn: TrialTurn, reply: SystemReply) -> None:
    """Store what the system answered, unless the turn has ended before."""
    trial, now = turn.trial, clock.now()
    words = identity_words_in(trial.system, reply.text)
    trace: dict[str, Any] = {**reply.trace, **({"identity_words": words} if words else {})}
    waiting = TrialTurn.objects.filter(pk=turn.pk, state=TrialState.WAITING)
    if not waiting.update(
        state=TrialState.REPLIED, ended_at=now, latency_ms=_latency_ms(turn), trace=trace, error="", remedy=""
    ):
        return
    position = 2 * turn.number - 1
    utterance = Utterance.objects.create(
        dialogue_id=trial.dialogue_id, position=position, speaker=SYSTEM, text=reply.text
    )
    TrialTurn.objects.filter(pk=turn.pk).update(reply=utterance)
    Dialogue.objects.filter(pk=trial.dialogue_id).update(utterance_count=position + 1)


def _latency_ms(turn: TrialTurn) -> int:
    """From when a worker took the message; of a model of this server, as its worker measured it."""
    asked_at = turn.asked_at or turn.sent_at
    ended_at = (turn.request.ended_at if turn.request else None) or clock.now()
    return round((ended_at - asked_at).total_seconds() * 1000)


def fail_trial(turn: TrialTurn, error: BackendError) -> None:
    waiting = TrialTurn.objects.filter(pk=turn.pk, state=TrialState.WAITING)
    waiting.update(
        state=TrialState.FAILED, ended_at=clock.now(), error=error.cause, remedy=error.remedy or ""
    )


def refresh_trial(turn: TrialTurn) -> TrialTurn:
    """What became of a turn that waits; one that waited beyond its time has failed. Called while somebody looks."""
    if turn.state != TrialState.WAITING:
        return turn
    limit = timedelta(seconds=turn.trial.system.project.assessment.reply_timeout_seconds) + SLACK
    request = turn.request
    if request is not None and request.state in _ENDED:
        _collect_candidate(turn)
    elif clock.now() > turn.sent_at + limit:
        if request is not None:
            cancel_request(request=request)
        is_asked = request.state == RequestState.RUNNING if request else turn.asked_at is not None
        fail_trial(turn, TOO_LATE if is_asked else NOBODY)
    elif request is not None:
        wake_if_overdue(request)
    elif turn.asked_at is None:
        _send_again(turn)
    return trial_turns().get(pk=turn.pk)


def _send_again(turn: TrialTurn) -> None:
    """Send a turn that the broker did not take or lost, at most once every RESEND_AFTER. One worker takes it."""
    is_overdue = clock.now() > turn.sent_at + RESEND_AFTER
    if is_overdue and cache.add(f"trial-turn:{turn.pk}", 1, RESEND_AFTER.total_seconds()):
        _send_task("answer_trial", str(turn.pk))


def _collect_candidate(turn: TrialTurn) -> None:
    request = turn.request
    answer = request.candidate_set if request else None
    try:
        if request is None or answer is None:
            cause, remedy = (request.error, request.remedy) if request else ("", "")
            raise BackendError(cause or gettext_noop("The model gave no reply."), remedy)
        reply = checked_reply(
            SystemReply(answer.candidates[0]["text"], {"model": answer.version_of(0)}),
        )
    except BackendError as error:
        fail_trial(turn, error)
    else:
        store_trial_reply(turn, reply)
