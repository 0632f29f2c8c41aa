"""Batches and their review: how far they are, what a sample says about them, and what counts as right."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypedDict

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.models import User
from annotation.batch_review.models import Appeal, AppealState, BatchPlan, Judgement, Sample, SampleItem
from annotation.labelling.models.labels import FinalLabel, Submission
from annotation.labelling.schema.answers import differing_paths
from annotation.labelling.schema.questions import Kind, Question, QuestionSchema, Scope
from annotation.labelling.selectors.schemas import current_schema, load_schema
from annotation.tasks.models.rounds import Round
from annotation.tasks.models.work import Task, TaskState
from measures.acceptance import (
    PlanPoint,
    Stratum,
    batch_accuracy,
    exact,
    operating_characteristic,
    stratified_accuracy,
    stratified_share,
)
from measures.estimate import Estimate
from measures.proportion import Proportion, proportion
from measures.verdict import ClassTally, Decision, decision
from projects.models import Project

WHOLE = "all"  # the class of every label where accuracy is about all compared answers


def plan_of(project: Project) -> BatchPlan:
    """How the project's batches are judged; the defaults are DiQAD's, about the first question of several classes."""
    found = BatchPlan.objects.filter(project=project).first()
    return found or BatchPlan(project=project, question=default_question(project))


def checkable(project: Project) -> list[Question]:
    """The questions that accuracy can be about: of the dialogue, compared, with classes for answers."""
    row = current_schema(project)
    asked = load_schema(row).of_scope(Scope.DIALOGUE) if row else ()
    return [one for one in asked if one.agree and one.kind in (Kind.CHOICE, Kind.SCALE)]


def default_question(project: Project) -> str:
    """The one of them with the most options; empty where there is none."""
    asked = checkable(project)
    return max(asked, key=lambda question: len(question.options)).key if asked else ""


def class_of(answers: Mapping[str, Any], question: str) -> str:
    """The class that a label belongs to."""
    return str(answers["dialogue"].get(question, "")) if question else WHOLE


def is_same(schema: QuestionSchema, question: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two sets of answers say the same where accuracy is looked at."""
    if question:
        return class_of(one, question) == class_of(other, question)
    return not differing_paths(schema, one, other)


class Counts(TypedDict):
    """total: dialogues of a round; done: those with their final label."""

    total: int
    done: int


if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    CountedRound = WithAnnotations[Round, Counts]


def rounds_of(project: Project) -> "QuerySet[CountedRound]":
    """Every round, the newest batch first, with `done` of `total` dialogues labelled."""
    # Counted by row: a page of the list counts the tasks of its own rounds only.
    tasks = Task.objects.filter(round=OuterRef("pk")).order_by().values("round")
    final = tasks.filter(state__in=[TaskState.FINAL, TaskState.WITHDRAWN])
    rows = Round.objects.filter(project=project).select_related("batch", "ended_by", "sample")
    return rows.annotate(total=_count_of(tasks), done=_count_of(final)).order_by("-batch__number", "-number")


def _count_of(grouped: QuerySet[Task, Any]) -> Coalesce:
    return Coalesce(Subquery(grouped.annotate(n=Count("pk")).values("n")), 0)


def labelled_by(user: User, until: datetime | None = None) -> Q:
    """Of tasks: the person has answered the dialogue, in whatever round, or decided its label; until: by then."""
    answered = Submission.objects.filter(annotator=user, task__dialogue=OuterRef("dialogue"))
    decided = FinalLabel.objects.filter(decided_by=user, dialogue=OuterRef("dialogue"))
    if until is not None:
        answered, decided = answered.filter(stored_at__lte=until), decided.filter(decided_at__lte=until)
    return Q(Exists(answered)) | Q(Exists(decided))


# Without answers: those of a hundred long dialogues are megabytes, and every judgement asks for its progress.
JUDGED = Judgement.objects.defer("answers", "reason")

