"""Random sequences of actions, legal and not, on one small batch, and what must be true after each of them."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from random import Random
from uuid import uuid4

import pytest
from django.db import transaction
from hypothesis import settings

from accounts.models import User
from annotation.batch_review.models import Appeal, AppealState, Sample, SampleItem
from annotation.batch_review.selectors.reviewed_items import reviewed_items
from annotation.batch_review.selectors.sample_progress import sample_progress
from annotation.batch_review.services.appeals import raise_appeal, settle_appeal
from annotation.batch_review.services.cutting import cut_batches
from annotation.batch_review.services.judgements import SentJudgement, judge
from annotation.batch_review.services.sample_drawing import draw_sample, redraw_sample
from annotation.batch_review.services.sealing import seal_round, unseal_round
from annotation.batch_review.services.verdicts import accept_round, return_round
from annotation.labelling.models.labels import FinalLabel
from annotation.labelling.services.planning import plan_labelling
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.tasks.models.rounds import Batch, Round, RoundState
from annotation.tasks.models.work import Task, TaskState
from annotation.tasks.services.claiming import claim_next_task
from common.refusals import Refusal
from dialogues.models import Dialogue, Split
from preference.data.selectors.selection import Filters, select
from projects.models import Project
from tests.annotation.batch_review.conftest import diqad_answers, label_next
from tests.annotation.conftest import imported

SEQUENCES = settings().max_examples  # of each start
ACTIONS = {"open": 12, "sealed": 9}  # by the state of the batch at the start
ACTIONS_AFTERWARDS = 3  # on an accepted batch
DIALOGUES = 2
SENSIBLE = 0.6


class Simulation:
    """The people of a batch, one of whom does something random at each step."""

    def __init__(self, batch: Batch, people: dict[str, User], seed: int) -> None:
        self.batch, self.project, self.people, self.dice = batch, batch.project, people, Random(seed)
        self.samples: dict[int, list[int]] = {}
        self.redrawn: set[tuple[int, str]] = set()
        self.verdicts: dict[int, tuple[str, str | None]] = {}
        self.left = ACTIONS_AFTERWARDS

    def run(self, actions: int) -> None:
        for _n in range(actions):
            if self.act():
                self.check()
            self.left -= RoundState.ACCEPTED in (state for state, _share in self.verdicts.values())
            if self.left < 0:
                return

    def act(self) -> bool:
        """Do one thing, mostly a sensible one: by chance alone hardly any batch would come to its verdict.

        Returns False if it was refused; then nothing of it may remain.
        """
        choices: list[tuple[Callable[[], object], int]] = [
            (self.label, 5), (self.revise, 1), (self.seal, 2), (self.unseal, 1), (self.draw, 3),
            (self.judge, 6), (self.accept, 2), (self.return_, 2), (self.appeal, 1), (self.settle, 1),
        ]  # fmt: skip
        [action] = self.dice.choices(
            [action for action, _weight in choices], [weight for _action, weight in choices]
        )
        if self.dice.random() < SENSIBLE:
            action = self.dice.choice(self.sensible_actions())
        with suppress(Refusal), transaction.atomic():
            action()
            return True
        return False

    def sensible_actions(self) -> list[Callable[[], object]]:
        state = Round.objects.filter(batch=self.batch).latest("number").state
        if state == RoundState.OPEN:
            return [self.label, self.seal]
        if state == RoundState.SEALED:
            return [self.draw]
        return [self.judge, self.accept, self.return_, self.appeal, self.settle]

    @property
    def controller(self) -> User:
        return self.people[self.dice.choice(["carla", "chris"])]

    @property
    def round(self) -> Round:
        """Mostly the latest, now and then one that is over."""
        rounds = list(Round.objects.filter(batch=self.batch).order_by("number"))
        return rounds[-1] if self.dice.random() < 0.9 else self.dice.choice(rounds)

    # ---- actions -----------------------------------------------------------------------------------------------------

    def label(self) -> None:
        for _n in range(DIALOGUES):
            held = claim_next_task(annotator=self.people["anna"], project=self.project, claim_id=uuid4())
            self.send(held.pk)

    def revise(self) -> None:
        own = list(self.people["anna"].assignments.values_list("pk", flat=True))
        if own:
            self.send(self.dice.choice(own))

    def send(self, assignment: int) -> None:
        answers = diqad_answers(self.dice.choice([1, 2, 2]))
        submit_labels(
            annotator=self.people["anna"],
            assignment_id=assignment,
            sent=SentLabels(id=uuid4(), schema=1, answers=answers),
        )

    def seal(self) -> None:
        seal_round(actor=None, round_id=self.round.pk)

    def unseal(self) -> None:
        unseal_round(actor=self.people["anna"], round_id=self.round.pk, reason="A slip.")

    def draw(self) -> None:
        draw_sample(controller=self.controller, round_id=self.round.pk, sample_id=uuid4())

    def judge(self) -> None:
        sample = Sample.objects.filter(round=self.round).first()
        if sample is None:
            return
        for item in SampleItem.objects.filter(sample=sample):
            if self.dice.random() < 0.7:
                answers = diqad_answers(self.dice.choice([int(item.label), int(item.label), 2, 1]))
                with suppress(Refusal), transaction.atomic():
                    sent = SentJudgement(id=uuid4(), answers=answers)
                    judge(controller=self.controller, item_id=item.pk, sent=sent)

    def accept(self) -> None:
        accept_round(controller=self.controller, round_id=self.round.pk, decision_id=uuid4())

    def return_(self) -> None:
        return_round(
            controller=self.controller, round_id=self.round.pk, decision_id=uuid4(), reason="Not enough."
        )

    def appeal(self) -> None:
        items = list(SampleItem.objects.filter(sample__round__batch=self.batch).values_list("pk", flat=True))
        if items:
            item = self.dice.choice(items)
            raise_appeal(by=self.people["anna"], item_id=item, appeal_id=uuid4(), reason="It was right.")

    def settle(self) -> None:
        appeal = Appeal.objects.filter(item__sample__round__batch=self.batch).first()
        if appeal:
            settle_appeal(
                trainer=self.people["tina"],
                appeal_id=appeal.pk,
                upheld=self.dice.random() < 0.5,
                settlement="Read page 2.",
            )

    # ---- what must be true -------------------------------------------------------------------------------------------

    def check(self) -> None:
        rounds = list(Round.objects.filter(batch=self.batch).order_by("number"))
        assert [row.number for row in rounds] == list(range(1, len(rounds) + 1))
        assert {row.state for row in rounds[:-1]} <= {RoundState.RETURNED}  # at most one live round
        assert rounds[-1].state != RoundState.RETURNED
        tasks = Counter(Task.objects.filter(round__batch=self.batch).values_list("round", "state").order_by())
        live = FinalLabel.objects.filter(task__round__batch=self.batch, superseded_at=None)
        finals = Counter(live.values_list("task__round", flat=True).order_by())
        samples = {sample.round_id: sample for sample in Sample.objects.filter(round__in=rounds)}
        for row in rounds:
            states = {state: n for (pk, state), n in tasks.items() if pk == row.pk}
            self.check_round(row, states, finals[row.pk], samples.get(row.pk))
        self.check_export(rounds[-1])

    def check_round(self, row: Round, states: dict[str, int], live: int, sample: Sample | None) -> None:
        assert sum(states.values()) == DIALOGUES
        if row.state == RoundState.RETURNED:
            assert set(states) == {TaskState.WITHDRAWN}
            assert live == 0
        elif row.state != RoundState.OPEN:
            assert set(states) == {TaskState.FINAL}
            assert live == DIALOGUES
        assert (sample is not None) == (row.state not in (RoundState.OPEN, RoundState.SEALED))
        if sample is not None:
            sample.round = row
            self.check_sample(row, sample)

    def check_sample(self, row: Round, sample: Sample) -> None:
        reviewed = reviewed_items(sample)
        items = [row.item for row in reviewed]
        tasks = [item.task_id for item in items]
        assert self.samples.setdefault(row.pk, tasks) == tasks
        if (row.pk, row.state) not in self.redrawn:
            self.redrawn.add((row.pk, row.state))
            assert redraw_sample(sample) == tasks
        assert all(str(item.final.answers["dialogue"]["quality"]) == item.label for item in items)
        if not row.ended_at:
            assert row.state == RoundState.IN_REVIEW
            return
        verdict = (row.state, row.figures["share"])
        assert self.verdicts.setdefault(row.pk, verdict) == verdict
        upheld = Appeal.objects.filter(item__sample=sample, state=AppealState.UPHELD)
        late = upheld.filter(settled_at__gte=row.ended_at).count()
        judgements = [row.deciding for row in reviewed if row.deciding]
        right = sum(judgement.is_right for judgement in judgements) + upheld.count() - late
        assert Fraction(row.figures["share"]) == Fraction(right, len(judgements))
        assert (row.state == RoundState.ACCEPTED) == (right * 100 >= 75 * len(items))
        progress = sample_progress(sample, reviewed)
        assert (progress.right, progress.judged) == (right + late, len(judgements))

    def check_export(self, latest: Round) -> None:
        count = select(self.project, Filters()).dialogues().count()
        assert count == (DIALOGUES if latest.state == RoundState.ACCEPTED else 0)


@pytest.fixture
def batch(quality: Project) -> Batch:
    imported(quality, DIALOGUES)
    Dialogue.objects.filter(project=quality).update(split=Split.TRAIN)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    [batch] = cut_batches(project=quality, actor=None, cut_id=uuid4())
    return batch


@pytest.mark.parametrize("start", ["open", "sealed"])
def test_a_batch_stays_consistent_whatever_people_do(
    batch: Batch, anna: User, carla: User, chris: User, tina: User, start: str
) -> None:
    """Each sequence starts from the same batch and is rolled back."""
    if start == "sealed":
        label_next(batch.project, anna, [2, 1])
    people = {"anna": anna, "carla": carla, "chris": chris, "tina": tina}
    reached = set[str]()
    for seed in range(SEQUENCES):
        savepoint = transaction.savepoint()
        Simulation(batch, people, seed).run(ACTIONS[start])
        reached |= set(Round.objects.filter(batch=batch).values_list("state", flat=True))
        transaction.savepoint_rollback(savepoint)
    assert Round.objects.get(batch=batch).state == start
    if start == "sealed":
        assert {RoundState.ACCEPTED, RoundState.RETURNED} <= reached
