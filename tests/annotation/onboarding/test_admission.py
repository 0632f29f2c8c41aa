"""The admission test: who needs it, taking it, being admitted."""

from uuid import UUID, uuid4

import pytest
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from annotation.labelling.models.labels import Schema, ShownLabels, Submission
from annotation.labelling.selectors.gold import live_gold
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.services.schemas import save_schema
from annotation.labelling.services.shown_labels import record_shown_dialogues
from annotation.onboarding.models import Admission, AdmissionTry, TryState, Unit
from annotation.onboarding.selectors.admission import (
    admission_needed,
    admission_status,
    admission_test_for,
    may_see_right_answers,
    try_items,
)
from annotation.onboarding.services.admission_tests import start_new_edition, update_admission_test
from annotation.onboarding.services.admissions import admit, grant_try
from annotation.onboarding.services.gold import make_gold, retire_gold
from annotation.onboarding.services.tries import draw_gold, score, start_try
from annotation.project_setup.presets.registry import PRESETS
from annotation.tasks.models.work import Task
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Refusal
from projects.models import Event, Membership, Project, Role
from tests.annotation.onboarding.conftest import (
    RIGHT,
    SLIP,
    answer_place,
    begin_try,
    nth_dialogue,
    store_gold,
    take_test,
)

WRONG = {"dialogue": {"verify": 1, "quality": 0, "reasons_0": ["other"]}, "utterances": {}}


def code_of(call: object, **sent: object) -> str:
    with pytest.raises(Refusal) as refused:
        call(**sent)  # type: ignore[operator]
    return refused.value.code


def test_nobody_claims_before_the_test(anna: User, tested: Project) -> None:
    assert code_of(claim_next_task, annotator=anna, project=tested, claim_id=uuid4()) == "admission_needed"


def test_people_who_passed_claim(anna: User, tested: Project) -> None:
    assert take_test(anna, tested, RIGHT, RIGHT).state == TryState.PASSED
    claimed = claim_next_task(annotator=anna, project=tested, claim_id=uuid4())
    assert claimed.annotator == anna


