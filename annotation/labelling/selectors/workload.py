"""The work of each annotator of a labelling project, and the origins of its final labels."""

from typing import Any

from django.db import connection
from django.db.models import Count, Q, Sum

from annotation.labelling.models.labels import FinalLabel, LabelOrigin, Submission
from annotation.labelling.schema.questions import Scope
from annotation.labelling.selectors.ratings import INDEPENDENT
from annotation.labelling.selectors.schemas import load_schema
from annotation.tasks.models.work import Task, TaskState
from generation.percentiles import Percentiles
from projects.models import Project

# Origins that rest on several people's answers, so that agreement with the final label means something.
SHARED = [LabelOrigin.UNANIMOUS, LabelOrigin.CONFIRMED, LabelOrigin.MAJORITY, LabelOrigin.DECIDED]
# In SQL because PostgreSQL compares the answers inside the JSON; in Python every submission would be loaded.
AGAINST_FINAL = f"""
SELECT s.annotator_id, count(*), count(*) FILTER (WHERE answer.own = answer.final)
FROM (SELECT s.task_id, s.annotator_id, s.answers {INDEPENDENT}) s
JOIN annotation_finallabel f ON f.task_id = s.task_id AND f.superseded_at IS NULL AND f.origin = ANY(%(origins)s),
LATERAL (
  SELECT s.answers->'dialogue'->name AS own, f.answers->'dialogue'->name AS final
  FROM unnest(%(of_dialogue)s::text[]) name
  UNION ALL
  SELECT s.answers->'utterances'->place.key->name, place.value->name
  FROM jsonb_each(f.answers->'utterances') place, unnest(%(of_utterance)s::text[]) name
) answer
WHERE answer.own IS NOT NULL AND answer.final IS NOT NULL
GROUP BY s.annotator_id
"""  # noqa: S608  no part of it comes from outside


def final_labels(project: Project) -> dict[str, Any]:
    """Count the final labels by origin, and the labelled dialogues without one by state.

    {"origins": {origin: n}, "open": n, "confirming": n, "disputed": n}; open: labelled by some people, not by all.
    """
    live = FinalLabel.objects.filter(project=project, superseded_at=None)
    found = dict(live.order_by().values_list("origin").annotate(n=Count("id")))
    begun = Task.objects.filter(project=project, submissions__isnull=False).exclude(state=TaskState.FINAL)
    states = dict(begun.order_by().values_list("state").annotate(n=Count("id", distinct=True)))
    origins = {origin: found.get(origin, 0) for origin in LabelOrigin.values}
    waiting = (TaskState.OPEN, TaskState.CONFIRMING, TaskState.DISPUTED)
    return {"origins": origins, **{state.value: states.get(state.value, 0) for state in waiting}}


def work_by_annotator(project: Project) -> list[dict[str, Any]]:
    """One entry per annotator, most dialogues first; three queries.

    {"id", "dialogues", "revisions", "active_s", "median_s", "compared", "equal"}. active_s: total seconds, median_s:
    median seconds of first submissions; None for imported work. compared: the person's independent answers to questions
    whose final label rests on several people; equal: how many of them are those of the final label.
    """
    rows = Submission.objects.filter(project=project).exclude(task__dialogue=None).order_by()
    worked = rows.values("annotator").annotate(
        dialogues=Count("id", filter=Q(revision=1)),
        revisions=Count("id", filter=Q(revision__gt=1)),
        active=Sum("active_ms"),
    )
    timed = rows.filter(revision=1, active_ms__gt=0).values_list("annotator")
    medians = dict(timed.annotate(median=Percentiles("active_ms", [0.5])))
    against = _against_final(project)
    people = [
        {
            "id": row["annotator"],
            "dialogues": row["dialogues"],
            "revisions": row["revisions"],
            "active_s": row["active"] / 1000 if row["active"] else None,
            "median_s": medians[row["annotator"]][0] / 1000 if row["annotator"] in medians else None,
            **dict(zip(("compared", "equal"), against.get(row["annotator"], (0, 0)), strict=True)),
        }
        for row in worked
    ]
    return sorted(people, key=lambda person: (-person["dialogues"], person["id"]))


def _against_final(project: Project) -> dict[int, tuple[int, int]]:
    """(compared answers, those equal to the final label) by annotator."""
    row = project.labelling.schema
    compared_questions = [
        question for question in (load_schema(row).questions if row else ()) if question.agree
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            AGAINST_FINAL,
            {
                "project": project.pk,
                "dialogues": None,
                "raters": None,
                "origins": [origin.value for origin in SHARED],
                "of_dialogue": [
                    question.key for question in compared_questions if question.scope is Scope.DIALOGUE
                ],
                "of_utterance": [
                    question.key for question in compared_questions if question.scope is Scope.UTTERANCE
                ],
            },
        )
        return {person: (compared, equal) for person, compared, equal in cursor.fetchall()}
