"""Replies scored on the cache that they were decoded with, against encoding context and reply from scratch."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

from generation.backends.hf import HFBackend
from generation.backends.hf.contexts import Prompt
from generation.backends.hf.engines import DecodingTask, GenerateEngine, SharedContextEngine
from generation.backends.hf.sampling import Draw
from generation.backends.hf.scoring import HEAD_FILE
from generation.conversation import SPARE
from generation.protocol import BackendError, ReplyRequest, Sampling
from tests.generation.conftest import CHAT_TEMPLATE
from tests.generation.talk import Model, had, talk, tokens_of

HIDDEN = 32
WITH_ENDS = Sampling(top_k=320, temperature=50.0, max_new_tokens=100)
Trained = Callable[..., Path]


def head_of(hidden: int = HIDDEN) -> dict[str, torch.Tensor]:
    seeded = torch.Generator().manual_seed(3)
    return {"weight": torch.randn(1, hidden, generator=seeded), "bias": torch.tensor([0.25])}


@pytest.fixture
def trained(tiny_model: Model, tmp_path: Path) -> Trained:
    """trained("llama") is a copy of a tiny model with a preference head."""

    def trained(
        shape: str = "llama", template: str = "", head: dict[str, torch.Tensor] | None = None
    ) -> Path:
        folder = tmp_path / f"{shape}-{len(list(tmp_path.iterdir()))}"
        shutil.copytree(tiny_model(shape, template), folder)
        save_file(head_of() if head is None else head, folder / HEAD_FILE)
        return folder

    return trained


def drawn(backend: HFBackend, requests: list[ReplyRequest]) -> list[list[Draw]]:
    """The replies of each request, decoded in one batch; as drawn, so that token ids can be compared."""
    prompts = [backend._prompt(request) for request in requests]
    engine = backend._load().engine
    contexts = engine.encode([prompt for prompt in prompts if isinstance(prompt, Prompt)])
    tasks = [
        backend._task(request, context, 0, request.count)
        for request, context in zip(requests, contexts, strict=True)
    ]
    engine.decode(tasks)
    return [list(task.draws) for task in tasks]


def encoded_from_the_start(folder: Path, context: list[int], reply: list[int]) -> float:
    """transformers' own model on context + reply + end, and the head on its last hidden state."""
    model: Any = AutoModelForCausalLM.from_pretrained(folder)
    head = head_of()
    with torch.inference_mode():
        found = model(input_ids=torch.tensor([[*context, *reply, 1]]), output_hidden_states=True)
    return float(found.hidden_states[-1][0, -1] @ head["weight"][0] + head["bias"])


@pytest.mark.parametrize("shape", ["llama", "qwen3", "gpt2"])
@pytest.mark.parametrize("packed", [True, False])
def test_scores_equal_those_of_encoding_from_the_start(trained: Trained, shape: str, packed: bool) -> None:
    """Ended and cut replies of unlike length, several requests at once."""
    folder = trained(shape)
    backend = HFBackend(str(folder), pack_weights=packed)
    requests = [
        talk(1, conversation="a", seed=1, sampling=WITH_ENDS, count=5),
        talk(5, conversation="b", seed=2, sampling=WITH_ENDS, count=9),
        talk(3, conversation="c", seed=3, sampling=Sampling(max_new_tokens=4), count=3),
    ]
    batch = drawn(backend, requests)
    assert isinstance(backend._load().engine, SharedContextEngine)
    assert {draw.ended for draws in batch for draw in draws} == {True, False}
    for request, draws in zip(requests, batch, strict=True):
        context = tokens_of(backend, request)
        for draw in draws:
            assert draw.score == pytest.approx(encoded_from_the_start(folder, context, draw.tokens), abs=1e-5)


@pytest.mark.parametrize("shape", ["sliding", "alibi", "mamba"])
def test_models_that_share_no_context_are_scored_too(trained: Trained, shape: str) -> None:
    folder = trained(shape)
    backend = HFBackend(str(folder))
    request = talk(3, sampling=WITH_ENDS, count=4)
    (draws,) = drawn(backend, [request])
    assert isinstance(backend._load().engine, GenerateEngine)
    context = tokens_of(backend, request)
    for draw in draws:
        assert draw.score == pytest.approx(encoded_from_the_start(folder, context, draw.tokens), abs=1e-5)


def test_a_head_changes_no_reply(trained: Trained, tiny_model: Model) -> None:
    requests = [talk(n, conversation=str(n), seed=n, sampling=WITH_ENDS) for n in (1, 4)]
    scored, plain = HFBackend(str(trained())), HFBackend(str(tiny_model()))
    for one, other in zip(scored.generate(requests), plain.generate(requests), strict=True):
        assert [r.text for r in had(one)] == [r.text for r in had(other)]
        assert [r.logprob for r in had(one)] == pytest.approx([r.logprob for r in had(other)], rel=1e-4)
        assert all(r.score is not None for r in had(one))
        assert all(r.score is None for r in had(other))


