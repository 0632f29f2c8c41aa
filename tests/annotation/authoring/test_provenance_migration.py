"""Moving the provenance of stored turns to their utterances, and back."""

from collections.abc import Callable
from importlib import import_module

from django.db import connection

from accounts.models import User
from annotation.authoring.models import Turn
from annotation.authoring.services.turns import TurnResult, undo_turn
from annotation.tasks.models.work import Assignment
from dialogues.models import Action

MIGRATION = import_module("annotation.migrations.0014_provenance_once")

Provenance = list[object]  # action, candidate set, source, edit distance


def run_sql(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def stored_with_turns() -> dict[object, Provenance]:
    rows = Turn.objects.values_list("pk", "action", "candidate_set", "source", "edit_distance")
    return {pk: provenance for pk, *provenance in rows}


def provenance_of_turns() -> dict[object, Provenance]:
    provenance = {turn.pk: turn.provenance for turn in Turn.objects.select_related("utterance")}
    return {
        pk: [each.action, each.candidate_set_id, each.source, each.edit_distance]
        for pk, each in provenance.items()
    }


def write_three_turns_and_undo_one(
    assignment: Assignment, ann: User, writes: Callable[..., TurnResult]
) -> None:
    for position, text in enumerate(["My cat sheds.", "Mine too.", "Buy a comb."]):
        last = writes(assignment, text, position).turn
    undo_turn(annotator=ann, assignment_id=assignment.pk, turn_id=last.pk)


def test_nothing_is_lost_in_either_direction(
    anns_assignment: Assignment, ann: User, writes: Callable[..., TurnResult]
) -> None:
    write_three_turns_and_undo_one(anns_assignment, ann, writes)
    before = provenance_of_turns()
    run_sql(MIGRATION.UNLINK)
    assert stored_with_turns() == before
    assert not Turn.objects.exclude(utterance=None).exists()
    run_sql(MIGRATION.LINK)
    assert provenance_of_turns() == before
    assert Turn.objects.exclude(utterance=None).count() == 2
    assert Turn.objects.exclude(action="").get().undone_at is not None


def test_a_turn_that_differs_from_its_utterance_keeps_what_it_says(
    anns_assignment: Assignment, writes: Callable[..., TurnResult]
) -> None:
    turn = writes(anns_assignment, "My cat sheds.", 0).turn
    run_sql(MIGRATION.UNLINK)
    Turn.objects.filter(pk=turn.pk).update(action=Action.REVISE, source=1)
    run_sql(MIGRATION.LINK)
    turn.refresh_from_db()
    assert (turn.utterance, turn.provenance.action) == (None, Action.REVISE)
