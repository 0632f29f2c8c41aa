"""Batch review on a large project: the steps of one batch, and how long every page and every answer of the API takes.

    python -m benchmarks.batches [--batches 500] [--labels 1000000] [--size 2000] [--repeats 5] [--json]

A project of as many batches with as many labels, about a third of the batches returned once (so a third more tasks,
whose labels are withdrawn). Then one more batch of `--size` dialogues is sealed, drawn, judged and returned in it, next
to one of a tenth of that size, which takes as many queries. Pages and the API run in one process through Django's test
client, so with all middleware and templates and without a network.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any
from uuid import uuid4

from benchmarks.boards import Board, measure
from benchmarks.database import scratch_database, set_up

ANNOTATORS, SAMPLE, GROUPS = 20, 100, ("east", "west", "north", "south")

# Stands for a thousand people's work. Every third batch is returned once; the last ones are in review.
ROUNDS = """
WITH made AS (
  INSERT INTO annotation_batch (project_id, number, size, created_at)
  SELECT %(project)s, n, %(size)s, now() - interval '1 day' * (%(batches)s - n) FROM generate_series(1, %(batches)s) n
  RETURNING id, number, created_at
), goes AS (
  SELECT id, number, created_at, go, number %% 3 = 0 AS twice FROM made, generate_series(1, 2) go
  WHERE go = 1 OR number %% 3 = 0
)
INSERT INTO annotation_round
  (batch_id, project_id, number, "group", state, opened_at, sealed_at, ended_at, ended_by_id, reason, figures)
SELECT id, %(project)s, go, (%(groups)s::text[])[1 + number %% 4],
  CASE WHEN twice AND go = 1 THEN 'returned' WHEN number > %(batches)s - 10 THEN 'in_review' ELSE 'accepted' END,
  created_at, created_at + interval '5 hours',
  CASE WHEN (twice AND go = 1) OR number <= %(batches)s - 10 THEN created_at + interval '6 hours' * go END,
  CASE WHEN (twice AND go = 1) OR number <= %(batches)s - 10 THEN %(controller)s END, 'Read twice.',
  CASE WHEN (twice AND go = 1) OR number <= %(batches)s - 10 THEN
    '{"right": 95, "judged": 100, "sample": 100, "share": "95/100", "early": false, "classes": []}'::jsonb
  ELSE '{}'::jsonb END
FROM goes ORDER BY number, go
"""
DIALOGUES = """
INSERT INTO dialogues_dialogue (project_id, external_id, origin, state, review_state, split, language, domain, metadata,
  utterance_count, created_at)
SELECT %(project)s, n::text, 'imported', 'finished', 'unreviewed', 'train', 'zh', '', '{}', 4, now()
FROM generate_series(1, %(labels)s) n
"""
TASKS = """
WITH numbered AS (
  SELECT id, (row_number() OVER (ORDER BY id) - 1) / %(size)s + 1 AS batch, row_number() OVER (ORDER BY id) AS n
  FROM dialogues_dialogue WHERE project_id = %(project)s
)
INSERT INTO annotation_task (project_id, dialogue_id, overlap, open_slots, priority, place, "group", state, round_id,
  created_at)
SELECT %(project)s, d.id, 1, 0, 0, d.n, r."group", CASE r.state WHEN 'returned' THEN 'withdrawn' ELSE 'final' END, r.id,
  r.opened_at
FROM annotation_round r JOIN annotation_batch b ON b.id = r.batch_id JOIN numbered d ON d.batch = b.number
WHERE r.project_id = %(project)s ORDER BY r.id, d.id
"""
ASSIGNMENTS = """
INSERT INTO annotation_assignment (task_id, project_id, annotator_id, dialogue_id, state, claim_id, lease_until,
  claimed_at, touched_at, submitted_at)
SELECT id, project_id, (%(people)s::bigint[])[(1 + id %% %(count)s)::int], dialogue_id, 'submitted', gen_random_uuid(),
  created_at, created_at, created_at, created_at
FROM annotation_task WHERE project_id = %(project)s ORDER BY id
"""
ANSWERS = "jsonb_build_object('dialogue', jsonb_build_object('verify', 0, 'quality', {0}), 'utterances', '{{}}'::jsonb)"
SUBMISSIONS = f"""
INSERT INTO annotation_submission (id, assignment_id, task_id, project_id, annotator_id, schema_id, revision, stage,
  answers, note, active_ms, idle_ms, trace, stored_at)
