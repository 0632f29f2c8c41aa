"""A list costs the same number of queries with three rows as with three hundred."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import ApiToken, User
from annotation.authoring.models import Draft
from annotation.expert_review.models import ExpertReview, Verdict
from annotation.tasks.models.work import Assignment, Task
from dialogues.models import CandidateSet, Dialogue, DialogueState, Origin, Utterance
from jobs.models import Job
from preference.data.models.exports import Export
from preference.data.models.snapshots import Snapshot
from preference.evaluation.models import Evaluation
from preference.registry.models import Promotion, RegisteredModel
from preference.runs.models import TrainingRun
from projects.models import Event, Invitation, Membership, Project, Protocol, Role
from tests.api.conftest import Program
from tests.preference.learning import snapshot_of

pytestmark = pytest.mark.django_db
FEW, MANY, PAGE = 3, 300, 200
MAX_QUERIES = 12

Fill = Callable[[Project, User, int], object]


def tokens(project: Project, olga: User, n: int) -> None:
    ApiToken.objects.bulk_create(
        ApiToken(user=olga, name="t", digest=uuid4().hex, prefix="lap_", scopes=["read"]) for _ in range(n)
    )


def projects(project: Project, olga: User, n: int) -> None:
    projects = Project.objects.bulk_create(
        Project(slug=f"p{uuid4().hex}", title="P", protocol=Protocol.AUTHORING) for _ in range(n)
    )
    Membership.objects.bulk_create(
        Membership(project=project, user=olga, roles=[Role.ENGINEER]) for project in projects
    )


def members(project: Project, olga: User, n: int) -> None:
    people = User.objects.bulk_create(User(username=f"u{uuid4().hex}") for _ in range(n))
    Membership.objects.bulk_create(
        Membership(project=project, user=person, roles=[Role.ANNOTATOR]) for person in people
    )


def link_invitations(project: Project, olga: User, n: int) -> None:
    request_id, expires_at = uuid4(), timezone.now()
    Invitation.objects.bulk_create(
        Invitation(
            project=project,
            request_id=request_id,
            position=position,
            digest=uuid4().hex,
            roles=[Role.ANNOTATOR],
            made_by=olga,
            accepted_by=olga,
            expires_at=expires_at,
        )
        for position in range(n)
    )


def events(project: Project, olga: User, n: int) -> None:
    Event.objects.bulk_create(
        Event(project=project, subject_type="t", subject_id="1", kind="k", actor=olga) for _ in range(n)
    )


def jobs(project: Project, olga: User, n: int) -> list[Job]:
    parameters = {"name": "f.jsonl", "format": "messages", "on_error": "skip", "size": 1, "sha256": "0"}
    rows = [Job(project=project, kind="import", created_by=olga, parameters=parameters) for _ in range(n)]
    return Job.objects.bulk_create(rows)


def exports(project: Project, olga: User, n: int) -> None:
    rows = jobs(project, olga, n)
    filters = {"splits": ["train"], "include_unreviewed": False}
    Export.objects.bulk_create(
        Export(id=job.pk, project=project, job=job, format="diamante", filters=filters) for job in rows
    )


def snapshots(project: Project, olga: User, n: int) -> None:
    rows = jobs(project, olga, n)
    filters = {"splits": ["train"], "include_unreviewed": False}
    Snapshot.objects.bulk_create(
        Snapshot(id=job.pk, project=project, job=job, name="May", filters=filters) for job in rows
    )


def trainings(project: Project, olga: User, n: int) -> None:
    snapshot = snapshot_of(project)
    before = TrainingRun.objects.count()
    TrainingRun.objects.bulk_create(
        TrainingRun(
            id=job.pk,
            project=project,
            job=job,
            number=before + number,
            snapshot=snapshot,
            base="b",
            folder="f",
        )
        for number, job in enumerate(jobs(project, olga, n))
    )


def models(project: Project, olga: User, n: int) -> None:
    trainings(project, olga, n)
    runs = TrainingRun.objects.filter(model=None).select_related("snapshot")
    RegisteredModel.objects.bulk_create(
        RegisteredModel(
            slug=f"m{run.number}", project=project, training_run=run, snapshot=run.snapshot, sha256="0"
        )
        for run in runs
    )


def evaluations(project: Project, olga: User, n: int) -> None:
    snapshot = snapshot_of(project)
    rows = jobs(project, olga, n)
    Evaluation.objects.bulk_create(
        Evaluation(id=job.pk, project=project, job=job, snapshot=snapshot, base="b") for job in rows
    )


def promotions(project: Project, olga: User, n: int) -> None:
    Promotion.objects.bulk_create(Promotion(project=project, actor=olga) for _ in range(n))


def dialogues(project: Project, olga: User, n: int) -> list[Dialogue]:
    rows = Dialogue.objects.bulk_create(
        Dialogue(project=project, origin=Origin.AUTHORED, state=DialogueState.FINISHED, split="train")
        for _ in range(n)
    )
    Utterance.objects.bulk_create(
        Utterance(dialogue=row, position=0, speaker="A", text="Hello") for row in rows
    )
    return rows


def candidate_sets(project: Project, olga: User, n: int) -> None:
    sets = CandidateSet.objects.bulk_create(
        CandidateSet(dialogue=row, position=0, candidates=[{"text": "Hi", "seed": 1}])
        for row in dialogues(project, olga, n)
    )
    Utterance.objects.bulk_create(
        Utterance(dialogue=row.dialogue, position=1, speaker="A", text="Hi", candidate_set=row)
        for row in sets
    )


def assignments(project: Project, olga: User, n: int) -> None:
    now = timezone.now()
    rows = Assignment.objects.bulk_create(
        Assignment(
            task=Task.objects.create(project=project),
            project=project,
            annotator=olga,
            dialogue=dialogue,
            claim_id=uuid4(),
            lease_until=now,
        )
        for dialogue in dialogues(project, olga, n)
    )
    Draft.objects.bulk_create(Draft(assignment=row) for row in rows)


def reviews(project: Project, olga: User, n: int) -> None:
    ExpertReview.objects.bulk_create(
        ExpertReview(dialogue=row, reviewer=olga, verdict=Verdict.PASS, decided_at=timezone.now())
        for row in dialogues(project, olga, n)
    )


LISTS: list[tuple[str, Fill]] = [
    ("tokens", tokens),
    ("projects", projects),
    ("projects/chit-chat/members", members),
    ("projects/chit-chat/link-invitations", link_invitations),
    ("projects/chit-chat/events", events),
    ("projects/chit-chat/jobs", jobs),
    ("projects/chit-chat/imports", jobs),
    ("projects/chit-chat/exports", exports),
    ("projects/chit-chat/snapshots", snapshots),
    ("projects/chit-chat/training-runs", trainings),
    ("projects/chit-chat/models", models),
    ("projects/chit-chat/evaluations", evaluations),
    ("projects/chit-chat/promotions", promotions),
    ("projects/chit-chat/dialogues", dialogues),
    ("projects/chit-chat/candidate-sets", candidate_sets),
    ("projects/chit-chat/assignments", assignments),
    ("projects/chit-chat/reviews", reviews),
]


@pytest.mark.parametrize("path, fill", LISTS, ids=[path for path, _fill in LISTS])
def test_a_list_costs_the_same_with_many_rows(
    program: Program, project: Project, olga: User, path: str, fill: Fill
) -> None:
    api = program(olga)

    def queries() -> tuple[int, int]:
        with CaptureQueriesContext(connection) as queries:
            answer: Any = api.get(f"/api/v1/{path}/", {"page_size": PAGE})
        assert answer.status_code == 200, answer.content
        return len(queries), len(answer.json()["results"])

    fill(project, olga, FEW)
    queries()  # what is only done once, such as noting the token's use
    few, rows = queries()
    assert rows >= FEW
    fill(project, olga, MANY)
    queries()  # the token's use is noted again after a minute
    many, rows = queries()
    assert rows == PAGE
    assert many == few <= MAX_QUERIES


@pytest.mark.parametrize("path, fill", LISTS, ids=[path for path, _fill in LISTS])
def test_following_next_gives_every_row_once(
    program: Program, project: Project, olga: User, path: str, fill: Fill
) -> None:
    fill(project, olga, 25)
    api, address, seen = program(olga), f"/api/v1/{path}/?page_size=10", []
    while address:
        answer = api.get(address).json()
        seen += [str(row.get("id") or row.get("slug") or row.get("username")) for row in answer["results"]]
        address = answer["next"]
    assert len(seen) == len(set(seen)) >= 25
