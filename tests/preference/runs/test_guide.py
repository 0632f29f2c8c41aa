"""Every command of the guide "From 7,000 dialogues to a served 7 B model", at tiny size, as the guide writes it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from accounts.models import Scope, User
from accounts.services import create_token
from dialogues.models import Dialogue, DialogueState, ReviewState
from generation.backends.openai import OpenAIBackend
from generation.models import Generator
from generation.protocol import Sampling
from generation.services import CandidateOptions, request_candidates
from generation.worker import drain
from preference.evaluation.model_card import card_of
from preference.evaluation.models import Evaluation
from preference.registry.models import RegisteredModel
from preference.training.joint.evaluation import command as evaluation
from projects.models import Project
from tests.candidate_requests import create_dialogue
from tests.conftest import Joins
from tests.generation.conftest import OTHER_END, build_tokenizer
from tests.generation.server_processes import running, wait_until_it_answers
from tests.preference.conftest import imports as imports
from tests.preference.learning import dialogue
from tests.preference.training.conftest import TINY, save_tiny
from tests.processes import PATIENCE, free_port

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "engineers" / "seven-billion.md").read_text(encoding="utf-8")
BASE, SERVED, PORT = "Qwen/Qwen2.5-7B-Instruct", "qwen-7b", "8000"
SMALL = [part for setting in (*TINY, "epochs=1", "precision=fp32") for part in ("--set", setting)]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, flags=re.DOTALL)


class Reader:
    """Somebody who follows the guide in a folder of their own."""

    def __init__(self, folder: Path, base: Path, administrator: User, stack: ExitStack) -> None:
        self.folder, self.base, self.stack = folder, base, stack
        self.port = str(free_port())
        _token, self.token = create_token(user=administrator, name="guide", scopes=list(Scope))
        self.tried: list[str] = []

    def follow(self, line: str) -> None:
        words = [str(self.base) if word == BASE else word for word in shlex.split(line)]
        match words:
            case ["python", "manage.py", name, *rest]:
                call_command(name, *rest)
            case ["accelerate", "launch", *rest]:
                self.launch(rest)
            case ["python", "-m", "preference.training.joint.evaluation", *rest]:
                assert evaluation.main([*rest, "--device", "cpu"]) == 0
            case ["vllm", "serve", folder, *_rest]:  # not installed here: what it reads is there
                assert (self.folder / folder / "chat_template.jinja").is_file()
            case ["transformers", "serve", folder, "--port", _port]:
                self.serve(folder)
            case ["curl", address, *rest]:
                self.post(address, json.loads(rest[-1]))
            case _:
                raise AssertionError(f"The test does not know how to try: {line}")
        self.tried.append(words[0] if words[0] != "python" else words[2])

    def launch(self, words: list[str]) -> None:
        """Two processes that shard on a CPU, in place of eight on GPUs."""
        settings = yaml.safe_load(blocks("yaml")[0])
        settings |= {"num_processes": 2, "use_cpu": True, "mixed_precision": "no"}
        (self.folder / "fsdp.yaml").write_text(yaml.safe_dump(settings))
        sharded = [
            "tests.preference.training.sharded" if word == "preference.training.joint" else word
            for word in words
        ]
        arguments = [*sharded, *SMALL, "--device", "cpu", "--quiet"]
        ended = subprocess.run(
            [str(Path(sys.executable).with_name("accelerate")), "launch", *arguments],
            env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, timeout=300 * PATIENCE, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr

    def serve(self, folder: str) -> None:
        program = str(Path(sys.executable).with_name("transformers"))
        command = [program, "serve", folder, "--port", self.port, "--device", "cpu"]
        log = self.folder / "serve.log"
        environment = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
        process = self.stack.enter_context(running(*command, log=log, **environment))
        wait_until_it_answers(process, self.port, log)

    def post(self, address: str, body: dict[str, Any]) -> None:
        """To the model server, or to the application."""
        if "/api/v1/" in address:
            body["options"] |= {"base_url": f"http://localhost:{self.port}/v1", "model": "run7b/model"}
            headers = {"Authorization": f"Bearer {self.token}"}
            path = re.sub(r"^https://[^/]+", "", address)
            answer = Client().post(path, body, content_type="application/json", headers=headers)
            assert answer.status_code == 201, answer.content
            return
        address = address.replace(f"127.0.0.1:{PORT}", f"localhost:{self.port}")
        # vLLM calls the model by --served-model-name, transformers serve by its folder.
        done = httpx.post(address, json=body | {"model": "run7b/model"}, timeout=60 * PATIENCE)
        assert done.status_code == 200, done.text
        assert done.json()["choices"][0]["message"]["role"] == "assistant"


@pytest.fixture
def reader(
    joins: Joins, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> Iterator[Reader]:
    monkeypatch.chdir(tmp_path)
    settings.FILES_ROOT, settings.MODELS_ROOT = tmp_path / "files", tmp_path / "models"
    administrator = joins("root")
    User.objects.filter(pk=administrator.pk).update(is_superuser=True, is_staff=True)
    base = save_tiny(tmp_path / "base", "qwen3")
    build_tokenizer(OTHER_END).save_pretrained(base)
    with ExitStack() as stack:
        yield Reader(tmp_path, base, administrator, stack)


def test_the_guide_leads_from_dialogues_to_candidates(reader: Reader, project: Project, imports: Any) -> None:
    splits = ["train"] * 8 + ["valid"] * 3 + ["test"] * 3
    imports([dialogue(number, split) for number, split in enumerate(splits)])
    Dialogue.objects.update(state=DialogueState.FINISHED, review_state=ReviewState.PASSED)
    for line in "".join(blocks("sh")).splitlines():
        reader.follow(line)
    assert reader.tried == [
        "take_snapshot", "accelerate",
        "preference.training.joint.evaluation", "preference.training.joint.evaluation",
        "register_model", "vllm", "transformers", "curl", "curl", "promote_model",
    ]  # fmt: skip
    before = json.loads((reader.folder / "before.json").read_text())
    after = json.loads((reader.folder / "run7b" / "evaluation.json").read_text())
    assert (before["model"]["head"], after["model"]["head"]) == ("untrained", "trained")
    assert (before["data"]["sha256"], before["n_turns"]) == (after["data"]["sha256"], after["n_turns"])

    model = RegisteredModel.objects.get(slug=SERVED)
    assert (model.config["processes"], model.config["recipe"]["chat_template"]) == (2, True)
    assert Evaluation.objects.get(model=model).report["n_turns"] == after["n_turns"]
    assert "    <bos><|user|>\n    Hello.<pad>\n    <|assistant|>\n    Hi, how are you?<pad>" in card_of(
        model
    )
    project.authoring.refresh_from_db()
    assert project.authoring.generator == model.generator

    for generator, has_scores in (
        (model.generator, True),
        (Generator.objects.get(slug="qwen-7b-vllm"), False),
    ):
        options = CandidateOptions(generator, 2, Sampling(max_new_tokens=6, temperature=1.5))
        request = request_candidates(dialogue=create_dialogue(project, "Do you like tea?"), options=options)
        assert drain("worker") == 1
        request.refresh_from_db()
        assert request.candidate_set is not None, request.error
        scores = [candidate["score"] for candidate in request.candidate_set.candidates]
        assert [score is not None for score in scores] == [has_scores] * len(scores)
    assert OpenAIBackend.__module__ in Generator.objects.get(slug="qwen-7b-vllm").backend