SELECT gen_random_uuid(), id, task_id, project_id, annotator_id, %(schema)s, 1, 'label',
  {ANSWERS.format("(ARRAY[2, 2, 2, 1, 0])[(1 + id % 5)::int]").replace("%", "%%")}, '', 20000, 0, '[]', submitted_at
FROM annotation_assignment WHERE project_id = %(project)s ORDER BY id
"""
FINALS = """
INSERT INTO annotation_finallabel (task_id, project_id, dialogue_id, schema_id, answers, origin, undecided, reason,
  decided_at, superseded_at)
SELECT s.task_id, s.project_id, t.dialogue_id, s.schema_id, s.answers, 'agreement', '[]', '', s.stored_at,
  CASE t.state WHEN 'withdrawn' THEN now() END
FROM annotation_submission s JOIN annotation_task t ON t.id = s.task_id WHERE s.project_id = %(project)s ORDER BY t.id
"""
SAMPLES = """
INSERT INTO annotation_sample (id, round_id, seed, is_blind, is_stratified, is_double, question, overall_percent,
  class_percent, population, own, classes, drawn_by_id, drawn_at)
SELECT gen_random_uuid(), id, 1, true, false, id %% 5 = 0, 'quality', 92, 90, %(size)s, 0,
  jsonb_build_object('2', %(size)s * 3 / 5, '1', %(size)s / 5, '0', %(size)s / 5), %(controller)s, sealed_at
FROM annotation_round WHERE project_id = %(project)s
"""
ITEMS = """
INSERT INTO annotation_sampleitem (sample_id, place, task_id, final_id, label)
SELECT s.id, n - 1, f.task_id, f.id, f.answers -> 'dialogue' ->> 'quality'
FROM annotation_sample s JOIN annotation_round r ON r.id = s.round_id AND r.project_id = %(project)s
CROSS JOIN LATERAL (
  SELECT t.id AS task, row_number() OVER (ORDER BY t.id) AS n FROM annotation_task t WHERE t.round_id = r.id
  ORDER BY t.id LIMIT %(sample)s
) t JOIN annotation_finallabel f ON f.task_id = t.task
"""
# A sample in review is half judged.
JUDGEMENTS = """
INSERT INTO annotation_judgement (id, item_id, controller_id, number, is_right, answers, reason, active_ms, judged_at)
SELECT gen_random_uuid(), i.id, (%(controllers)s::bigint[])[(1 + s.round_id %% 3)::int], 1, i.place %% 20 > 0,
  f.answers, '', 9000, now()