@pytest.mark.parametrize(
    ("has_head", "spare", "replies"), [(False, SPARE, 12), (True, SPARE, 18), (False, 2, 9), (True, 2, 9)]
)
def test_for_seven_replies_more_are_drawn_at_once_and_most_with_a_head(
    trained: Trained,
    tiny_model: Model,
    monkeypatch: pytest.MonkeyPatch,
    has_head: bool,
    spare: int,
    replies: int,
) -> None:
    backend = HFBackend(str(trained() if has_head else tiny_model()))
    engine = backend._load().engine
    decode = engine.decode
    counts: list[int] = []

    def count_and_decode(tasks: Sequence[DecodingTask]) -> None:
        counts.extend(len(task.draws) for task in tasks)
        decode(tasks)

    monkeypatch.setattr(engine, "decode", count_and_decode)
    (answer,) = backend.generate([replace(talk(sampling=WITH_ENDS, count=7), spare=spare)])
    assert counts == [replies]
    assert len({reply.text for reply in had(answer)}) == len(had(answer)) == replies


def test_only_the_longest_reply_needs_a_pass_of_its_own(trained: Trained) -> None:
    backend = HFBackend(str(trained()))
    backend.check()
    passes: list[tuple[int, ...]] = []
    backend._load().loaded.model.register_forward_pre_hook(
        lambda _model, _given, fields: passes.append(tuple(fields["input_ids"].shape)), with_kwargs=True
    )
    (draws,) = drawn(backend, [talk(sampling=WITH_ENDS, count=9)])
    grown = max(len(draw.tokens) for draw in draws)
    assert (
        len(passes) == 1 + grown
    )  # the context; then a token a pass, the last of which reads the longest's end
    assert sum(columns for _rows, columns in passes[1:]) <= sum(len(draw.tokens) + 1 for draw in draws)


def test_a_context_as_long_as_the_model_reads_leaves_room_for_the_end(trained: Trained) -> None:
    """GPT-2 has a table of 512 positions; the 513th would break it."""
    backend = HFBackend(str(trained("gpt2")), max_context=10_000)
    long = ReplyRequest("d", talk(5).context * 20, "B", 1, 2, Sampling(max_new_tokens=12, top_k=1))
    (answer,) = backend.generate([long])
    assert all(reply.score is not None for reply in had(answer))
    prompt = backend._prompt(long)
    assert isinstance(prompt, Prompt)
    assert len(prompt.tokens) <= 512 - 12 - 1


def test_the_version_tells_a_head_from_another(trained: Trained, tiny_model: Model) -> None:
    def hash_of(folder: Path) -> str:
        return HFBackend(str(folder)).version.split("@")[1]

    again, other = head_of(), head_of()
    other["bias"] += 1
    assert hash_of(trained()) == hash_of(trained(head=again))
    assert len({hash_of(trained()), hash_of(trained(head=other)), hash_of(tiny_model())}) == 3


def broken(folder: Path) -> None:
    (folder / HEAD_FILE).write_bytes(b'\x08\x00\x00\x00\x00\x00\x00\x00{"a":')


def infinite(folder: Path) -> None:
    save_file({**head_of(), "bias": torch.tensor([float("nan")])}, folder / HEAD_FILE)


def of_another_model(folder: Path) -> None:
    save_file(head_of(HIDDEN + 1), folder / HEAD_FILE)


def of_other_names(folder: Path) -> None:
    save_file({"kernel": torch.zeros(1)}, folder / HEAD_FILE)


@pytest.mark.parametrize(
    ("harm", "cause"),
    [
        (broken, "cannot be read"),
        (infinite, "NaN"),
        (of_another_model, "33 numbers, but the model gives 32"),
        (of_other_names, "holds kernel"),
    ],
)
def test_a_head_that_does_not_fit_is_refused_with_cause_and_remedy(
    trained: Trained, harm: Callable[[Path], None], cause: str
) -> None:
    folder = trained()
    harm(folder)
    with pytest.raises(BackendError) as refused:
        HFBackend(str(folder)).check()
    assert cause in refused.value.cause
    assert "delete that file" in refused.value.remedy


def test_a_head_alone_is_not_a_model(trained: Trained) -> None:
    folder = trained()
    (folder / "model.safetensors").unlink()
    with pytest.raises(BackendError, match="no weights"):
        HFBackend(str(folder)).check()


def test_a_model_with_a_head_reads_dialogues_as_it_was_trained_to(trained: Trained) -> None:
    """Plainly, also where its tokenizer has a chat template; unless the options ask for it."""
    folder = str(trained("llama", CHAT_TEMPLATE))
    plain, chat = tokens_of(HFBackend(folder), talk(2)), tokens_of(HFBackend(folder, chat=True), talk(2))
    user = HFBackend(folder)._load().loaded.tokenizer.convert_tokens_to_ids("<|user|>")
    assert plain[0] == 0
    assert user not in plain
    assert user in chat
