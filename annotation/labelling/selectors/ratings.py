"""People's independent answers as tables of ratings, one table per question (DCH §3.2, §3.5).

Answers are independent (stage `label`) if they were sent before the dialogue's confirmation began and before it had a
final label, since both show others' answers. Of several revisions, the last one counts.
PostgreSQL extracts one answer per submission and returns columns of numbers, so 100,000 dialogues need no objects.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from psycopg.types.json import Jsonb

from annotation.labelling.models.labels import Stage, Submission
from annotation.labelling.schema.questions import Kind, Option, Question, QuestionSchema, Scope
from annotation.labelling.selectors.schemas import load_schema
from annotation.tasks.models.work import TaskState
from measures.bootstrap import Ints
from measures.ratings import Ratings
from projects.models import Project

RATED = frozenset({Kind.CHOICE, Kind.SCALE, Kind.SLIDER, Kind.CHOICES})
NUMERIC = frozenset({Kind.SCALE, Kind.SLIDER})


@dataclass(frozen=True, slots=True)
class RatedQuestion:
    """What one table of ratings is about.

    name: "A"; "nugget/customer" if options differ by speaker; "reasons=incomplete" for one option of a multiple choice.
    categories: in order; empty for a slider, whose categories are the values that occur.
    """

    name: str
    question: Question
    speaker: str | None
    option: Option | None
    categories: tuple[int | str, ...]

    @property
    def options(self) -> tuple[Option, ...]:
        return self.question.options_for(self.speaker)


@dataclass(frozen=True, slots=True, eq=False)
class RatingTable:
    """Ratings of one question. An item is the id of a dialogue or an utterance. day: shape (ratings,), since 1970."""

    rated: RatedQuestion
    ratings: Ratings
    day: Ints

    def merged_ratings(self) -> Ratings:
        """The ratings with `counts_as` applied: options that count as another one share its category.

        Agreement is measured on these.
        """
        counts_as: dict[Any, Any] = {
            option.value: option.counts_as for option in self.rated.options if option.counts_as is not None
        }
        old = self.ratings.categories
        if self.rated.option or not counts_as.keys() & set(old):
            return self.ratings
        new = [counts_as.get(value, value) for value in old]
        # The category that others count as may never have been chosen itself.
        categories = tuple(value for value in self.rated.categories if value in set(new))
        code = np.array([categories.index(value) for value in new], np.int64)
        return replace(self.ratings, categories=categories, code=code[self.ratings.code])


def independent_submissions(project: Project) -> QuerySet[Submission]:
    """Each assignment's last submission that was sent before its author could see others' answers."""
    later = Submission.objects.filter(
        assignment=OuterRef("assignment"), stage=Stage.LABEL, revision__gt=OuterRef("revision")
    )
    rows = Submission.objects.filter(~Exists(later), project=project, stage=Stage.LABEL)
    return rows.exclude(task__state=TaskState.WITHDRAWN).order_by()


def rated_questions(project: Project) -> list[RatedQuestion]:
    """What can be compared, in the order of the project's schema."""
    row = project.labelling.schema
    return list(_rated_questions(load_schema(row))) if row else []


def _rated_questions(schema: QuestionSchema) -> Iterator[RatedQuestion]:
    for question in schema.questions:
        if question.kind in RATED:
            speakers = sorted({name for option in question.options for name in option.speakers})
            for speaker in speakers or (None,):
                yield from _rated_by_speaker(question, speaker)


def _rated_by_speaker(question: Question, speaker: str | None) -> Iterator[RatedQuestion]:
    name = f"{question.key}/{speaker}" if speaker else question.key
    options = question.options_for(speaker)
    if question.kind is Kind.CHOICES:
        for option in options:
            yield RatedQuestion(f"{name}={option.value}", question, speaker, option, (0, 1))
    else:
        values = [option.value for option in options]
        ordered = sorted(values) if question.kind is Kind.SCALE else values
        yield RatedQuestion(name, question, speaker, None, tuple(ordered))


