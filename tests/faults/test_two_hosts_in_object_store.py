"""Two hosts with one PostgreSQL, one Redis and one object store, and nothing else in common.

The first has a web server and a worker for jobs and trainings, the second a web server and a worker for candidates.
Dialogues come in on one and are labelled on the other; a model is trained on one and served by the other.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest

from accounts.models import Scope, User
from accounts.services import create_token
from jobs.models import LIVE_STATES
from jobs.models import Job as RunningJob
from jobs.selectors import live_workers
from lapidary import Client, Job, Model, Project
from lapidary.transport import Transport
from preference.registry.hashing import sha256_of
from preference.registry.models import RegisteredModel
from tests.generation.conftest import tiny_model as tiny_model
from tests.object_store import ObjectServer
from tests.preference.learning import WORDS
from tests.processes import ROOT, Stack, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.faults, pytest.mark.slow]
CALLS: Final = 8
CHATS: Final = 50
QUICK: Final = {"batch": 64, "epochs": 1, "warmup": 1}
TRAINING_DATA: Final = {"dialogues.jsonl", "snapshot.json", "README.md"}


@pytest.fixture
def hosts(
    transactional_db: None, object_server: ObjectServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Stack, Stack]]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    url = object_server.url(uuid4().hex, options="&downloads=signed")

    def host(name: str) -> Stack:
        models = str(tmp_path / name / "models")
        return Stack.on_this_database(tmp_path / name, STORAGE_URL=url, MODELS_ROOT=models)

    with host("first") as first, host("second") as second:
        first.worker("default,training", "first")
        second.worker("gpu", "second")
        first.web()
        second.web()
        wait_until(lambda: all(live_workers(queue).exists() for queue in ("default", "gpu")), 60, "workers")
        yield first, second


def files_on(host: Stack) -> set[str]:
    """Names of stored files and of models' files."""
    folders = [host.folder / "files", host.folder / "models"]
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {path.name for path in found if not path.name.startswith(".")}


def sentence(chance: random.Random) -> str:
    return " ".join(chance.choice(WORDS) for _ in range(5))


def write_chats(chance: random.Random) -> Iterator[dict[str, Any]]:
    """Dialogues with the candidates that each reply was chosen among."""
    for number in range(CHATS):
        shown = [sentence(chance) for _ in range(3)]
        said = [
            {"utterance": sentence(chance), "response_candidates": []},
            {"utterance": shown[1], "response_candidates": shown, "action": "select", "source": 1},
        ]
        yield {"dialogue_id": f"chat-{number}", "language": "en", "conversation": said}


def write_calls() -> Iterator[dict[str, Any]]:
    for number in range(CALLS):
        question = {"role": "user", "content": f"How do I change order {number}?"}
        yield {"messages": [question, {"role": "assistant", "content": "Open it, then Edit."}]}


def label_all(project: Project) -> int:
    """Answer for every dialogue that can be had; how many."""
    labelled = 0
    while (task := project.claim()) is not None:
        task.submit({"verify": 0, "quality": 1, "reasons_1": ["none"]})
        labelled += 1
    return labelled


def train(transport: Transport, project: str, snapshot: str, base: Path) -> Model:
    """Start a training and wait for its model."""
    chosen = {"snapshot": snapshot, "model": str(base), "recipe": "quick", "changes": QUICK}
    run_id = transport.post(f"projects/{project}/training-runs/", {"id": str(uuid4()), **chosen})["id"]
    Job(transport, transport.get(f"jobs/{run_id}/")).wait(progress=False)
    return Model.read(transport.get(f"models/{transport.get(f'training-runs/{run_id}/')['model']}/"))