# ---- what counts -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawn dialogue with what was said about it. judgements: the live ones, the one that counts first."""

    item: SampleItem
    judgements: list[Judgement]
    is_upheld: bool

    @property
    def counted(self) -> Judgement | None:
        return self.judgements[0] if self.judgements else None

    @property
    def is_right(self) -> bool | None:
        """Whether the label counts as right: an upheld appeal says so, else the first controller; None: not judged."""
        return None if self.counted is None else self.is_upheld or self.counted.is_right

    def by(self, controller: User) -> "Drawn":
        """With what this one controller said, as if nobody else had judged."""
        own = [one for one in self.judgements if one.controller_id == controller.pk]
        return Drawn(self.item, own, self.is_upheld)


def with_judgements(items: Sequence[SampleItem], said: QuerySet[Judgement] | None = None) -> list[Drawn]:
    """Two queries. said: judgements, with what else of them is read."""
    said = Judgement.objects.select_related("controller") if said is None else said
    found = defaultdict(list)
    keys = [item.pk for item in items]
    for one in said.filter(item__in=keys, superseded_at=None).order_by("number"):
        found[one.item_id].append(one)
    upheld = Appeal.objects.filter(item__in=keys, state=AppealState.UPHELD)
    right = set(upheld.values_list("item", flat=True))
    return [Drawn(item, found[item.pk], item.pk in right) for item in items]


def drawn_of(sample: Sample) -> list[Drawn]:
    """In the order drawn; six queries. The few schemas that the labels have are read once."""
    rows = SampleItem.objects.filter(sample=sample).prefetch_related("final__schema", "task")
    items = list(rows.order_by("place"))
    for item in items:
        item.sample = sample
    return with_judgements(items)


