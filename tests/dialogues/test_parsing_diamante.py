"""The format with candidates and provenance."""

import json
from typing import Any

import pytest

from tests.dialogues.reading import dialogue, error


def diamante(**keys: Any) -> str:
    opening = {"utterance": "Hi", "response_candidates": []}
    reply = {"utterance": "Hello", "response_candidates": ["Hello", "", "Hey"], **keys}
    return json.dumps({"conversation": [opening, reply]})


def test_diamante_keeps_candidates_in_order_even_empty_ones() -> None:
    parsed = dialogue(diamante(), "diamante")
    assert [utterance.speaker for utterance in parsed.utterances] == ["A", "B"]
    assert parsed.utterances[0].candidates == ()
    assert parsed.utterances[1].candidates == ("Hello", "", "Hey")


def test_diamante_reads_back_what_our_export_adds() -> None:
    keys = {
        "speaker": "Bo",
        "action": "revise",
        "source": 2,
        "edit_distance": 3,
        "model_version": "m@1",
        "id": "u1",
    }
    reply = dialogue(diamante(**keys), "diamante").utterances[1]
    assert (reply.speaker, reply.action, reply.source, reply.edit_distance) == ("Bo", "revise", 2, 3)
    assert (reply.model_version, reply.metadata) == ("m@1", {"id": "u1"})


def test_a_selected_candidate_has_edit_distance_0() -> None:
    assert dialogue(diamante(action="select", source=0), "diamante").utterances[1].edit_distance == 0


@pytest.mark.parametrize("absent", [None, ""])
def test_null_or_empty_provenance_is_absent(absent: object) -> None:
    reply = dialogue(diamante(action=absent, source=None, model_version=absent), "diamante").utterances[1]
    assert (reply.action, reply.source, reply.model_version) == (None, None, "")


@pytest.mark.parametrize(
    ("keys", "code"),
    [
        ({"action": "copy"}, "unknown_action"),
        ({"action": 1}, "wrong_type"),
        ({"action": "select"}, "source_missing"),
        ({"action": "revise", "source": 3}, "source_outside"),
        ({"source": True}, "wrong_type"),
        ({"source": -1}, "wrong_type"),
        ({"action": "select", "source": 0, "edit_distance": 2}, "select_edited"),
        ({"response_candidates": "Hello"}, "wrong_type"),
        ({"response_candidates": [1]}, "wrong_type"),
        ({"response_candidates": ["x"] * 101}, "too_many"),
        ({"utterance": 5}, "wrong_type"),
        ({"utterance": ""}, "empty"),
    ],
)
def test_diamante_refuses_contradictions(keys: dict[str, Any], code: str) -> None:
    assert error(diamante(**keys), "diamante").code == code


def test_diamante_names_the_utterance() -> None:
    row = {"conversation": [{"utterance": "a"}] * 3 + [{"utterance": 4}]}
    assert error(json.dumps(row), "diamante").reason == "conversation[3].utterance must be text, is a number."
