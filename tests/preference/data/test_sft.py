"""Format `sft`: exactly TRL's conversational prompt and completion."""

from collections.abc import Callable

import pytest

from dialogues.models import CandidateSet
from jobs.models import Job
from preference.data.formats.catalogue import FORMATS
from preference.data.formats.replies import DrawContext
from tests.preference.conftest import PASS, Rows, Written

Imports = Callable[..., Job]


def chat(*turns: tuple[str, str]) -> dict[str, object]:
    return {"messages": [{"role": role, "content": content} for role, content in turns]}


def test_every_reply_is_a_row_of_messages(rows: Rows, written: Written) -> None:
    dialogue = written(PASS)
    made = rows("sft")
    assert [len(row["prompt"]) for row in made] == [1, 2, 3]
    assert made[1] == {
        "prompt": [
            {"role": "assistant", "content": "Hello, I have a cat."},
            {"role": "user", "content": "candidate 2 of 1"},
        ],
        "completion": [{"role": "assistant", "content": "Candidate 3 of 2!"}],
        "turn": 2,
        "dialogue_id": dialogue.external_id,
        "language": dialogue.language,
        "model_version": "scripted@1",
    }
    assert [row["model_version"] for row in made] == [
        "scripted@1",
        "scripted@1",
        "",
    ]  # select, revise, rewrite


def test_the_model_of_a_reply_is_that_of_its_own_candidate(rows: Rows, written: Written) -> None:
    written(PASS)
    for shown in CandidateSet.objects.all():
        for place, one in enumerate(shown.candidates):
            one["model_version"] = f"model {place}"
        shown.model_version = ""
        shown.save()
    versions = [row["model_version"] for row in rows("sft")]
    assert versions == ["model 2", "model 3", ""]
    frozen = [made for row in rows("diamante") for made in FORMATS["sft"].frozen_rows([row], DrawContext())]
    assert [row["model_version"] for row in frozen] == versions


def test_the_shape_is_what_a_chat_template_takes(rows: Rows, written: Written) -> None:
    """What TRL does with a row: the template over prompt, and over prompt + completion, which must begin with it."""
    written(PASS)
    for row in rows("sft"):
        assert set(row) == {"prompt", "completion", "dialogue_id", "turn", "language", "model_version"}
        assert row["prompt"][-1]["role"] == "user"
        assert [message["role"] for message in row["completion"]] == ["assistant"]
        rendered = [
            "".join(f"<{message['role']}>{message['content']}</s>" for message in messages)
            for messages in (row["prompt"], row["prompt"] + row["completion"])
        ]
        assert rendered[1].startswith(rendered[0])
        assert all(
            set(message) == {"role", "content"} and message["content"]
            for message in row["prompt"] + row["completion"]
        )


@pytest.mark.parametrize("model", ["assistant", "gpt"])
def test_of_a_conversation_with_a_model_only_its_replies_are_completions(
    imports: Imports, rows: Rows, model: str
) -> None:
    imports([chat(("user", "Hi"), (model, "Hello"), ("user", "Bye"), (model, "Ciao"))], "messages")
    made = rows("sft")
    assert [row["completion"][0]["content"] for row in made] == ["Hello", "Ciao"]
    assert [message["role"] for message in made[1]["prompt"]] == ["user", "assistant", "user"]


def test_a_system_message_stays_one_and_is_not_a_reply(imports: Imports, rows: Rows) -> None:
    imports([chat(("system", "Be kind."), ("user", "Hi"), ("assistant", "Hello"))], "messages")
    (row,) = rows("sft")
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]


def test_a_single_utterance_has_no_reply(imports: Imports, rows: Rows) -> None:
    imports([chat(("A", "Hi"))], "messages")
    assert rows("sft") == []