def tallies(sample: Sample, drawn: Sequence[Drawn]) -> list[ClassTally]:
    """By class of the label, in the order of the class names."""
    counts, judged, right = Counter[str](), Counter[str](), Counter[str]()
    for one in drawn:
        counts[one.item.label] += 1
        judged[one.item.label] += one.is_right is not None
        right[one.item.label] += bool(one.is_right)
    names = sorted(sample.classes, key=str)
    return [ClassTally(name, counts[name], judged[name], right[name], sample.classes[name]) for name in names]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Shares from 0 to 1, as they are written. classes: None where the classes are not looked at."""

    overall: Fraction
    classes: Fraction | None


def thresholds(sample: Sample) -> Thresholds:
    """What is wanted of it, by the plan with which it was drawn."""
    share = exact(str(sample.class_percent / 100)) if sample.class_percent else None
    return Thresholds(exact(str(sample.overall_percent / 100)), share)


@dataclass(frozen=True, slots=True)
class Standing:
    """What the judgements so far say about the batch. accuracy: over what was judged, of the batch, with interval."""

    tallies: list[ClassTally]
    decision: Decision
    accuracy: Estimate
    by_class: dict[str, Estimate]

    @property
    def sample(self) -> int:
        return sum(tally.sample for tally in self.tallies)

    @property
    def judged(self) -> int:
        return sum(tally.judged for tally in self.tallies)

    @property
    def right(self) -> int:
        return sum(tally.correct for tally in self.tallies)

    @property
    def is_early(self) -> bool:
        """Decided though not all of the sample is judged."""
        return self.decision is not Decision.OPEN and self.judged < self.sample


def standing_of(sample: Sample, drawn: Sequence[Drawn] | None = None) -> Standing:
    """Three queries, unless what was drawn is given."""
    if drawn is None:
        drawn = with_judgements(list(SampleItem.objects.filter(sample=sample)), JUDGED)
    counted, wanted = tallies(sample, drawn), thresholds(sample)
    said = decision(counted, overall=wanted.overall, per_class=wanted.classes, weighted=sample.is_stratified)
    strata = [Stratum(tally.population, tally.judged, tally.correct) for tally in counted]
    judged, right = sum(tally.judged for tally in counted), sum(tally.correct for tally in counted)
    overall = (
        stratified_accuracy(strata)
        if sample.is_stratified
        else batch_accuracy(right, judged, sample.population)
    )
    by_class = {
        tally.label: batch_accuracy(tally.correct, tally.judged, tally.population)
        for tally in counted
        if tally.sample
    }
    return Standing(counted, said, overall, by_class)


def figures_of(standing: Standing, sample: Sample) -> dict[str, Any]:
    """What a verdict rests on, as it is kept with it; shares exact, as "numerator/denominator"."""
    strata = [Stratum(t.population, t.judged, t.correct) for t in standing.tallies]
    share = (
        stratified_share(strata)
        if sample.is_stratified
        else Fraction(standing.right, standing.judged)
        if standing.judged
        else None
    )
    return {
        "right": standing.right,
        "judged": standing.judged,
        "sample": standing.sample,
        "share": None if share is None else f"{share.numerator}/{share.denominator}",
        "low": standing.accuracy.low,
        "high": standing.accuracy.high,
        "early": standing.is_early,
        "decision": standing.decision.value,
        "classes": [
            {"label": t.label, "sample": t.sample, "judged": t.judged, "right": t.correct, "population": t.population}
            for t in standing.tallies
        ],
    }  # fmt: skip


def characteristic_of(sample: Sample, size: int) -> tuple[PlanPoint, ...]:
    """Probability that a sample of this size accepts a batch of each true accuracy from 80 % to 100 %."""
    shares = [Fraction(n, 200) for n in range(160, 201)]
    return operating_characteristic(sample.population, size, thresholds(sample).overall, shares)


def confusion_of(drawn: Sequence[Drawn], question: str) -> dict[tuple[str, str], int]:
    """(class of the label, class that counts as right) to how many; empty without a question.

    Right is what the controller gave, or the label itself, where an appeal was upheld.
    """
    if not question:
        return {}
    judged = [(one.item.label, one.is_right, one.counted.answers) for one in drawn if one.counted]
    return dict(
        Counter((label, label if is_right else class_of(said, question)) for label, is_right, said in judged)
    )


# ---- for one controller ----------------------------------------------------------------------------------------------


def sample_for(project: Project, round_id: int) -> Sample | None:
    """The sample of a round of the project."""
    rows = Sample.objects.filter(round=round_id, round__project=project)
    return rows.select_related("round__batch", "round__project", "drawn_by").first()


def left_for(controller: User, sample: Sample) -> QuerySet[SampleItem]:
    """What the controller can still judge, in order: never own work, and what nobody or, of a sample that two people
    judge, only one other has judged."""
    rows = SampleItem.objects.filter(can_judge(controller), sample=sample)
    return rows.select_related("final__schema", "task__dialogue").order_by("place")


def can_judge(controller: User) -> Q:
    """Of rows of SampleItem, those that `left_for` gives, of whatever sample."""
    live = Judgement.objects.filter(item=OuterRef("pk"), superseded_at=None)
    mine = live.filter(controller=controller)
    full = Exists(live.filter(number=2)) | (Q(sample__is_double=False) & Exists(live.filter(number=1)))
    own = Submission.objects.filter(annotator=controller, task__dialogue=OuterRef("task__dialogue"))
    decided = FinalLabel.objects.filter(decided_by=controller, dialogue=OuterRef("task__dialogue"))
    return ~Exists(mine) & ~full & ~Exists(own) & ~Exists(decided)


def agreed_of(drawn: Sequence[Drawn]) -> Proportion:
    """Of the dialogues that two controllers judged, those of which both say the same."""
    twice = [(one.item, one.judgements) for one in drawn if len(one.judgements) == 2]
    same = [
        is_same(load_schema(item.final.schema), item.sample.question, said[0].answers, said[1].answers)
        for item, said in twice
    ]
    return proportion(sum(same), len(same))
