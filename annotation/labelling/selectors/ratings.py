"""People's independent answers as tables of ratings, one table a question (DCH §3.2, §3.5).

Independent (stage `label`) is what was answered before the confirmation of its dialogue began or its final label was
there, from when on people may have seen the others' answers; of several revisions the last.
PostgreSQL picks one answer out of each submission and sends columns of numbers: 100,000 dialogues need no objects.
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
NUMBERED = frozenset({Kind.SCALE, Kind.SLIDER})


@dataclass(frozen=True, slots=True)
class RatedQuestion:
    """What one table rests on. name: "A", "nugget/customer" where options differ by speaker, "reasons=incomplete" for
    one option of several.

    categories: in order; empty for a slider, which has those that occur.
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
    """Ratings of one question. An item is a dialogue's id, or an utterance's; day: shape (ratings,), since 1970."""

    asked: RatedQuestion
    ratings: Ratings
    day: Ints

    def merged(self) -> Ratings:
        """The ratings with options that count as another one taken together; agreement is measured on these."""
        same: dict[Any, Any] = {
            option.value: option.counts_as for option in self.asked.options if option.counts_as is not None
        }
        old = self.ratings.categories
        if self.asked.option or not same.keys() & set(old):
            return self.ratings
        names = [same.get(value, value) for value in old]
        # The category that others count as need not have been given itself.
        kept = tuple(value for value in self.asked.categories if value in set(names))
        code = np.array([kept.index(name) for name in names], np.int64)
        return replace(self.ratings, categories=kept, code=code[self.ratings.code])


def independent_submissions(project: Project) -> QuerySet[Submission]:
    """The last submission of every assignment that was made before its author could see the others'."""
    later = Submission.objects.filter(
        assignment=OuterRef("assignment"), stage=Stage.LABEL, revision__gt=OuterRef("revision")
    )
    rows = Submission.objects.filter(~Exists(later), project=project, stage=Stage.LABEL)
    return rows.exclude(task__state=TaskState.WITHDRAWN).order_by()


def rated_questions(project: Project) -> list[RatedQuestion]:
    """What can be compared, in the order of the questions of the project's schema."""
    row = project.labelling.schema
    return list(_asked(load_schema(row))) if row else []


def _asked(schema: QuestionSchema) -> Iterator[RatedQuestion]:
    for question in schema.questions:
        if question.kind in RATED:
            speakers = sorted({name for option in question.options for name in option.speakers})
            for speaker in speakers or (None,):
                yield from _of_speaker(question, speaker)


def _of_speaker(question: Question, speaker: str | None) -> Iterator[RatedQuestion]:
    name = f"{question.key}/{speaker}" if speaker else question.key
    options = question.options_for(speaker)
    if question.kind is Kind.CHOICES:
        for option in options:
            yield RatedQuestion(f"{name}={option.value}", question, speaker, option, (0, 1))
    else:
        values = [option.value for option in options]
        ordered = sorted(values) if question.kind is Kind.SCALE else values
        yield RatedQuestion(name, question, speaker, None, tuple(ordered))


# ---- reading -----------------------------------------------------------------------------------------------------

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
# A column arrives as one text: numpy reads millions of numbers from it in the time that a thousand rows take.
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
    asked: RatedQuestion,
    dialogues: Sequence[int] | None = None,
    people: Sequence[int] | None = None,
) -> RatingTable:
    """The ratings of one question, of all dialogues and people or of these; one query.

    Answers to another version of the schema count where the question still has the option.
    """
    code = CODES["several" if asked.option else "slider" if asked.question.kind is Kind.SLIDER else "options"]
    rows = OF_DIALOGUE if asked.question.scope is Scope.DIALOGUE else OF_UTTERANCE
    query = f"""{COLUMNS} FROM (SELECT item, rater, day, {code} AS code FROM ({rows}) given
        WHERE answer IS NOT NULL) coded WHERE code IS NOT NULL"""  # noqa: S608  as above
    with connection.cursor() as cursor:
        cursor.execute(query, _parameters(project, asked, dialogues, people))
        item, rater, day, codes = (np.fromstring(text, np.int64, sep=",") for text in cursor.fetchone())
    categories = asked.categories
    if asked.question.kind is Kind.SLIDER:
        found, codes = np.unique(codes, return_inverse=True)
        categories = tuple(found.tolist())
    else:
        codes = codes - 1
    items, item = np.unique(item, return_inverse=True)
    raters, rater = np.unique(rater, return_inverse=True)
    whole = Ratings(tuple(items.tolist()), tuple(raters.tolist()), categories, item, rater, codes)
    return RatingTable(asked, whole, day)


def _parameters(
    project: Project, asked: RatedQuestion, dialogues: Sequence[int] | None, people: Sequence[int] | None
) -> dict[str, Any]:
    return {
        "project": project.pk,
        "dialogues": None if dialogues is None else list(dialogues),
        "raters": None if people is None else list(people),
        "zone": timezone.get_default_timezone_name(),
        "key": asked.question.key,
        "speaker": asked.speaker,
        "option": Jsonb(asked.option.value) if asked.option else None,
        "options": [Jsonb(value) for value in asked.categories],
    }


def rating_tables(project: Project) -> Iterator[RatingTable]:
    """The table of every question, one after the other."""
    return (rating_table(project, asked) for asked in rated_questions(project))