FROM annotation_sampleitem i JOIN annotation_sample s ON s.id = i.sample_id
JOIN annotation_round r ON r.id = s.round_id AND r.project_id = %(project)s
JOIN annotation_finallabel f ON f.id = i.final_id WHERE r.ended_at IS NOT NULL OR i.place < %(sample)s / 2
"""
FILL = (ROUNDS, DIALOGUES, TASKS, ASSIGNMENTS, SUBMISSIONS, FINALS, SAMPLES, ITEMS, JUDGEMENTS)


@dataclass(frozen=True, slots=True)
class Step:
    """One service call on a batch of `size`: seconds, and its queries."""

    name: str
    size: int
    seconds: float
    queries: int


def fill(batches: int, labels: int) -> None:
    from django.db import connection

    from accounts.models import User
    from annotation.batch_review.models import BatchPlan
    from annotation.project_setup.services import create_project
    from projects.models import Membership, Role

    mara = User.objects.create_user("mara")
    project = create_project(slug="bench", preset="diqad", actor=mara)
    project.labelling.min_seconds, project.labelling.overlap = 0, 1
    project.labelling.save()
    BatchPlan.objects.create(project=project, question="quality", double_every=0)
    people = [User.objects.create_user(f"person{n}") for n in range(ANNOTATORS)]
    controllers = [User.objects.create_user(name) for name in ("carla", "chris", "carol")]
    for n, person in enumerate(people):
        Membership.objects.create(
            project=project, user=person, roles=[Role.ANNOTATOR], group=GROUPS[n % len(GROUPS)]
        )
    for person in controllers:
        Membership.objects.create(project=project, user=person, roles=[Role.CONTROLLER])
    tina = User.objects.create_user("tina")
    Membership.objects.create(project=project, user=tina, roles=[Role.TRAINER])
    values: dict[str, Any] = {
        "project": project.pk, "batches": batches, "labels": labels, "size": labels // batches, "sample": SAMPLE,
        "groups": list(GROUPS), "controller": controllers[0].pk, "controllers": [person.pk for person in controllers],
        "people": [person.pk for person in people], "count": ANNOTATORS,
        "schema": project.labelling.schema_id,
    }  # fmt: skip
    with connection.cursor() as cursor:
        for statement in FILL:
            cursor.execute(statement, values)
        cursor.execute("VACUUM ANALYZE")


# ---- one batch through its review ------------------------------------------------------------------------------------


def create_labelled_batch(size: int) -> int:
    """Create an open round with this many dialogues, all labelled; returns its id."""
    from django.db import connection
    from django.utils import timezone

    from accounts.models import User
    from annotation.tasks.models.rounds import Batch, Round
    from projects.models import Project

    project = Project.objects.get(slug="bench")
    number = Batch.objects.filter(project=project).count() + 1
    batch = Batch.objects.create(project=project, number=number, size=size)
    round = Round.objects.create(batch=batch, project=project, opened_at=timezone.now())
    values: dict[str, Any] = {
        "project": project.pk, "round": round.pk, "size": size, "number": f"extra-{number}",
        "person": User.objects.get(username="person1").pk, "schema": project.labelling.schema_id,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(ONE_BATCH, values)
    return round.pk


ONE_BATCH = f"""
WITH d AS (
  INSERT INTO dialogues_dialogue (project_id, external_id, origin, state, review_state, split, language, domain,
    metadata, utterance_count, created_at)
  SELECT %(project)s, %(number)s::text || '-' || n, 'imported', 'finished', 'unreviewed', 'train', 'zh', '', '{{}}',
    4, now()
  FROM generate_series(1, %(size)s) n RETURNING id
), t AS (
  INSERT INTO annotation_task (project_id, dialogue_id, overlap, open_slots, priority, place, "group", state, round_id,
    created_at)
  SELECT %(project)s, id, 1, 0, 0, 1, '', 'final', %(round)s, now() FROM d RETURNING id, dialogue_id
), a AS (
  INSERT INTO annotation_assignment (task_id, project_id, annotator_id, dialogue_id, state, claim_id, lease_until,
    claimed_at, touched_at, submitted_at)
  SELECT id, %(project)s, %(person)s, dialogue_id, 'submitted', gen_random_uuid(), now(), now(), now(), now() FROM t
  RETURNING id, task_id
), s AS (
  INSERT INTO annotation_submission (id, assignment_id, task_id, project_id, annotator_id, schema_id, revision, stage,
    answers, note, active_ms, idle_ms, trace, stored_at)
  SELECT gen_random_uuid(), id, task_id, %(project)s, %(person)s, %(schema)s, 1, 'label', {ANSWERS.format(2)}, '', 0, 0,
    '[]', now() FROM a
)
INSERT INTO annotation_finallabel (task_id, project_id, dialogue_id, schema_id, answers, origin, undecided, reason,
  decided_at)