INDEPENDENT = """
FROM annotation_submission s JOIN annotation_task t ON t.id = s.task_id
WHERE s.project_id = %(project)s AND s.stage = 'label' AND t.dialogue_id IS NOT NULL AND t.state <> 'withdrawn'
AND (%(dialogues)s::bigint[] IS NULL OR t.dialogue_id = ANY(%(dialogues)s::bigint[]))
AND (%(raters)s::bigint[] IS NULL OR s.annotator_id = ANY(%(raters)s::bigint[]))
AND NOT EXISTS (SELECT FROM annotation_submission later WHERE later.assignment_id = s.assignment_id
AND later.stage = 'label' AND later.revision > s.revision)
"""
DAY = "(s.stored_at AT TIME ZONE %(zone)s)::date - date '1970-01-01' AS day"
OF_DIALOGUE = f"""SELECT t.dialogue_id AS item, s.annotator_id AS rater, {DAY},
s.answers->'dialogue'->%(key)s AS answer {INDEPENDENT}"""
OF_UTTERANCE = f"""SELECT u.id AS item, one.annotator_id AS rater, one.day, given.value->%(key)s AS answer
FROM (SELECT t.dialogue_id, s.annotator_id, {DAY}, s.answers->'utterances' AS utterances {INDEPENDENT}) one,
jsonb_each(one.utterances) given, dialogues_utterance u
WHERE u.dialogue_id = one.dialogue_id AND u.position = given.key::int
AND (%(speaker)s::text IS NULL OR u.speaker = %(speaker)s)"""  # noqa: S608  no part of it comes from outside
# Each column is returned as one text: numpy parses millions of numbers from it as fast as psycopg reads 1,000 rows.
COLUMNS = "SELECT " + ", ".join(
    f"coalesce(string_agg({name}::text, ','), '')" for name in ("item", "rater", "day", "code")
)
CODES = {
    "several": "1 + (answer @> %(option)s::jsonb)::int",
    "slider": "CASE WHEN jsonb_typeof(answer) = 'number' THEN answer::int END",
    "options": "array_position(%(options)s::jsonb[], answer)",
}


def rating_table(
    project: Project,
    rated: RatedQuestion,
    dialogues: Sequence[int] | None = None,
    people: Sequence[int] | None = None,
) -> RatingTable:
    """The ratings of one question, for all dialogues and people or only for these. One query.

    Answers to another version of the schema count if the question still has the option.
    """
    code = CODES["several" if rated.option else "slider" if rated.question.kind is Kind.SLIDER else "options"]
    rows = OF_DIALOGUE if rated.question.scope is Scope.DIALOGUE else OF_UTTERANCE
    query = f"""{COLUMNS} FROM (SELECT item, rater, day, {code} AS code FROM ({rows}) given
        WHERE answer IS NOT NULL) coded WHERE code IS NOT NULL"""  # noqa: S608  as above
    with connection.cursor() as cursor:
        cursor.execute(query, _parameters(project, rated, dialogues, people))
        item, rater, day, codes = (np.fromstring(text, np.int64, sep=",") for text in cursor.fetchone())
    categories = rated.categories
    if rated.question.kind is Kind.SLIDER:
        found, codes = np.unique(codes, return_inverse=True)
        categories = tuple(found.tolist())
    else:
        codes = codes - 1
    items, item = np.unique(item, return_inverse=True)
    raters, rater = np.unique(rater, return_inverse=True)
    ratings = Ratings(tuple(items.tolist()), tuple(raters.tolist()), categories, item, rater, codes)
    return RatingTable(rated, ratings, day)


def _parameters(
    project: Project, rated: RatedQuestion, dialogues: Sequence[int] | None, people: Sequence[int] | None
) -> dict[str, Any]:
    return {
        "project": project.pk,
        "dialogues": None if dialogues is None else list(dialogues),
        "raters": None if people is None else list(people),
        "zone": timezone.get_default_timezone_name(),
        "key": rated.question.key,
        "speaker": rated.speaker,
        "option": Jsonb(rated.option.value) if rated.option else None,
        "options": [Jsonb(value) for value in rated.categories],
    }


def rating_tables(project: Project) -> Iterator[RatingTable]:
    """The table of every question, one after the other."""
    return (rating_table(project, rated) for rated in rated_questions(project))