def write_with_candidates(first: Transport, second: Transport, project: str) -> dict[str, Any]:
    """Open a dialogue on one host and choose a candidate on the other; the request for the candidates."""
    second.post(f"projects/{project}/plan/", {"plan_id": str(uuid4()), "count": 1})
    mine = second.post(f"projects/{project}/assignments/", {"claim_id": str(uuid4())})["id"]
    opening = {"id": str(uuid4()), "position": 0, "text": "tea and rain"}
    request = second.post(f"assignments/{mine}/turns/", opening)["request"]
    address = f"candidate-requests/{request['id']}/"
    wait_until(lambda: second.get(address)["state"] in ("done", "failed"), 60, "the candidates")
    answered: dict[str, Any] = first.get(address)
    assert answered["state"] == "done", answered
    chosen = {"candidate_set": answered["candidate_set"], "source": 0}
    reply = {"id": str(uuid4()), "position": 1, "text": answered["candidates"][0]["text"], **chosen}
    assert first.post(f"assignments/{mine}/turns/", reply)["turn"]["action"] == "select"
    return answered


def findings(host: Stack) -> list[str]:
    """What doctor says on this host."""
    command = [sys.executable, "manage.py", "doctor", "--json", "--quick"]
    run = subprocess.run(command, cwd=ROOT, env=host.env(), capture_output=True, text=True, check=False)
    return [finding["what"] for finding in json.loads(run.stdout)]


def test_hosts_without_a_common_disk_import_label_train_serve_and_export(
    hosts: tuple[Stack, Stack], tiny_model: Callable[..., Path], tmp_path: Path
) -> None:
    first, second = hosts
    olga = User.objects.create_superuser("olga", "olga@example.org")
    token = create_token(user=olga, name="two hosts", scopes=list(Scope))[1]
    with Client(first.url, token) as here, Client(second.url, token) as there:
        # Imported through one web server, labelled through the other.
        quality = here.create_project("answers", "diqad")
        quality.update_settings(overlap=1, min_seconds=0)
        quality.set_roles("olga", ["manager", "annotator"])
        assert quality.import_dialogues(write_calls(), progress=False).stored == CALLS
        assert label_all(there.project("answers")) == CALLS
        labels = there.project("answers").export("diqad", progress=False)
        lines = labels.download(tmp_path / "labels.jsonl", progress=False).read_text().splitlines()
        assert [json.loads(line)["label"] for line in lines] == [1] * CALLS

        # Frozen and trained on the first, asked for through the second.
        chats = here.create_project("chats", "diamante", language="en")
        chats.set_roles("olga", ["manager", "annotator"])
        imported = chats.import_dialogues(write_chats(random.Random(7)), format="diamante", progress=False)
        assert imported.stored == CHATS
        frozen = there.project("chats").take_snapshot("may", include_unreviewed=True, progress=False)
        pulled = frozen.pull(tmp_path / "pulled", progress=False) / "dialogues.jsonl"
        assert len(pulled.read_text().splitlines()) == CHATS
        model = train(there._transport, "chats", frozen.id, tiny_model("llama"))
        assert files_on(second) == set()
        assert files_on(first) >= TRAINING_DATA

        # The disk of the first is gone: the second serves the model from the store. A training starts evaluations.
        wait_until(lambda: not RunningJob.objects.filter(state__in=LIVE_STATES).exists(), 120, "evaluations")
        registered = RegisteredModel.objects.get(slug=model.slug)
        for name in ("files", "models"):
            shutil.rmtree(first.folder / name)
        there.project("chats").promote(model.slug, reason="Trained on the other host")
        answered = write_with_candidates(here._transport, there._transport, "chats")
        assert answered["model_version"] == registered.version
        assert sha256_of(second.folder / "models" / registered.folder) == registered.sha256

        exported = there.project("chats").export("sft", include_unreviewed=True, progress=False)
        assert exported.download(tmp_path / "sft.jsonl", progress=False).stat().st_size
        exports = [host.folder / "files" / "exports" for host in hosts]
        assert not any(path.is_file() for folder in exports for path in folder.rglob("*"))
    for host in hosts:
        said = findings(host)
        assert "Workers read the object store that is written here, and run the same release." in said
        assert len([what for what in said if what.startswith("The object store answers")]) == 2