def test_a_project_without_a_test_takes_one_query(
    anna: User, quality: Project, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        assert admission_needed(anna, quality) is None


def test_too_many_slips_fail(anna: User, tested: Project) -> None:
    attempt = take_test(anna, tested, SLIP, SLIP)
    assert attempt.state == TryState.FAILED
    assert attempt.percent == 50
    assert admission_status(anna, tested).left == 1


def test_tries_run_out_and_a_trainer_grants_another(anna: User, tina: User, tested: Project) -> None:
    for _n in range(2):
        take_test(anna, tested, WRONG, WRONG)
    assert code_of(start_try, annotator=anna, project=tested, try_id=uuid4()) == "no_tries"
    for _click in range(2):
        grant_try(trainer=tina, project=tested, annotator=anna, granted=0)
    assert admission_status(anna, tested).left == 1
    assert take_test(anna, tested, RIGHT, RIGHT).state == TryState.PASSED


def test_a_trainer_admits_with_a_reason(anna: User, tina: User, tested: Project) -> None:
    assert code_of(admit, trainer=tina, project=tested, annotator=anna, reason=" ") == "invalid"
    for _click in range(2):
        admit(trainer=tina, project=tested, annotator=anna, reason="Wrote the guidelines.")
    assert admission_needed(anna, tested) is None
    assert Event.objects.get(kind="admitted").reason == "Wrote the guidelines."


def test_an_annotator_admits_nobody(anna: User, tested: Project) -> None:
    assert code_of(admit, trainer=anna, project=tested, annotator=anna, reason="I am good.") == "not_allowed"
    assert not Admission.objects.exists()


def test_only_a_new_edition_takes_admissions_away(anna: User, tina: User, tested: Project) -> None:
    take_test(anna, tested, RIGHT, RIGHT)
    update_admission_test(trainer=tina, project=tested, changes={"pass_percent": 100})
    store_gold(tina, tested, 2)
    assert admission_needed(anna, tested) is None
    for _click in range(2):
        start_new_edition(trainer=tina, project=tested, edition=1)
    assert admission_test_for(tested).edition == 2
    assert admission_needed(anna, tested) is not None
    assert admission_status(anna, tested).left == 2


def test_gold_is_not_given_out_until_it_retires(anna: User, tina: User, quality: Project) -> None:
    first = store_gold(tina, quality, 0)
    assert claim_next_task(annotator=anna, project=quality, claim_id=uuid4()).dialogue_id != first.dialogue_id
    retire_gold(trainer=tina, project=quality, dialogue_id=first.dialogue_id)
    retire_gold(trainer=tina, project=quality, dialogue_id=first.dialogue_id)
    task = Task.objects.get(dialogue=first.dialogue_id)
    assert task.open_slots == task.overlap
    later = Project.objects.get(pk=quality.pk)
    assert claim_next_task(annotator=anna, project=later, claim_id=uuid4()).dialogue_id == first.dialogue_id


def other_questions(project: Project) -> Schema:
    content = PRESETS["dch"].schema
    assert content
    return save_schema(project=project, actor=None, content=content, save_id=uuid4()).row


def test_a_gold_dialogue_freezes_its_schema(tina: User, quality: Project) -> None:
    gold = store_gold(tina, quality, 0)
    assert other_questions(quality).version == gold.schema.version + 1
    gold.refresh_from_db()
    assert "verify" in load_schema(gold.schema).by_key


def test_gold_from_before_the_freeze_keeps_its_schema(tina: User, quality: Project) -> None:
    gold = store_gold(tina, quality, 0)
    Schema.objects.update(used_at=None)  # gold did not always mark its schema as used
    assert other_questions(quality).version == gold.schema.version + 1


def test_a_dialogue_in_work_cannot_become_gold(anna: User, tina: User, quality: Project) -> None:
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    assert (
        code_of(
            make_gold,
            trainer=tina,
            project=quality,
            dialogue_id=held.dialogue_id,
            answers=RIGHT,
            explanation="",
        )
        == "in_work"
    )


def test_a_test_that_is_on_keeps_its_last_gold(tina: User, tested: Project) -> None:
    retire_gold(trainer=tina, project=tested, dialogue_id=nth_dialogue(tested, 0).pk)
    last = nth_dialogue(tested, 1).pk
    assert code_of(retire_gold, trainer=tina, project=tested, dialogue_id=last) == "last_gold"


def test_a_test_without_gold_cannot_be_on(tina: User, quality: Project) -> None:
    assert code_of(update_admission_test, trainer=tina, project=quality, changes={"is_on": True}) == "no_gold"


def test_bad_settings_are_named(tina: User, quality: Project) -> None:
    assert (
        code_of(update_admission_test, trainer=tina, project=quality, changes={"pass_percent": 101})
        == "invalid"
    )


def test_incomplete_right_answers_are_refused(tina: User, quality: Project) -> None:
    assert (
        code_of(
            make_gold,
            trainer=tina,
            project=quality,
            dialogue_id=nth_dialogue(quality, 0).pk,
            answers={"dialogue": {"verify": 0}, "utterances": {}},
            explanation="",
        )
        == "invalid"
    )


def test_answers_in_a_test_are_not_submissions(anna: User, tested: Project) -> None:
    take_test(anna, tested, RIGHT, RIGHT)
    assert not Submission.objects.exists()


def test_the_first_answers_stay(anna: User, tested: Project) -> None:
    attempt = begin_try(anna, tested)
    answer_place(attempt, 0, WRONG)
    assert answer_place(attempt, 0, RIGHT).answers == WRONG


def test_a_try_is_started_once(anna: User, tested: Project) -> None:
    attempt = begin_try(anna, tested)
    assert start_try(annotator=anna, project=tested, try_id=attempt.pk) == attempt
    assert begin_try(anna, tested) == attempt


def test_an_id_belongs_to_one_try(anna: User, bela: User, tested: Project, project: Project) -> None:
    attempt = begin_try(anna, tested)
    Membership.objects.create(project=project, user=anna, roles=[Role.ANNOTATOR])
    for person, other in ((bela, tested), (anna, project)):
        assert code_of(start_try, annotator=person, project=other, try_id=attempt.pk) == "id_in_use"


def test_right_answers_are_shown_after_the_persons_own(anna: User, tina: User, tested: Project) -> None:
    attempt, test = begin_try(anna, tested), admission_test_for(tested)
    item = try_items(attempt)[0]
    assert not may_see_right_answers(attempt, item, test)
    assert may_see_right_answers(attempt, answer_place(attempt, 0, RIGHT), test)
    test.feedback = "end"
    assert not may_see_right_answers(attempt, try_items(attempt)[0], test)
    answer_place(attempt, 1, RIGHT)
    attempt.refresh_from_db()
    assert may_see_right_answers(attempt, try_items(attempt)[0], test)


def test_a_draw_is_repeatable(tina: User, quality: Project) -> None:
    for n in range(5):
        store_gold(tina, quality, n)
    rows = list(live_gold(quality))
    assert len(draw_gold(rows, 3, 7)) == 3
    assert draw_gold(rows, 3, 7) == draw_gold(rows, 3, 7)
    assert set(draw_gold(rows, None, 7)) == set(rows)
    for seed in range(30):
        assert rows[0] not in draw_gold(rows, len(rows) - 1, seed, known={rows[0].pk})


def test_the_person_who_is_tested_does_not_choose_the_draw(anna: User, bela: User, tested: Project) -> None:
    seeds = set()
    for person in (anna, bela):
        try_id = UUID(int=7)
        seeds.add(start_try(annotator=person, project=tested, try_id=try_id).seed)
        AdmissionTry.objects.all().delete()
    assert len(seeds) == 2


def test_gold_whose_labels_were_shown_is_drawn_last(anna: User, tina: User, tested: Project) -> None:
    store_gold(tina, tested, 2)
    update_admission_test(trainer=tina, project=tested, changes={"items": 1, "tries": 4})
    seen = nth_dialogue(tested, 2)
    record_shown_dialogues(person=anna, dialogues=[seen.pk])
    drawn = []
    for _try in range(2):
        attempt = begin_try(anna, tested)
        drawn.append(try_items(attempt)[0].gold.dialogue_id)
        answer_place(attempt, 0, WRONG)
    assert set(drawn) == {nth_dialogue(tested, 0).pk, nth_dialogue(tested, 1).pk}
    assert try_items(begin_try(anna, tested))[0].gold_id  # every dialogue is known; the test goes on


def test_labels_after_a_test_on_the_same_dialogue_are_not_independent(
    anna: User, tina: User, tested: Project
) -> None:
    attempt = take_test(anna, tested, RIGHT, RIGHT)
    shown = ShownLabels.objects.filter(person=anna).values_list("task__dialogue", flat=True)
    assert set(shown) == {item.gold.dialogue_id for item in try_items(attempt)}


def test_the_mark_counts_answers_or_whole_dialogues() -> None:
    assert score([(1, 10), (0, 10)], Unit.ANSWERS) == 95
    assert score([(1, 10), (0, 10)], Unit.DIALOGUES) == 50
    assert score([(0, 0)], Unit.ANSWERS) == 100
