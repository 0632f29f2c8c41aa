"""Conversations that the assistant opens: as they are, merged or dropped, in every format of TRL."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from accounts.models import User
from common.refusals import Invalid
from dialogues.models import Dialogue, Split
from jobs.models import Job
from preference.data.formats.catalogue import FORMATS
from preference.data.formats.leading_turns import fit_leading_turns
from preference.data.models.exports import Export
from preference.data.selectors.random_replies import DrawSettings
from preference.data.selectors.selection import Filters
from preference.data.services.exports import build_draw_settings
from projects.models import Project
from tests.preference.conftest import PASS, Written
from tests.preference.data.test_training_formats import made_of

TRL = [name for name, format in FORMATS.items() if format.is_trl]
Exported = Callable[..., Job]


def made(project: Project, format: str, mode: str) -> list[dict[str, Any]]:
    return made_of(project, format, DrawSettings(leading_assistant=mode), Filters())[0]


def contexts(rows: list[dict[str, Any]]) -> list[list[dict[str, str]]]:
    return [row["prompt"] if "prompt" in row else row["chosen"][:-1] for row in rows]


@pytest.fixture
def two_dialogues(written: Written) -> None:
    """In each, turn 2 is a reply of who wrote the opening."""
    written(PASS), written(PASS)
    Dialogue.objects.update(split=Split.TRAIN)


def test_the_formats_of_trl() -> None:
    assert set(TRL) == {"sft", "preference", "reward", "kto"}


@pytest.mark.parametrize("format", TRL)
def test_they_are_kept_by_default(project: Project, two_dialogues: None, format: str) -> None:
    rows = made_of(project, format, DrawSettings(), Filters())[0]
    assert rows == made(project, format, "keep")
    assert {context[0]["role"] for context in contexts(rows)} == {"user", "assistant"}


@pytest.mark.parametrize("format", TRL)
@pytest.mark.parametrize("mode", ["merge", "drop"])
def test_the_user_opens_every_row_and_the_answers_stay(
    project: Project, two_dialogues: None, format: str, mode: str
) -> None:
    kept, rows = made(project, format, "keep"), made(project, format, mode)
    assert len(rows) == len(kept)
    assert {context[0]["role"] for context in contexts(rows)} == {"user"}
    for before, after in zip(kept, rows, strict=True):
        for name in set(before) - {"prompt", "chosen", "rejected"}:
            assert after[name] == before[name]
        for name in {"chosen", "rejected"} & set(before):
            assert after[name][-1] == before[name][-1]


def test_merged_turns_stand_before_those_of_the_user(project: Project, two_dialogues: None) -> None:
    by_turn = {row["turn"]: row["prompt"] for row in made(project, "sft", "merge")}
    assert by_turn[2] == [{"role": "user", "content": "Hello, I have a cat.\ncandidate 2 of 1"}]
    assert by_turn[1] == [{"role": "user", "content": "Hello, I have a cat."}]
    by_turn = {row["turn"]: row["prompt"] for row in made(project, "sft", "drop")}
    assert by_turn[2] == [{"role": "user", "content": "candidate 2 of 1"}]


def said(*roles: str) -> list[dict[str, str]]:
    return [{"role": role, "content": f"{role} {place}"} for place, role in enumerate(roles)]


@pytest.mark.parametrize(
    ("mode", "roles", "left"),
    [
        ("drop", ("system", "assistant", "assistant", "user", "assistant", "user"), "system user assistant user"),
        ("merge", ("system", "assistant", "assistant", "user", "assistant"), "system user assistant"),
        ("drop", ("system", "user"), "system user"),
        ("merge", ("assistant", "assistant"), "user"),
    ],
)  # fmt: skip
def test_system_messages_stay_first(mode: str, roles: tuple[str, ...], left: str) -> None:
    row = {"prompt": said(*roles), "completion": said("assistant"), "dialogue_id": "d", "turn": 1}
    (fitted,) = fit_leading_turns([row], mode, pytest.fail)
    assert [message["role"] for message in fitted["prompt"]] == left.split()
    if mode == "merge":
        user = next(message["content"] for message in fitted["prompt"] if message["role"] == "user")
        assert user.split("\n")[0].startswith("assistant")


def test_a_turn_without_a_user_is_counted_once() -> None:
    rows = [
        {"chosen": said("assistant", "assistant"), "rejected": said("assistant", "assistant"), **about}
        for about in ({"dialogue_id": "d", "turn": 1}, {"dialogue_id": "d", "turn": 1}, {"dialogue_id": "d", "turn": 2})
    ]  # fmt: skip
    skipped: list[str] = []
    assert list(fit_leading_turns(rows, "drop", skipped.append)) == []
    assert skipped == ["no_user_turn", "no_user_turn"]


def test_the_command_takes_the_choice_and_the_manifest_has_it(
    project: Project, two_dialogues: None, tmp_path: Path
) -> None:
    file = tmp_path / "rows.jsonl"
    arguments = ["--format", "kto", "--leading-assistant", "drop", "--output", str(file)]
    call_command("export_dataset", project.slug, *arguments, skip_checks=True)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert rows == made(project, "kto", "drop")
    manifest = json.loads((tmp_path / "rows.jsonl.manifest.json").read_text())
    assert manifest["leading_assistant"] == "drop"
    desirable = sum(row["label"] for row in rows)
    assert manifest["labels"] == {"desirable": desirable, "undesirable": len(rows) - desirable}
    assert desirable == 6


def test_an_export_keeps_the_choice(project: Project, two_dialogues: None, exported: Exported) -> None:
    merged, plain = exported("sft", leading_assistant="merge"), exported("diamante")
    stored = Export.objects.get(job=merged)
    assert (stored.draws["leading_assistant"], stored.manifest["leading_assistant"]) == ("merge", "merge")
    assert merged.parameters["leading_assistant"] == "merge"
    assert "leading_assistant" not in plain.parameters
    assert Export.objects.get(job=plain).manifest["leading_assistant"] is None


def test_another_choice_is_refused() -> None:
    with pytest.raises(Invalid, match="keep, merge, drop"):
        build_draw_settings(0, 0, leading_assistant="shout")


def test_the_page_offers_it_and_shows_the_command(client: Client, project: Project, eric: User) -> None:
    client.force_login(eric)
    address = reverse("exports", args=[project.slug])
    assert 'name="leading_assistant"' in client.get(address).content.decode()
    query = "?part=preview&format=sft&splits=train&leading_assistant=merge"
    assert "--leading-assistant merge" in client.get(address + query).content.decode()
