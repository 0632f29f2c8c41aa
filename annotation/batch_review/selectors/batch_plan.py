"""How a project's batches are cut and judged, and which questions their accuracy can be about."""

from dataclasses import dataclass
from decimal import Decimal

from annotation.batch_review.models import BatchPlan, Sample
from annotation.labelling.schema.questions import Kind, Question, Scope
from annotation.labelling.selectors.schemas import current_schema, load_schema
from projects.models import Project


def batch_plan_for(project: Project) -> BatchPlan:
    """The stored plan, or an unsaved one with DiQAD's numbers about the project's default question."""
    stored = BatchPlan.objects.filter(project=project).first()
    return stored or BatchPlan(project=project, question=default_question(project))


@dataclass(frozen=True, slots=True)
class Percents:
    """How many percent of the labels have to be right. classes: of every class; 0: single classes are not checked."""

    overall: Decimal
    classes: Decimal


def deciding_percents(rule: BatchPlan | Sample) -> Percents:
    """Without a checked question all labels are the one class, so that the larger percentage decides alone."""
    if rule.question:
        return Percents(rule.overall_percent, rule.class_percent)
    return Percents(max(rule.overall_percent, rule.class_percent), Decimal(0))


def checkable_questions(project: Project) -> list[Question]:
    """The questions that accuracy can be about: about the dialogue, compared, and answered with classes."""
    row = current_schema(project)
    questions = load_schema(row).of_scope(Scope.DIALOGUE) if row else ()
    return [
        question for question in questions if question.agree and question.kind in (Kind.CHOICE, Kind.SCALE)
    ]


def default_question(project: Project) -> str:
    """The checkable question with the most options; empty if missing."""
    questions = checkable_questions(project)
    return max(questions, key=lambda question: len(question.options)).key if questions else ""
