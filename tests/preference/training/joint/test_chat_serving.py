"""Trained folders behind another program's server: the prompts are those of training, and candidates come of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from generation.backends.hf import HFBackend
from generation.backends.openai import OpenAIBackend
from generation.backends.replies import clean_reply
from generation.protocol import Message, ReplyRequest, Sampling
from tests.generation.conftest import OTHER_END, build_tokenizer
from tests.generation.server_processes import serve_model
from tests.generation.talk import GREEDY, texts, tokens_of
from tests.generation.test_scoring import drawn
from tests.preference.training.conftest import command, handlers_kept, save_tiny
from tests.processes import PATIENCE

pytestmark = pytest.mark.slow
SAID = ("Do you like tea?", "Yes, I like tea.", "How was your walk?", "Long, and in the rain.")
USER_FIRST = "{% if messages[0]['role'] == 'assistant' %}{{ raise_exception('user first') }}{% endif %}"


class Served(NamedTuple):
    base_url: str
    folders: dict[str, Path]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, dialogues: Path) -> Iterator[Served]:
    """Two models trained from one base, with and without its template, behind one `transformers serve`."""
    from preference.training.joint.command import main

    root = tmp_path_factory.mktemp("served")
    base = save_tiny(root / "base", "llama")
    build_tokenizer(USER_FIRST + OTHER_END).save_pretrained(base)
    options = {"kept": ["--chat-template"], "plain": []}
    with handlers_kept():
        for name, more in options.items():
            assert main(command(dialogues, base, root / name, *more, settings=("epochs=1",))) == 0
            # Nor does the local backend begin with an end.
            settings = root / name / "model" / "generation_config.json"
            settings.write_text(json.dumps(json.loads(settings.read_text()) | {"min_new_tokens": 1}))
    with serve_model(None, root / "log") as base_url:
        yield Served(base_url, {name: root / name / "model" for name in options})


def ask(served: Served, name: str, endpoint: str, **body: Any) -> tuple[int, str]:
    """Tokens that the server read, and its likeliest answer."""
    folder = str(served.folders[name])
    fields = {"model": folder, "max_tokens": GREEDY.max_new_tokens, "temperature": 0, **body}
    answer = httpx.post(f"{served.base_url}/{endpoint}", json=fields, timeout=60 * PATIENCE)
    assert answer.status_code == 200, answer.text
    choice = answer.json()["choices"][0]
    text = choice["text"] if endpoint == "completions" else choice["message"]["content"]
    return answer.json()["usage"]["prompt_tokens"], clean_reply(text)


def ask_locally(served: Served, name: str, length: int) -> tuple[int, str]:
    """The same of the local backend, which reads as training does."""
    context = tuple(Message("AB"[place % 2], text) for place, text in enumerate(SAID[:length]))
    request = ReplyRequest("d", context, "AB"[length % 2], 1, 1, GREEDY)
    backend = HFBackend(str(served.folders[name]))
    ((draw,),) = drawn(backend, [request])
    text = backend._load().loaded.tokenizer.decode(draw.tokens, skip_special_tokens=True)
    return len(tokens_of(backend, request)), clean_reply(text)


@pytest.mark.parametrize("name", ["kept", "plain"])
@pytest.mark.parametrize("length", [3, 4])
def test_a_server_answers_as_the_local_backend_does(served: Served, name: str, length: int) -> None:
    """With four utterances the assistant speaks first, which the base's template refused."""
    roles = ("user", "assistant") if length % 2 else ("assistant", "user")
    messages = [{"role": roles[place % 2], "content": text} for place, text in enumerate(SAID[:length])]
    assert ask(served, name, "chat/completions", messages=messages) == ask_locally(served, name, length)


def test_a_server_completes_the_prompt_of_the_card(served: Served) -> None:
    about = json.loads((served.folders["plain"] / "training.json").read_text())["prompt_format"]
    assert about["prompt"] == "<bos>Hello.<eou>Hi, how are you?<eou>Fine, and you?<eou>"
    assert about["reply"] == "Tired.<eou>"
    assert ask(served, "plain", "completions", prompt=f"<bos>{SAID[0]}<eou>") == ask_locally(
        served, "plain", 1
    )


@pytest.mark.parametrize("name", ["kept", "plain"])
def test_our_own_backend_gets_candidates_for_either_speaker(served: Served, name: str) -> None:
    context = tuple(Message("AB"[place % 2], text) for place, text in enumerate(SAID))
    sampling = Sampling(max_new_tokens=8, temperature=1.5)
    requests = [
        ReplyRequest("d", context[:length], "AB"[length % 2], length, 3, sampling) for length in (3, 4)
    ]
    with closing(OpenAIBackend(served.base_url, str(served.folders[name]), extra_rounds=6)) as backend:
        backend.check()
        answers = backend.generate(requests)
    assert [len(set(texts(answer))) for answer in answers] == [3, 3]
