"""Real workers of the queue `chat` on the real broker: killed, restarted, sent the same message again."""

import pytest
from celery import current_app

from assessment.sessions.models.conversations import Turn, TurnState
from assessment.systems.services.asking import QUEUE
from jobs.selectors import live_workers
from projects.models import Project
from tests.assessment.steps import send, start
from tests.assessment.talk import begin_with, calls_of, degraded_system, fresh, openai_system
from tests.processes import Running, Stack, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def start_worker(stack: Stack, name: str) -> Running:
    before = set(live_workers(QUEUE).values_list("name", flat=True))
    worker = stack.chat_worker(name)
    wait_until(
        lambda: bool(set(live_workers(QUEUE).values_list("name", flat=True)) - before),
        30,
        f"{name} ({worker.log})",
    )
    return worker


def wait_for(turn: Turn, state: str, seconds: float = 20) -> Turn:
    wait_until(lambda: fresh(turn).state == state, seconds, f"{turn} to be {state}")
    return fresh(turn)


def ask(project: Project, server: str, mode: str) -> Turn:
    project.assessment.reply_timeout_seconds = 30
    project.assessment.save()
    degraded_system(project)
    return send(start(begin_with(project, openai_system(project, server, mode))))


def test_a_killed_workers_turn_is_answered_once_by_the_next_one(
    talks: Project, server: str, stack: Stack
) -> None:
    worker = start_worker(stack, "chat-1")
    turn = ask(talks, server, "wakes")
    wait_until(lambda: bool(calls_of(server, "wakes")), 20, "the call of the worker")
    worker.kill()
    worker.start()  # on the same machine: the dead worker's lease is given up at once
    turn = wait_for(turn, TurnState.REPLIED, 30)
    assert (turn.attempts, turn.losses) == (2, 1)
    assert turn.session.dialogue is not None
    assert turn.session.dialogue.utterances.count() == 2


def test_a_message_that_comes_again_asks_nobody_again(talks: Project, server: str, stack: Stack) -> None:
    start_worker(stack, "chat-1")
    turn = ask(talks, server, "slow-1")
    for _ in range(5):
        current_app.send_task("assessment.sessions.tasks.fetch_reply", args=[str(turn.pk)], queue=QUEUE)
    turn = wait_for(turn, TurnState.REPLIED)
    assert turn.attempts == 1
    assert len(calls_of(server, "slow-1")) == 1
