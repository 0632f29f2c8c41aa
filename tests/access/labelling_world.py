"""A labelling project: a batch that was returned and is reviewed again, a dispute, an admission test, evaluators."""

from typing import Any
from uuid import uuid4

from django.test import TestCase

from accounts.models import User
from annotation.batch_review.models import BatchPlan, SampleItem
from annotation.batch_review.services.appeals import raise_appeal
from annotation.batch_review.services.sample_drawing import draw_sample
from annotation.batch_review.services.verdicts import return_round
from annotation.labelling.selectors.replanning import Replan
from annotation.labelling.services.planning import plan_labelling
from annotation.labelling.services.replanning import replan_tasks
from annotation.onboarding.services.admission_tests import update_admission_test
from annotation.onboarding.services.gold import make_gold
from annotation.onboarding.services.threads import ask_question
from annotation.onboarding.services.tries import start_try
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment, Task
from annotation.tasks.services.claiming import claim_next_task
from dialogues.models import Dialogue, Split
from preference.topics.services.tagging import start_tagging
from projects.models import Project
from tests.access.people import (
    ANNOTATOR,
    COLLEAGUE,
    CONTROLLER,
    ENGINEER,
    LEAVER,
    MANAGER,
    OWN,
    TRAINER,
    People,
)
from tests.annotation.batch_review.conftest import (
    cut_one_batch,
    diqad_answers,
    judge_all,
    label_next,
    latest_round,
)
from tests.annotation.conftest import imported
from tests.annotation.labelling.test_labelling import claim_for_both, good, sends
from tests.preference.evaluators.assessed import SURE, UNSURE, assessed_run
from tests.preference.evaluators.test_meta_evaluations import compared, label
from tests.preference.evaluators.test_scoring import scored

Values = dict[str, Any]
LABELLERS = (ANNOTATOR, LEAVER)
JUDGE = {"server": "http://127.0.0.1:9/topics/v1", "server_model": "judge-1"}


def create_labelling_world(people: People) -> tuple[Project, Values]:
    project = create_project(slug="quality", preset="diqad", actor=people[MANAGER], title="Quality")
    people.join(project)
    project.labelling.min_seconds, project.labelling.overlap = 0, 1
    project.labelling.save()
    BatchPlan.objects.create(
        project=project,
        question="quality",
        sample_size=7,
        overall_percent=75,
        class_percent=0,
        double_every=0,
    )
    comparison = _comparison(
        project, people
    )  # without batches, whose labels only count once they are accepted
    batch = _batch(project, people)
    dispute = _dispute(project, people)
    evaluators = _evaluators(project, people)
    work = _work(project, people)
    replan = _replan(project)
    people.leave(project, LEAVER)
    return project, {**comparison, **batch, **dispute, **evaluators, **work, **replan}


def _replan(project: Project) -> Values:
    change = uuid4()
    replan_tasks(project=project, actor=None, request_id=change, replan=Replan(priority=1))
    return {"replans/{pk}": change, "replan/{replan_id}": change}


def _batch(project: Project, people: People) -> Values:
    """Returned after the first sample; the sample of the second round is being judged."""
    controller = people[CONTROLLER]
    batch = cut_one_batch(project, 4)
    _label(project, people, [2, 2])
    first = draw_sample(controller=controller, round_id=latest_round(batch).pk, sample_id=uuid4())
    judge_all(controller, first, wrong=7)
    return_round(controller=controller, round_id=first.round_id, decision_id=uuid4(), reason="Read twice.")
    item = first.items.filter(task__assignments__annotator=people[ANNOTATOR]).earliest("pk")
    appeal = raise_appeal(
        by=people[ANNOTATOR], item_id=item.pk, appeal_id=uuid4(), reason="It names the step."
    )
    _label(project, people, [2, 2, 2, 2])  # those of the comparison as well
    sample = draw_sample(controller=controller, round_id=latest_round(batch).pk, sample_id=uuid4())
    drawn = sample.items.filter(task__assignments__annotator=people[ANNOTATOR])
    in_review = drawn.exclude(task__dialogue__assignments__annotator=people[COLLEAGUE]).earliest("pk")
    return {
        "rounds/{pk}": sample.round_id,
        "batches/{number}": batch.number,
        "sample-items/{pk}": in_review.pk,
        "appeals/{pk}": appeal.pk,
        "dialogues/{pk}": in_review.task.dialogue_id,
        "dialogues/{dialogue_id}": in_review.task.dialogue_id,
    }


