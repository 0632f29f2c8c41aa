"""Reads trials: the present conversation of a person, and how the last check of each system went."""

from collections.abc import Collection, Sequence

from django.db.models import Max, QuerySet

from accounts.models import User
from assessment.systems.models import System, Trial, TrialState, TrialTurn
from dialogues.models import Dialogue


def trial_turns() -> QuerySet[TrialTurn]:
    """Turns with all that is shown of them, in order."""
    return TrialTurn.objects.select_related(
        "input",
        "reply",
        "request__candidate_set",
        "trial__system__generator",
        "trial__system__project__assessment",
    )


def present_turns(system: System, user: User) -> list[TrialTurn]:
    """The conversation that the user has with the system now."""
    return list(trial_turns().filter(trial__system=system, trial__user=user, trial__ended_at=None))


def last_checks(systems: Sequence[System]) -> dict[int, TrialTurn]:
    """The last answered or failed turn of each system that anybody tried out, by the key of the system. Two queries."""
    ended = TrialTurn.objects.filter(trial__system__in=systems).exclude(state=TrialState.WAITING)
    newest = ended.order_by().values("trial__system").annotate(last=Max("ended_at")).values("last")
    rows = ended.filter(ended_at__in=newest).select_related("trial").order_by("ended_at")
    return {row.trial.system_id: row for row in rows}


def tried_systems(dialogues: Collection[Dialogue]) -> dict[int, System]:
    """With which system somebody tried out, by the key of the trial's dialogue. One query."""
    trials = Trial.objects.filter(dialogue__in=dialogues).select_related("system")
    return {trial.dialogue_id: trial.system for trial in trials}
