"""Setting up models: options are checked, secrets refused, nothing is loaded."""

import inspect
import os
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from common.refusals import Invalid, Refusal
from generation.generators import OPTIONS, change_generator, check_options, create_generator
from generation.models import BackendKind, Generator
from projects.models import Event
from tests.processes import ROOT

pytestmark = pytest.mark.django_db
SERVER = {"base_url": "http://127.0.0.1:8001/v1", "model": "qwen"}


@pytest.mark.parametrize("backend", BackendKind.values)
def test_the_listed_options_are_those_of_the_backend(backend: str) -> None:
    module, _, name = backend.rpartition(".")
    taken = inspect.signature(getattr(import_module(module), name)).parameters
    assert set(OPTIONS[backend]) == set(taken)


@pytest.mark.parametrize(
    ("backend", "options"),
    [
        (BackendKind.HF, {"model": "models/mine", "threads": 2, "chat": None}),
        (BackendKind.HF, {}),
        (BackendKind.OPENAI, {**SERVER, "api_key_env": "LAPIDARY_KEY_MINE", "extra_body": {"max_tokens": 5}}),
        (BackendKind.SCRIPTED, {"delay": 1}),
    ],
)
def test_sound_options(backend: str, options: dict[str, Any]) -> None:
    check_options(backend, options)


@pytest.mark.parametrize(
    ("backend", "options", "said"),
    [
        ("generation.backends.magic.Magic", {}, "no backend"),
        (BackendKind.HF, {"modell": "models/mine"}, "no option “modell”"),
        (BackendKind.HF, {"threads": "two"}, "wrong kind"),
        (BackendKind.HF, {"batch_requests": True}, "wrong kind"),
        (BackendKind.OPENAI, {"model": "qwen"}, "base_url"),
        (BackendKind.OPENAI, {**SERVER, "base_url": "ftp://example.org"}, "base_url"),
        (BackendKind.OPENAI, {**SERVER, "timeout": -1}, "timeout"),
        (BackendKind.SCRIPTED, {"replies": []}, "replies"),
    ],
)
def test_options_that_cannot_be_taken(backend: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid) as refusal:
        check_options(backend, options)
    assert said in str(refusal.value)


@pytest.mark.parametrize(
    "options",
    [
        {"api_key": "sk-123"},
        {"key": "sk-123"},
        {"api_key_env": "sk-123"},
        {"api_key_env": "SECRET_KEY"},
        {"api_key_env": "DATABASE_URL"},
        {"extra_body": {"access_token": "abc"}},
        {"extra_body": {"headers": [{"Authorization": "Bearer abc"}]}},
        {"extra_body": {"client-secret": "abc"}},
    ],
)
def test_secrets_are_refused_with_the_way_to_name_them(options: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refusal:
        check_options(BackendKind.OPENAI, {**SERVER, **options})
    assert "environment variable" in str(refusal.value.remedy)


@pytest.fixture
def root(db: None) -> User:
    """Administers the server."""
    return User.objects.create_superuser("root")


def test_the_same_generator_again_is_the_first(root: User) -> None:
    made = create_generator(actor=root, slug="mine", backend=BackendKind.SCRIPTED, options={})
    assert create_generator(actor=root, slug="mine", backend=BackendKind.SCRIPTED, options={}) == made
    with pytest.raises(Refusal) as refusal:
        create_generator(actor=root, slug="mine", backend=BackendKind.SCRIPTED, options={"delay": 1})
    assert refusal.value.code == "name_taken"


def test_a_change_is_on_record(root: User) -> None:
    made = create_generator(actor=root, slug="mine", backend=BackendKind.SCRIPTED, options={})
    change_generator(actor=root, generator=made, options={"delay": 1})
    event = Event.objects.filter(kind="changed").get()
    assert event.data["after"]["options"] == {"delay": 1}
    assert event.actor == root


def test_an_administrator_sets_up_a_model_over_the_api(client: Client, root: User) -> None:
    client.force_login(root)
    sent = {"slug": "vllm", "backend": BackendKind.OPENAI.value, "options": SERVER}
    assert client.post("/api/v1/generators/", sent, "application/json").status_code == 201
    change = {"options": {**SERVER, "timeout": 10}}
    changed = client.patch("/api/v1/generators/vllm/", change, "application/json")
    assert (changed.status_code, changed.json()["options"]["timeout"]) == (200, 10)
    listed = client.get("/api/v1/generators/").json()["results"]
    assert "vllm" in {row["slug"] for row in listed}


def test_an_engineer_sees_models_but_does_not_change_them(client: Client, eric: User) -> None:
    Generator.objects.create(slug="vllm", backend=BackendKind.OPENAI, options=SERVER)
    client.force_login(eric)
    assert client.get("/api/v1/generators/vllm/").status_code == 200
    change = {"options": {**SERVER, "base_url": "http://elsewhere.example/v1"}}
    assert client.patch("/api/v1/generators/vllm/", change, "application/json").status_code == 403
    assert Generator.objects.get(slug="vllm").options == SERVER


def test_a_wrong_option_over_the_api_names_the_cause(client: Client, root: User) -> None:
    client.force_login(root)
    sent = {"slug": "vllm", "backend": BackendKind.OPENAI.value, "options": {**SERVER, "api_key": "sk-1"}}
    answer = client.post("/api/v1/generators/", sent, "application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert not Generator.objects.filter(slug="vllm").exists()


def test_an_annotator_does_not_see_models(client: Client, ann: User) -> None:
    client.force_login(ann)
    assert client.get("/api/v1/generators/").status_code == 403
    assert client.post("/api/v1/generators/", {}, "application/json").status_code == 403


def test_checking_a_local_model_loads_no_torch() -> None:
    """The web server's image has no torch."""
    code = (
        "import django; django.setup(); from generation.generators import check_options; import sys;"
        "check_options('generation.backends.hf.HFBackend', {'model': 'x'}); assert 'torch' not in sys.modules"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, env=environment)
