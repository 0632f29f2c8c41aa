"""An authoring project with one of everything that can be addressed in it."""

import hashlib
import io
from typing import Any
from uuid import uuid4

from accounts.models import User
from annotation.authoring.services.completion import finish_dialogue
from annotation.authoring.services.planning import plan_dialogues
from annotation.authoring.services.turns import SentTurn, submit_turn
from annotation.onboarding.services.threads import ask_question
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment
from annotation.tasks.services.claiming import claim_next_task
from dialogues.services.imports import start_import
from generation.models import BackendKind, CandidateRequest, Generator
from generation.sharing import offer_generator
from jobs.models import Job, JobState
from jobs.services import run_job
from preference.data.formats.card import CardCounts
from preference.data.models.snapshots import Snapshot
from preference.data.services.exports import start_export
from preference.registry.models import RegisteredModel
from preference.registry.services.model_uploads import start_upload
from preference.registry.uploads import AnnouncedFile
from projects.invitations.invitees import Invitee
from projects.invitations.services import invite_by_link
from projects.models import Project, Role
from projects.webhooks.services import create_webhook
from tests.access.bodies import TURN
from tests.access.people import ANNOTATOR, COLLEAGUE, ENGINEER, LEAVER, MANAGER, OWN, People
from tests.frontend.trained import evaluated, learns
from tests.preference.learning import data_of, generator_of, run_of, snapshot_of, trained_model, training

Values = dict[str, Any]
EMPTY_FILE = AnnouncedFile(0, hashlib.sha256(b"").hexdigest())
REPORT = {"models": {"majority": {"tested": 4, "metrics": {}}}}  # as an assessor's training writes it


def create_authoring_world(people: People, other: Project) -> tuple[Project, Values]:
    """other: a project of other people, which shares models with this one."""
    project = create_project(slug="chat", preset="diamante", actor=people[MANAGER], title="Chat")
    people.join(project)
    project.authoring.generator = Generator.objects.create(slug="scripted", backend=BackendKind.SCRIPTED)
    project.authoring.min_rounds = 1
    project.authoring.save()
    plan_dialogues(project=project, actor=people[MANAGER], count=8, plan_id=uuid4())
    finished = _write(project, people[LEAVER], turns=4)
    finish_dialogue(annotator=people[LEAVER], assignment_id=finished.pk)
    held = _write(project, people[ANNOTATOR], turns=3)
    left = _write(project, people[LEAVER], turns=1)
    of_annotator, of_leaver = _own(people[ANNOTATOR], held), _own(people[LEAVER], left)
    people.leave(project, LEAVER)
    values = {
        "dialogues/{pk}": finished.dialogue_id,
        "dialogues/{dialogue_id}": finished.dialogue_id,
        "review/{dialogue_id}": finished.dialogue_id,
        "read/{dialogue_id}": finished.dialogue_id,
        **of_annotator,
        OWN: {LEAVER: of_leaver},
        **_invitation(project, people),
        **_data(project, people),
        **_models(project, people, other),
    }
    return project, values


def _write(project: Project, person: User, turns: int) -> Assignment:
    held = claim_next_task(annotator=person, project=project, claim_id=uuid4())
    for position in range(turns):
        sent = SentTurn(id=uuid4(), position=position, text=f"Words {position}")
        submit_turn(annotator=person, assignment_id=held.pk, sent=sent)
    return Assignment.objects.get(pk=held.pk)


def _own(person: User, held: Assignment) -> Values:
    thread = ask_question(
        asker=person, project=held.project, dialogue_id=held.dialogue_id, thread_id=uuid4(), text="Why?"
    )
    return {
        "assignments/{pk}": held.pk,
        "a/{assignment_id}": held.pk,
        TURN: held.turns.latest("position").pk,
        "candidate-requests/{pk}": CandidateRequest.objects.filter(dialogue=held.dialogue).latest("pk").pk,
        "threads/{dialogue_id}": held.dialogue_id,
        "threads/{pk}": thread.pk,
        "threads/{thread_id}": thread.pk,
    }


def _invitation(project: Project, people: People) -> Values:
    (row,) = invite_by_link(
        project=project,
        actor=people[MANAGER],
        request_id=uuid4(),
        people=[Invitee(roles=(Role.ANNOTATOR,), email="invited@people.example")],
    )
    webhook, _secret = create_webhook(
        project=project,
        actor=people[MANAGER],
        webhook_id=uuid4(),
        url="https://hooks.example.org/",
        events=["job.ended"],
    )
    return {
        "webhooks/{webhook_id}": webhook.pk,
        "link-invitations/{pk}": row.pk,
        "invitations/{invitation_id}": row.pk,
        "members/{username}": people[COLLEAGUE].username,
    }


def _data(project: Project, people: People) -> Values:
    imported = start_import(
        project=project,
        actor=people[ENGINEER],
        source=io.BytesIO(b"[]"),
        name="chats.jsonl",
        format="messages",
        submission_id=uuid4(),
        enqueue=False,
    )
    Job.objects.filter(pk=imported.pk).update(state=JobState.FAILED)
    export = start_export(
        export_id=uuid4(),
        project=project,
        actor=people[ENGINEER],
        format="diamante",
        include_unreviewed=True,
    )
    run_job(job_id=export.job_id)
    return {
        "jobs/{pk}": imported.pk,
        "jobs/{job_id}": imported.pk,
        "imports/{pk}": imported.pk,
        "imports/{import_id}": imported.pk,
        "exports/{pk}": export.pk,
        "exports/{export_id}": export.pk,
    }


def _models(project: Project, people: People, other: Project) -> Values:
    model = trained_model(project, None, model="/models/base")
    snapshot = data_of(model)
    Snapshot.objects.filter(pk=snapshot.pk).update(card=CardCounts().as_json(["train"]))
    learns(run_of(model))
    evaluation = evaluated(project, snapshot, model, 0.5)
    RegisteredModel.objects.filter(pk=model.pk).update(report=REPORT)
    training(project, None, snapshot, model=model.slug)
    theirs = trained_model(other, None, snapshot_of(other), model="/models/base")
    offer_generator(actor=None, generator=generator_of(theirs), project=project)
    offer_generator(actor=people[MANAGER], generator=generator_of(model), project=other)
    run = run_of(model)
    upload = start_upload(upload_id=uuid4(), project=project, name="mine", files={"config.json": EMPTY_FILE})
    return {
        "snapshots/{pk}": snapshot.pk,
        "model-uploads/{pk}": upload.id,
        "api/v1/projects/{slug}/model-uploads/{pk}/files/{name}/": {"files/{name}": "config.json"},
        "snapshots/{snapshot_id}": snapshot.pk,
        "files/{name}": "README.md",
        "training-runs/{pk}": run.pk,
        "trainings/{run_id}": run.pk,
        "models/{slug}": model.slug,
        "models/{name}": model.slug,
        "files/{file}": "config.json",
        "api/v1/models/{slug}/files/{name}/": {"files/{name}": "config.json"},
        "p/{slug}/models/{name}/accept/": {"models/{name}": theirs.slug},
        "p/{slug}/models/{name}/decline/": {"models/{name}": theirs.slug},
        "models-of-others/{generator}": generator_of(theirs).slug,
        "generators/{slug}": generator_of(model).slug,
        "sharing/{project}": other.slug,
        "evaluations/{pk}": evaluation.pk,
        "evaluations/{evaluation_id}": evaluation.pk,
    }