def _label(project: Project, people: People, scores: list[int]) -> None:
    """The annotator labels as many dialogues as there are scores, the leaver the rest of the batch."""
    label_next(project, people[ANNOTATOR], scores)
    rest = Task.objects.filter(project=project, open_slots__gt=0).count()
    label_next(project, people[LEAVER], [2] * rest)


def _dispute(project: Project, people: People) -> Values:
    """The annotator and the colleague differ after they have seen each other's answers."""
    project.labelling.overlap = 2
    project.labelling.save()
    imported(project, 1)
    plan_labelling(project=project, actor=None, plan_id=uuid4())
    with TestCase.captureOnCommitCallbacks(execute=True):
        first, second = claim_for_both(people[ANNOTATOR], people[COLLEAGUE], project)
        for _round in range(2):
            sends(first, good(2), note="It answers everything.")
            sends(second, good(1, reasons_1=["incomplete"]), note="One question stays open.")
    project.labelling.overlap = 1
    project.labelling.save()
    return {"disputes/{pk}": first.task_id, "disputes/{task_id}": first.task_id}


def _comparison(project: Project, people: People) -> Values:
    for value, dialogue in enumerate(imported(project, 3)):
        label(Task.objects.create(project=project, dialogue=dialogue), value, (people[COLLEAGUE], value))
    Task.objects.filter(project=project).update(open_slots=0)
    Dialogue.objects.filter(project=project).update(split=Split.TEST)
    scored(project)
    comparison = compared(project, question="quality")
    return {"meta-evaluations/{pk}": comparison.pk, "comparisons/{evaluation_id}": comparison.pk}


def _evaluators(project: Project, people: People) -> Values:
    first, second = imported(project, 2)
    run = assessed_run(project, {first.pk: SURE[2], second.pk: UNSURE})
    tagging = start_tagging(
        project=project, actor=people[ENGINEER], run_id=uuid4(), tagger="judge", settings=JUDGE, enqueue=False
    )
    return {
        "scoring-runs/{pk}": run.pk,
        "scores/{run_id}": run.pk,
        "tagging-runs/{pk}": tagging.pk,
        "runs/{run_id}": tagging.pk,
    }


def _work(project: Project, people: People) -> Values:
    """What the annotator and the leaver hold, a question, and an admission test that the annotator takes."""
    plan_labelling(project=project, actor=None, plan_id=uuid4())
    held = {
        one: claim_next_task(annotator=people[one], project=project, claim_id=uuid4()) for one in LABELLERS
    }
    gold = imported(project, 1)[0]
    make_gold(
        trainer=people[TRAINER],
        project=project,
        dialogue_id=gold.pk,
        answers=diqad_answers(2),
        explanation="Step.",
    )
    update_admission_test(trainer=people[TRAINER], project=project, changes={"is_on": True, "tries": 2})
    return {
        **_own(people[ANNOTATOR], held[ANNOTATOR]),
        OWN: {LEAVER: _own(people[LEAVER], held[LEAVER])},
        "gold/{dialogue_id}": gold.pk,
        "people/{username}": people[COLLEAGUE].username,
        "{pk}/{place}": 0,
        "{try_id}/{place}": 0,
        "schemas/{version}": 1,
        "schema/{number}": 1,
        "statistics/{name}": "agreement",
    }


def _own(person: User, held: Assignment) -> Values:
    thread = ask_question(
        asker=person, project=held.project, dialogue_id=held.dialogue_id, thread_id=uuid4(), text="Is it 1?"
    )
    attempt = start_try(annotator=person, project=held.project, try_id=uuid4())
    judged = SampleItem.objects.filter(task__assignments__annotator=person, sample__round__number=1).earliest(
        "pk"
    )
    return {
        "labelling/{pk}": held.pk,
        "label/{assignment_id}": held.pk,
        "threads/{dialogue_id}": held.dialogue_id,
        "threads/{pk}": thread.pk,
        "threads/{thread_id}": thread.pk,
        "admission/{pk}": attempt.pk,
        "admission/{try_id}": attempt.pk,
        "samples/{pk}": judged.pk,
        "api/v1/sample-items/{pk}/appeals/": {"sample-items/{pk}": judged.pk},
    }
