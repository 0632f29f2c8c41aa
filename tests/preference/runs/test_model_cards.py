"""The card of a model, and the download of its weights."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from accounts.models import Scope, User
from preference.data.models.snapshots import Snapshot
from preference.evaluation.model_card import base_name, card_of
from preference.registry.files import folder_of_model
from preference.registry.models import RegisteredModel
from preference.registry.services.trained_models import remove_model, update_model
from preference.training.joint.recipe import quick
from projects.models import Event, Project
from tests.api.conftest import program as program
from tests.frontend.trained import evaluated, explanation
from tests.preference.elsewhere import OTHER_DATA, come_home, measured, trained_folder
from tests.preference.learning import fakes as fakes
from tests.preference.learning import snapshot_of, trained_model

pytestmark = pytest.mark.django_db


@pytest.fixture
def model(project: Project) -> RegisteredModel:
    """Trained here, on a snapshot in two languages, and measured."""
    snapshot = snapshot_of(project)
    Snapshot.objects.filter(pk=snapshot.pk).update(
        card=snapshot.card | {"languages": {"en": 9, "zh": 3}, "gaps": {"scripted": 12}, "licences": {}}
    )
    model = trained_model(project, None, Snapshot.objects.get(pk=snapshot.pk), model="/srv/models/base")
    RegisteredModel.objects.filter(pk=model.pk).update(config=explanation(), note="Calm | short.")
    evaluated(project, snapshot, model, 0.45)
    return RegisteredModel.objects.get(pk=model.pk)


def bytes_of(answer: Any) -> bytes:
    return b"".join(answer.streaming_content)


def test_a_card_says_where_the_model_comes_from_and_how_good_it_is(model: RegisteredModel) -> None:
    card = card_of(model)
    front, _line, text = card.removeprefix("---\n").partition("\n---\n")
    assert front.splitlines() == [
        'license: "unknown"', 'language: ["en", "zh"]', 'library_name: "transformers"',
        'pipeline_tag: "text-generation"', 'tags: ["dialogue", "preference"]',
    ]  # fmt: skip
    for line in (
        f"# {model.slug}",
        "Calm \\| short.",
        "| Base model | models/base |",
        "| Trained | here, as training 1 |",
        "| Dialogues learned from | 540 |",
        f"| SHA-256 | {model.snapshot and model.snapshot.sha256} |",
        "| zh | 3 |",
        "12 dialogues are marked as scripted: a program wrote and chose in them, no person.",
        f"| epochs | {quick().epochs} |",
        "**First snapshot, split test**, 420 turns",
        "| P@1, by preference score | 0.450 | 0.402 to 0.498 | 420 |",
        "| P@1, at random | 0.125 | 0.093 to 0.157 | 420 |",
        "<bos>Hello.<eos>Hi, how are you?<eos>",
        "Unknown. Nobody stated under which licence the model may be passed on.",
        "| config.json | 2 |",
    ):
        assert line in text, line
    assert "/srv" not in card, "where it lies on the server is nobody's business"


def test_a_card_counts_dialogues_that_were_deleted_since(model: RegisteredModel) -> None:
    assert "deleted" not in card_of(model)
    Snapshot.objects.update(deleted=[1, 2])
    assert "| Dialogues deleted after the training | 2 |" in card_of(RegisteredModel.objects.get(pk=model.pk))


@pytest.mark.usefixtures("fakes")
def test_a_card_of_a_model_trained_elsewhere(project: Project, tmp_path: Path) -> None:
    folder = trained_folder(tmp_path)
    measured(folder, OTHER_DATA)
    model = come_home(project, folder)
    model.config["recipe"]["speaker_marks"] = True
    card = card_of(model)
    assert 'base_model: "Qwen/Qwen3-8B"' in card
    assert "| Trained | elsewhere, and registered here |" in card
    assert "| Snapshot | none of this project |" in card
    assert f"**Measured elsewhere, on data {OTHER_DATA[:12]}, split test**, 420 turns" in card
    assert "<bos>A: Hello.<eos>B: Hi, how are you?<eos>A:" in card
    assert "It was not measured." not in card


def test_a_card_says_in_which_format_a_model_reads(model: RegisteredModel) -> None:
    assert "/v1/completions" in card_of(model)
    model.config["recipe"]["chat_template"] = True
    model.config["prompt_format"] = {
        "prompt": "<|user|>\n```Hello.<|end|>\n<|assistant|>\n",
        "reply": "Tired.<|end|>",
    }
    model.files["chat_template.jinja"] = 10
    card = card_of(model)
    assert "The folder keeps the chat template of its base (`chat_template.jinja`)" in card
    assert "\n\n    <|user|>\n    ```Hello.<|end|>\n    <|assistant|>\n" in card
    assert "The reply:\n\n    Tired.<|end|>\n" in card
    assert "/v1/chat/completions" in card
    for odd in ("text", {"prompt": 1, "reply": "x"}, {"prompt": "x" * 3000, "reply": "x"}, {"reply": "x"}):
        model.config["prompt_format"] = odd
        assert "The reply:" not in card_of(model)


def test_a_card_of_little_is_short_but_whole(project: Project) -> None:
    """Nothing was measured, the files are gone, and the model is an old one whose trainer wrote no training.json."""
    model = remove_model(model=trained_model(project, model="org/base"), actor=None)
    model.config = {}
    card = card_of(model)
    assert "It was not measured." in card
    assert "## Files\n\nThey were removed." in card
    for kind in ("paireval", "assessor", "topics"):
        model.kind = kind
        assert "Prompt format" not in card_of(model)


@pytest.mark.parametrize(
    "source, shown",
    [
        ("org/name", "org/name"),
        ("gpt2", "gpt2"),
        ("/srv/models/base", "models/base"),
        ("/base", "base"),
        ("", ""),
    ],
)
def test_folders_of_the_server_are_shortened(source: str, shown: str) -> None:
    assert base_name(source) == shown


def test_card_and_weights_over_the_api(
    program: Callable[..., APIClient], model: RegisteredModel, eric: User, ann: User
) -> None:
    asks, address = program(eric, Scope.READ), f"/api/v1/models/{model.slug}/"
    answer: Any = asks.get(f"{address}card/")
    assert (answer.status_code, answer.content.decode()) == (200, card_of(model))
    assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
    for name in model.files:
        answer = asks.get(f"{address}files/{name}/")
        assert bytes_of(answer) == (folder_of_model(model) / name).read_bytes()
        assert name in answer.headers["Content-Disposition"]
    events = Event.objects.filter(kind="downloaded").order_by("pk")
    assert [(event.actor, event.data) for event in events] == [(eric, {"file": name}) for name in model.files]
    for path in ("card/", "files/config.json/"):
        assert program(ann).get(f"{address}{path}").status_code == 404


@pytest.mark.parametrize("name", ["other.json", "../../secret", "%2e%2e/secret", "/etc/passwd", "train.log"])
def test_only_files_of_the_model_are_given_away(
    program: Callable[..., APIClient], model: RegisteredModel, eric: User, name: str
) -> None:
    (folder_of_model(model).parent / "train.log").write_text("not for others")
    answer = program(eric).get(f"/api/v1/models/{model.slug}/files/{name}/")
    assert answer.status_code == 404
    assert not Event.objects.filter(kind="downloaded").exists()


def test_removed_files_are_gone(
    program: Callable[..., APIClient], model: RegisteredModel, eric: User
) -> None:
    remove_model(model=model, actor=eric)
    asks, address = program(eric), f"/api/v1/models/{model.slug}/"
    gone = asks.get(f"{address}files/config.json/")
    assert (gone.status_code, gone.json()["code"]) == (410, "files_gone")
    assert asks.get(f"{address}card/").status_code == 200


def test_the_page_leads_to_card_and_files(client: Client, model: RegisteredModel, eric: User) -> None:
    client.force_login(eric)
    model = update_model(model=model, actor=eric, changes={"slug": "calm"})
    page, text = "/p/chit-chat/models/calm/", client.get("/p/chit-chat/models/calm/").content.decode()
    assert f'href="{page}README.md"' in text
    assert client.get(f"{page}README.md").content.decode() == card_of(model)
    assert f'href="{page}files/config.json"' in text
    assert bytes_of(client.get(f"{page}files/config.json")) == b"{}"
    assert Event.objects.get(kind="downloaded").data == {"file": "config.json"}
    assert client.get(f"{page}files/nothing.json").status_code == 404
