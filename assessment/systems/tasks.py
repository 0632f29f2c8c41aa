"""Celery entry points of systems, on the queue `chat`."""

from uuid import UUID

from celery import shared_task

from assessment.systems.services import trials


@shared_task(name="assessment.systems.tasks.answer_trial")
def answer_trial(turn_id: str) -> None:
    trials.answer_trial(UUID(turn_id))


@shared_task(name="assessment.systems.tasks.close_trial")
def close_trial(trial_id: int) -> None:
    trials.close_trial(trial_id)