SELECT id, %(project)s, dialogue_id, %(schema)s, {ANSWERS.format(2)}, 'agreement', '[]', '', now() FROM t
"""


def run_steps(size: int) -> list[Step]:
    """Seal a batch, draw its sample, judge it wrong and return it; withdraw the labels of another."""
    from django.db import transaction

    from accounts.models import User
    from annotation.batch_review.models import BatchPlan, SampleItem
    from annotation.batch_review.services.judgements import SentJudgement, judge
    from annotation.batch_review.services.locking import lock_round
    from annotation.batch_review.services.returning import withdraw_labels
    from annotation.batch_review.services.sample_drawing import draw_sample
    from annotation.batch_review.services.sealing import seal_round
    from annotation.batch_review.services.verdicts import return_round

    carla, pk, sample = User.objects.get(username="carla"), create_labelled_batch(size), uuid4()
    BatchPlan.objects.update(is_blind=False, sample_size=min(SAMPLE, size // 2))
    wrong = {"dialogue": {"verify": 0, "quality": 0, "reasons_0": ["none"]}, "utterances": {}}
    timed = [
        time_step("seal", size, lambda: seal_round(actor=None, round_id=pk)),
        time_step("draw", size, lambda: draw_sample(controller=carla, round_id=pk, sample_id=sample)),
    ]
    first_item, *later_items = (
        SampleItem.objects.filter(sample=sample).order_by("place").values_list("pk", flat=True)
    )
    timed.append(
        time_step(
            "judge",
            size,
            lambda: judge(controller=carla, item_id=first_item, sent=SentJudgement(uuid4(), wrong, "No.")),
        )
    )
    for item in later_items:
        judge(controller=carla, item_id=item, sent=SentJudgement(uuid4(), wrong, "No."))
    timed.append(
        time_step(
            "return",
            size,
            lambda: return_round(controller=carla, round_id=pk, decision_id=uuid4(), reason="Read twice."),
        )
    )
    another = create_labelled_batch(size)
    with transaction.atomic():
        row = lock_round(another)
        timed.append(time_step("withdraw", size, lambda: withdraw_labels(row)))
    BatchPlan.objects.update(is_blind=True, sample_size=SAMPLE)
    return timed


def time_step(name: str, size: int, act: Callable[[], object]) -> Step:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    started = time.perf_counter()
    with CaptureQueriesContext(connection) as queries:
        act()
    return Step(name, size, round(time.perf_counter() - started, 3), len(queries))


# ---- pages and the API -----------------------------------------------------------------------------------------------


def measure_boards(repeats: int) -> list[Board]:
    from annotation.tasks.models.rounds import Round

    row = Round.objects.filter(state="in_review").select_related("batch").latest("pk")
    done = Round.objects.filter(state="accepted", number=2).select_related("batch").latest("pk")
    page, api = "/p/bench", "/api/v1"
    addresses = [
        ("batches", "mara", f"{page}/batches/"),
        ("batch in review", "carla", f"{page}/batches/{row.batch.number}/"),
        ("batch accepted", "mara", f"{page}/batches/{done.batch.number}/"),
        ("boards", "mara", f"{page}/batches/boards/"),
        ("boards CSV", "mara", f"{page}/batches/boards/load.csv"),
        ("boards SVG", "mara", f"{page}/batches/boards/course.svg"),
        ("sample", "carla", f"{page}/batches/{row.batch.number}/sample/"),
        ("appeals", "tina", f"{page}/appeals/"),
        ("accuracy", "person1", f"{page}/accuracy/"),
        ("REST rounds", "mara", f"{api}/projects/bench/rounds/"),
        ("REST round", "mara", f"{api}/rounds/{row.pk}/"),
        ("REST boards", "mara", f"{api}/projects/bench/batches/boards/"),
        ("REST plan", "mara", f"{api}/projects/bench/batches/plan/"),
        ("REST sample", "carla", f"{api}/rounds/{row.pk}/sample/"),
        ("REST next", "carla", f"{api}/rounds/{row.pk}/sample/next/?count=3"),
        ("REST appeals", "tina", f"{api}/projects/bench/appeals/"),
        ("REST judged", "person1", f"{api}/projects/bench/judged/"),
    ]
    return [measure(name, person, address, repeats) for name, person, address in addresses]


def run(batches: int, labels: int, size: int, repeats: int) -> dict[str, Any]:
    with scratch_database():
        started = time.perf_counter()
        fill(batches, labels)
        filled = round(time.perf_counter() - started, 1)
        run_steps(size // 10)  # warm
        small, large = run_steps(size // 10), run_steps(size)
        boards = measure_boards(repeats)
    return summarize(batches, labels, filled, small, large, boards)


def summarize(
    batches: int, labels: int, filled: float, small: list[Step], large: list[Step], boards: list[Board]
) -> dict[str, Any]:
    """extra_queries: how many more the larger batch takes; 0 if they do not grow with the batch."""
    extra = max(big.queries - little.queries for little, big in zip(small, large, strict=True))
    return {
        "batches": batches,
        "labels": labels,
        "fill_seconds": filled,
        **{f"{step.name}_seconds": step.seconds for step in large},
        **{f"{step.name}_queries": step.queries for step in large},
        "extra_queries": extra,
        "boards": [asdict(board) for board in boards],
        "board_median_ms": round(statistics.median(board.median for board in boards), 1),
        "slowest_board_ms": max(board.median for board in boards),
        "slowest_board_busy_ms": max(board.busy for board in boards),
    }


def show(figures: dict[str, Any]) -> None:
    print(f"{figures['labels']:,} labels in {figures['batches']} batches; ms, medians")
    for board in figures["boards"]:
        times = f"{board['median']:8.1f}   slowest {board['slowest']:8.1f}   busy {board['busy']:8.1f}"
        print(f"{board['name']:16} {times}   queries {board['queries']}")
    for name, value in figures.items():
        if name != "boards":
            print(f"{name}: {value}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batches", type=int, default=500)
    parser.add_argument("--labels", type=int, default=1_000_000)
    parser.add_argument(
        "--size", type=int, default=2000, help="dialogues of the batch that goes through review"
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="only an object, as the last line")
    options = parser.parse_args()
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    set_up()
    figures = run(options.batches, options.labels, options.size, options.repeats)
    if options.json:
        print(json.dumps(figures))
    else:
        show(figures)


if __name__ == "__main__":
    main()
