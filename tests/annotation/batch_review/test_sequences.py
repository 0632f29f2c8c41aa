"""A thousand random sequences of actions, legal and not, on one small batch: what must hold after every one of them."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from random import Random
from uuid import uuid4

import pytest
from django.db import transaction

from accounts.models import User
from annotation.batch_review.models import Appeal, Sample, SampleItem
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
from tests.annotation.batch_review.conftest import label, says
from tests.annotation.conftest import imported

SEQUENCES, IN_ONE_TEST, DIALOGUES = 1000, 100, 2
ACTIONS = {"new": 12, "sealed": 9}  # from where a sequence begins
AFTERWARDS = 3  # actions on an accepted batch
SENSIBLE = 0.6


class Floor:
    """The people of a new batch, each doing something at random."""

    def __init__(self, batch: Batch, people: dict[str, User], seed: int) -> None:
        self.batch, self.project, self.people, self.dice = batch, batch.project, people, Random(seed)
        self.samples: dict[int, list[int]] = {}
        self.drawn_anew: set[tuple[int, str]] = set()
        self.verdicts: dict[int, tuple[str, str | None]] = {}
        self.left = AFTERWARDS

    @property
    def is_over(self) -> bool:
        """Accepted, and so often tried to change since."""
        self.left -= RoundState.ACCEPTED in (state for state, _share in self.verdicts.values())
        return self.left < 0

    def acts(self) -> bool:
        """One action, mostly one that is next: by chance alone hardly a batch would come to its verdict. False: it was
        refused, and whatever it had done until then is undone."""
        choices: list[tuple[Callable[[], object], int]] = [
            (self.labels, 5), (self.revises, 1), (self.seals, 2), (self.unseals, 1), (self.draws, 3),
            (self.judges, 6), (self.accepts, 2), (self.returns, 2), (self.appeals, 1), (self.settles, 1),
        ]  # fmt: skip
        [action] = self.dice.choices([one for one, _n in choices], [n for _one, n in choices])
        if self.dice.random() < SENSIBLE:
            action = self.dice.choice(self.next_ones())
        with suppress(Refusal), transaction.atomic():
            action()
            return True
        return False

    def next_ones(self) -> list[Callable[[], object]]:
        """What fits the state of the latest round."""
        state = Round.objects.filter(batch=self.batch).latest("number").state
        if state == RoundState.OPEN:
            return [self.labels, self.seals]
        if state == RoundState.SEALED:
            return [self.draws]
        return [self.judges, self.accepts, self.returns, self.appeals, self.settles]

    @property
    def controller(self) -> User:
        return self.people[self.dice.choice(["carla", "chris"])]

    @property
    def round(self) -> Round:
        """Mostly the latest; now and then one that is over."""
        rounds = list(Round.objects.filter(batch=self.batch).order_by("number"))
        return rounds[-1] if self.dice.random() < 0.9 else self.dice.choice(rounds)

    def labels(self) -> None:
        for _n in range(DIALOGUES):
            held = claim_next_task(annotator=self.people["anna"], project=self.project, claim_id=uuid4())
            self.sends(held.pk)

    def revises(self) -> None:
        mine = list(self.people["anna"].assignments.values_list("pk", flat=True))
        if mine:
            self.sends(self.dice.choice(mine))

    def sends(self, assignment: int) -> None:
        answers = says(self.dice.choice([1, 2, 2]))
        submit_labels(
            annotator=self.people["anna"],
            assignment_id=assignment,
            sent=SentLabels(id=uuid4(), schema=1, answers=answers),
        )

    def seals(self) -> None:
        seal_round(actor=None, round_id=self.round.pk)

    def unseals(self) -> None:
        unseal_round(actor=self.people["anna"], round_id=self.round.pk, reason="A slip.")

    def draws(self) -> None:
        draw_sample(controller=self.controller, round_id=self.round.pk, sample_id=uuid4())

    def judges(self) -> None:
        sample = Sample.objects.filter(round=self.round).first()
        if sample is None:
            return
        for item in SampleItem.objects.filter(sample=sample):
            if self.dice.random() < 0.7:
                sent = SentJudgement(
                    id=uuid4(), answers=says(self.dice.choice([int(item.label), int(item.label), 2, 1]))
                )
                with suppress(Refusal), transaction.atomic():
                    judge(controller=self.controller, item_id=item.pk, sent=sent)

    def accepts(self) -> None:
        accept_round(controller=self.controller, round_id=self.round.pk, decision_id=uuid4())

    def returns(self) -> None:
        return_round(
            controller=self.controller, round_id=self.round.pk, decision_id=uuid4(), reason="Not enough."
        )

    def appeals(self) -> None:
        items = list(SampleItem.objects.filter(sample__round__batch=self.batch).values_list("pk", flat=True))
        if items:
            raise_appeal(
                by=self.people["anna"],
                item_id=self.dice.choice(items),
                appeal_id=uuid4(),
                reason="It was right.",
            )

    def settles(self) -> None:
        appeal = Appeal.objects.filter(item__sample__round__batch=self.batch).first()
        if appeal:
            settle_appeal(
                trainer=self.people["tina"],
                appeal_id=appeal.pk,
                upheld=self.dice.random() < 0.5,
                settlement="So it is.",
            )

    def holds(self) -> None:
        rounds = list(Round.objects.filter(batch=self.batch).order_by("number"))
        assert [row.number for row in rounds] == list(range(1, len(rounds) + 1))
        assert {row.state for row in rounds[:-1]} <= {RoundState.RETURNED}  # one live round at most
        assert rounds[-1].state != RoundState.RETURNED
        tasks = Counter(Task.objects.filter(round__batch=self.batch).values_list("round", "state").order_by())
        live = FinalLabel.objects.filter(task__round__batch=self.batch, superseded_at=None)
        finals = Counter(live.values_list("task__round", flat=True).order_by())
        samples = {one.round_id: one for one in Sample.objects.filter(round__in=rounds)}
        for row in rounds:
            states = {state: n for (pk, state), n in tasks.items() if pk == row.pk}
            self.round_holds(row, states, finals[row.pk], samples.get(row.pk))
        self.export_holds(rounds[-1])

    def round_holds(self, row: Round, states: dict[str, int], live: int, sample: Sample | None) -> None:
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
            self.sample_holds(row, sample)

    def sample_holds(self, row: Round, sample: Sample) -> None:
        drawn = reviewed_items(sample)
        items = [one.item for one in drawn]
        tasks = [item.task_id for item in items]
        assert self.samples.setdefault(row.pk, tasks) == tasks
        if (row.pk, row.state) not in self.drawn_anew:
            self.drawn_anew.add((row.pk, row.state))
            assert redraw_sample(sample) == tasks
        assert all(str(item.final.answers["dialogue"]["quality"]) == item.label for item in items)
        assert row.state == RoundState.IN_REVIEW or row.ended_at
        if not row.ended_at:
            return
        kept = (row.state, row.figures["share"])
        assert self.verdicts.setdefault(row.pk, kept) == kept
        judged = [one.deciding for one in drawn if one.deciding]
        upheld = Appeal.objects.filter(item__sample=sample, state="upheld").count()
        late = Appeal.objects.filter(
            item__sample=sample, settled_at__gte=row.ended_at, state="upheld"
        ).count()
        right = sum(one.is_right for one in judged) + upheld - late
        assert Fraction(row.figures["share"]) == Fraction(right, len(judged))
        passed = right * 100 >= 75 * len(items)
        assert (row.state == RoundState.ACCEPTED) == passed
        standing = sample_progress(sample, drawn)
        assert (standing.right, standing.judged) == (right + late, len(judged))

    def export_holds(self, latest: Round) -> None:
        count = select(self.project, Filters()).dialogues().count()
        assert count == (DIALOGUES if latest.state == RoundState.ACCEPTED else 0)


@pytest.fixture
def batch(quality: Project) -> Batch:
    imported(quality, DIALOGUES)
    Dialogue.objects.filter(project=quality).update(split=Split.TRAIN)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    [made] = cut_batches(project=quality, actor=None, cut_id=uuid4())
    return made


@pytest.mark.parametrize("first", range(0, SEQUENCES, IN_ONE_TEST))
def test_whatever_people_do_a_batch_stays_whole(
    batch: Batch, anna: User, carla: User, chris: User, tina: User, first: int
) -> None:
    """Sequences begin with the same batch, half of them with a labelled one; what the one before did is rolled back."""
    people = {"anna": anna, "carla": carla, "chris": chris, "tina": tina}
    reached = set[str]()
    half = first + IN_ONE_TEST // 2
    for begin, seeds in (("new", range(first, half)), ("sealed", range(half, first + IN_ONE_TEST))):
        if begin == "sealed":
            label(batch.project, anna, [2, 1])
        for seed in seeds:
            mark = transaction.savepoint()
            floor = Floor(batch, people, seed)
            for _n in range(ACTIONS[begin]):
                if floor.acts():
                    floor.holds()
                if floor.is_over:
                    break
            reached |= set(Round.objects.filter(batch=batch).values_list("state", flat=True))
            transaction.savepoint_rollback(mark)
    assert Round.objects.get(batch=batch).state == RoundState.SEALED
    assert {RoundState.ACCEPTED, RoundState.RETURNED} <= reached
