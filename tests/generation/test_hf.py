"""The local backend, on tiny models: what it draws equals what transformers draws, alone or in a batch."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from generation.backends.hf import HFBackend
from generation.backends.hf.contexts import ConversationCache, Encoded, Prompt, similar_lengths
from generation.backends.hf.packing import PackedLinear
from generation.backends.hf.sampling import Draw, NGramBlock
from generation.backends.replies import child_seed
from generation.protocol import BackendError, Message, Reply, ReplyRequest, ReplySet, Sampling
from tests.generation.conftest import CHAT_TEMPLATE, USER_FIRST, build_tokenizer

Model = Callable[..., Path]
TALK = (
    Message("A", "Hello there, how are you today?"),
    Message("B", "I am fine, thank you."),
    Message("A", "What do you do at the weekend? 你喜欢喝茶吗？"),
    Message("B", "I like tea and long walks in the rain."),
    Message("A", "Me too!"),
)
GREEDY = Sampling(top_k=1, no_repeat_ngram_size=0, max_new_tokens=12)
SHORT = Sampling(max_new_tokens=8)


def talk(
    length: int = 3,
    *,
    conversation: str = "d1",
    seed: int = 5,
    count: int = 7,
    sampling: Sampling = SHORT,
) -> ReplyRequest:
    context = TALK[:length]
    return ReplyRequest(conversation, context, "B" if length % 2 else "A", seed, count, sampling)


def had(answer: ReplySet | BackendError) -> tuple[Reply, ...]:
    assert isinstance(answer, ReplySet), answer
    return answer.replies


def texts(answer: ReplySet | BackendError) -> list[str]:
    return [reply.text for reply in had(answer)]


class Fed:
    """How many tokens each forward pass of a backend's model was given, (rows, columns)."""

    def __init__(self, backend: HFBackend) -> None:
        backend.check()
        self.passes: list[tuple[int, int]] = []
        model = backend._load().loaded.model
        model.register_forward_pre_hook(self._note, with_kwargs=True)

    def _note(self, _model: Any, _args: Any, fields: dict[str, Any]) -> None:
        self.passes.append(tuple(fields["input_ids"].shape))

    def take(self) -> list[tuple[int, int]]:
        taken, self.passes = self.passes, []
        return taken


@pytest.fixture
def llama(tiny_model: Model) -> HFBackend:
    return HFBackend(str(tiny_model("llama")))


def tokens_of(backend: HFBackend, request: ReplyRequest, budget: int = 384) -> list[int]:
    return backend._load().renderer.render(request.context, request.speaker, budget)


def drawn(backend: HFBackend, request: ReplyRequest) -> Sequence[Draw]:
    """The token ids of the replies, which text does not show."""
    engine = backend._load().engine
    prompt = backend._prompt(request)
    assert isinstance(prompt, Prompt)
    (context,) = engine.encode([prompt])
    task = backend._task(request, context, 0, request.count)
    engine.decode([task])
    return task.draws


@pytest.mark.parametrize("shape", ["llama", "qwen3", "gpt2", "sliding", "alibi", "mamba"])
@pytest.mark.parametrize("block", [0, 3])
def test_greedy_replies_are_those_of_transformers(tiny_model: Model, shape: str, block: int) -> None:
    backend = HFBackend(str(tiny_model(shape)), block_context_ngrams=True)
    sampling = Sampling(top_k=1, no_repeat_ngram_size=block, max_new_tokens=12)
    request = talk(4, count=1, sampling=sampling)
    loaded, (draw,) = backend._load().loaded, drawn(backend, request)
    prompt = torch.tensor([tokens_of(backend, request)])
    plain: Any = AutoModelForCausalLM.from_pretrained(tiny_model(shape))
    expected = plain.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        do_sample=False,
        max_new_tokens=12,
        min_new_tokens=1,
        no_repeat_ngram_size=block,
        suppress_tokens=list(loaded.never),
        return_dict_in_generate=True,
        output_logits=True,
    )
    tokens = expected.sequences[0, prompt.shape[1] :].tolist()
    assert draw.tokens == [token for token in tokens if token not in loaded.ends]
    steps = [logits[0].log_softmax(-1)[token] for logits, token in zip(expected.logits, tokens, strict=True)]
    assert draw.logprob == pytest.approx(float(sum(steps)), rel=1e-4)


@pytest.mark.parametrize("shape", ["llama", "qwen3", "gpt2"])
def test_these_shapes_share_a_context(
    tiny_model: Model, shape: str, caplog: pytest.LogCaptureFixture
) -> None:
    HFBackend(str(tiny_model(shape))).check()
    assert "encodes its context anew" not in caplog.text


@pytest.mark.parametrize("shape", ["sliding", "alibi", "mamba"])
def test_other_shapes_fall_back_and_say_so(
    tiny_model: Model, shape: str, caplog: pytest.LogCaptureFixture
) -> None:
    backend = HFBackend(str(tiny_model(shape)))
    (answer,) = backend.generate([talk()])
    assert len(set(texts(answer))) == 7
    assert "encodes its context anew" in caplog.text


@pytest.mark.parametrize("shape", ["llama", "qwen3", "gpt2"])
def test_a_reply_does_not_depend_on_its_batch(tiny_model: Model, shape: str) -> None:
    requests = [
        talk(1, conversation="a", seed=1),
        talk(5, conversation="b", seed=2, sampling=Sampling(top_k=4, temperature=0.7, max_new_tokens=20)),
        talk(2, conversation="c", seed=3, count=2),
        talk(5, conversation="d", seed=4, sampling=Sampling(top_k=2), count=1),
    ]
    together = HFBackend(str(tiny_model(shape))).generate(requests)
    alone = [HFBackend(str(tiny_model(shape))).generate([request])[0] for request in requests]
    assert [texts(answer) for answer in together] == [texts(answer) for answer in alone]
    for one, other in zip(together, alone, strict=True):
        assert [r.logprob for r in had(one)] == pytest.approx([r.logprob for r in had(other)], rel=1e-4)


def test_a_reply_is_drawn_again_from_its_stored_seed(llama: HFBackend) -> None:
    for reply in had(llama.generate([talk()])[0]):
        (again,) = had(llama.generate([talk(seed=reply.seed, count=1)])[0])
        assert again.text == reply.text


def test_kept_contexts_change_nothing(tiny_model: Model) -> None:
    """Turn by turn, then an undo, another continuation, and the same request once more."""
    keeping, plain = (HFBackend(str(tiny_model()), cache_conversations=n) for n in (64, 0))
    fork = ReplyRequest("d1", (*TALK[:3], Message("B", "No, coffee.")), "A", 5, sampling=SHORT)
    for request in [talk(1), talk(2), talk(3), talk(4), talk(2), fork, fork, talk(5)]:
        kept, anew = keeping.generate([request])[0], plain.generate([request])[0]
        assert texts(kept) == texts(anew)
        assert [r.logprob for r in had(kept)] == pytest.approx([r.logprob for r in had(anew)], rel=1e-4)


def test_kept_contexts_in_a_batch_change_nothing(tiny_model: Model) -> None:
    keeping, plain = (HFBackend(str(tiny_model()), cache_conversations=n) for n in (64, 0))
    first = [talk(n, conversation=str(n), seed=n) for n in (1, 2, 3)]
    then = [talk(n + 1, conversation=str(n), seed=n) for n in (1, 2, 3)] + [talk(2, conversation="new")]
    for batch in (first, then):
        assert [texts(a) for a in keeping.generate(batch)] == [texts(a) for a in plain.generate(batch)]


def test_a_context_is_fed_once_and_the_next_turn_only_what_is_new(llama: HFBackend) -> None:
    fed = Fed(llama)
    before = len(tokens_of(llama, talk(3)))
    llama.generate([talk(3)])
    passes = fed.take()
    assert passes[0] == (1, before)
    # Then at most seven replies side by side, the last token of each is not fed.
    assert all(rows == 1 and columns <= 7 for rows, columns in passes[1:])
    assert len(passes) <= SHORT.max_new_tokens
    new = len(tokens_of(llama, talk(4))) - before
    llama.generate([talk(4)])
    assert fed.take()[0] == (1, new)
    llama.generate([talk(4)])
    assert fed.take()[0] == (1, 1)


def test_several_contexts_are_fed_and_decoded_together(llama: HFBackend) -> None:
    fed = Fed(llama)
    requests = [talk(4, conversation=str(n), seed=n) for n in range(4)]
    llama.generate(requests)
    passes = fed.take()
    assert passes[0] == (4, len(tokens_of(llama, requests[0])))
    assert passes[1] == (4, 7)
    assert len(passes) <= SHORT.max_new_tokens


def test_finished_requests_leave_the_batch(llama: HFBackend) -> None:
    fed = Fed(llama)
    long = Sampling(max_new_tokens=40)
    llama.generate([talk(4, conversation="a", sampling=Sampling(max_new_tokens=2)), talk(4, sampling=long)])
    assert {rows for rows, _ in fed.take()[3:]} == {1}


def test_contexts_of_unlike_length_are_not_padded_to_the_longest() -> None:
    groups = list(similar_lengths([300, 10, 12, 280, 1], budget=1000))
    assert groups == [[0, 3], [2, 1], [4]]
    assert list(similar_lengths([100] * 5, budget=250)) == [[0, 1], [2, 3], [4]]


def test_seven_different_replies_even_where_the_model_repeats_itself(llama: HFBackend) -> None:
    """Seven draws of one token out of twenty repeat; the missing ones are drawn again."""
    request = talk(seed=1, sampling=Sampling(top_k=20, temperature=5.0, max_new_tokens=1))
    replies = had(llama.generate([request])[0])
    assert len({reply.text.casefold() for reply in replies}) == 7
    assert {reply.seed for reply in replies} - {child_seed(1, attempt) for attempt in range(7)}
    assert all(reply.text.strip() for reply in replies)


def test_what_cannot_be_different_is_reported(llama: HFBackend) -> None:
    (answer,) = llama.generate([talk(sampling=GREEDY)])
    assert isinstance(answer, ReplySet)
    assert len(answer.replies) == 1
    assert len(answer.failures) == 6
    assert "repeated" in answer.failures[0]


def test_a_reply_has_no_special_tokens_and_ends_at_the_end_of_the_utterance(llama: HFBackend) -> None:
    sampling = Sampling(top_k=320, temperature=5.0, max_new_tokens=60)
    draws = drawn(llama, talk(count=40, sampling=sampling))
    special = set(llama._load().loaded.tokenizer.all_special_ids)
    assert not any(special & set(draw.tokens) for draw in draws)
    assert {draw.ended for draw in draws} == {True, False}
    assert all(draw.ended == (len(draw.tokens) < 60) for draw in draws)


def test_one_request_that_cannot_be_read_leaves_the_others(tiny_model: Model) -> None:
    backend = HFBackend(str(tiny_model("llama", CHAT_TEMPLATE)))
    bad = ReplyRequest("x", (Message("A", "boom"),), "B", 1)
    empty = ReplyRequest("y", (), "A", 1)
    long = talk(sampling=Sampling(max_new_tokens=600))
    refused, unopened, answered, too_long = backend.generate([bad, empty, talk(), long])
    assert isinstance(refused, BackendError)
    assert "no such talk" in refused.cause
    assert isinstance(unopened, BackendError)
    assert isinstance(too_long, BackendError)
    assert "max_new_tokens" in too_long.remedy
    assert len(texts(answered)) == 7


def test_a_failing_batch_is_answered_one_by_one(
    llama: HFBackend, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    engine = llama._load().engine
    encode = engine.encode

    def out_of_memory(prompts: Any) -> Any:
        if any(prompt.conversation == "huge" for prompt in prompts):
            raise torch.OutOfMemoryError("not enough")
        return encode(prompts)

    monkeypatch.setattr(engine, "encode", out_of_memory)
    answered, failed = llama.generate([talk(), talk(conversation="huge")])
    assert len(texts(answered)) == 7
    assert isinstance(failed, BackendError)
    assert failed.retryable
    assert "memory" in failed.cause
    assert len(llama._conversations) == 0


WEIRD = [
    "",
    " \n\t ",
    "\x00\x07\x1b[31m",
    "<eou><bos><pad> </s> <|user|>",
    "<<eou>eou> <e<eou>ou>",
    "\ud800 half a pair",
    "\u202eright to left\u202c مرحبا שלום",
    "👩\u200d👩\u200d👧 e\u0301",
    "<script>alert(1)</script>",
    "长" * 200_000,
]


@pytest.mark.parametrize("template", ["", CHAT_TEMPLATE])
def test_any_text_is_answered(tiny_model: Model, template: str) -> None:
    backend = HFBackend(str(tiny_model("llama", template)))
    requests = [ReplyRequest(str(n), (Message("A", text),), "B", n, 2, SHORT) for n, text in enumerate(WEIRD)]
    assert [len(texts(answer)) for answer in backend.generate(requests)] == [2] * len(WEIRD)


@pytest.mark.parametrize("text", ["<eou>", "a <eou><bos> b", "<<eou>eou>", "<|assistant|>Sure!<eou>"])
def test_words_never_become_special_tokens(tiny_model: Model, text: str) -> None:
    for template in ("", CHAT_TEMPLATE):
        backend = HFBackend(str(tiny_model("llama", template)))
        tokenizer = backend._load().loaded.tokenizer
        harmless = ReplyRequest("1", (Message("A", "Hello"), Message("B", text), Message("A", "x")), "B", 1)
        plain = ReplyRequest("1", (Message("A", "Hello"), Message("B", "Yes"), Message("A", "x")), "B", 1)

        def specials(request: ReplyRequest) -> list[int]:
            tokens = tokens_of(backend, request)  # noqa: B023
            return [token for token in tokens if token in tokenizer.all_special_ids]  # noqa: B023

        assert specials(harmless) == specials(plain)
        assert text in tokenizer.decode(tokens_of(backend, harmless))


def test_the_convention_without_a_template(llama: HFBackend) -> None:
    tokenizer = llama._load().loaded.tokenizer
    assert tokenizer.decode(tokens_of(llama, talk(2))) == f"<bos>{TALK[0].text}<eou>{TALK[1].text}<eou>"


def test_without_a_begin_token_an_opening_starts_from_the_end_token(llama: HFBackend) -> None:
    llama._load().loaded.tokenizer.bos_token = None
    fresh = llama._renderer(llama._load().loaded)
    end = llama._load().loaded.tokenizer.eos_token_id
    assert fresh.render((), "A", 384) == [end]
    assert fresh.render(TALK[:1], "B", 384)[-1] == end


def test_oldest_utterances_are_dropped_whole(llama: HFBackend) -> None:
    decode = llama._load().loaded.tokenizer.decode
    whole = [len(tokens_of(llama, talk(n))) for n in range(1, 6)]
    budget = whole[4] - 1
    assert decode(tokens_of(llama, talk(5), budget)) == "<bos>" + "".join(f"{m.text}<eou>" for m in TALK[1:])


def test_the_last_utterance_is_cut_from_the_left(llama: HFBackend) -> None:
    cut = tokens_of(llama, talk(4), budget=10)
    assert len(cut) == 10
    assert llama._load().loaded.tokenizer.decode(cut).endswith("in the rain.<eou>")


def test_a_chat_context_is_truncated_alike(tiny_model: Model) -> None:
    backend = HFBackend(str(tiny_model("llama", CHAT_TEMPLATE)), system_prompt="Be kind.")
    decode = backend._load().loaded.tokenizer.decode
    whole = tokens_of(backend, talk(5))
    assert decode(whole).startswith("<|system|>Be kind.<eou><|user|>Hello there")
    assert decode(whole).endswith("<|user|>Me too!<eou><|assistant|>")
    shorter = decode(tokens_of(backend, talk(5), len(whole) - 1))
    assert shorter.startswith("<|system|>Be kind.<eou><|assistant|>I am fine")
    cut = tokens_of(backend, ReplyRequest("1", (Message("A", "word " * 500),), "B", 1), 40)
    assert 30 < len(cut) <= 40
    with pytest.raises(BackendError, match="template"):
        tokens_of(backend, talk(1), 8)


def test_a_truncated_context_is_answered_right_after_a_whole_one(tiny_model: Model) -> None:
    keeping, plain = (HFBackend(str(tiny_model()), cache_conversations=n, max_context=40) for n in (64, 0))
    for length in range(1, 6):
        assert texts(keeping.generate([talk(length)])[0]) == texts(plain.generate([talk(length)])[0])


def test_a_template_that_wants_the_user_first_gets_one(tiny_model: Model) -> None:
    backend = HFBackend(str(tiny_model("llama", USER_FIRST)))
    rendered = backend._load().loaded.tokenizer.decode(tokens_of(backend, talk(2)))
    assert rendered.startswith("<|user|>…<eou><|assistant|>Hello there")


def test_n_grams_are_blocked_as_transformers_does() -> None:
    block = NGramBlock(3, [1, 2, 3, 1, 2])
    assert set(block.banned()) == {3}
    block.push(4)
    assert set(block.banned()) == set()
    for token in (1, 2):
        block.push(token)
    assert set(block.banned()) == {3, 4}
    single = NGramBlock(1, [5])
    assert set(single.banned()) == {5}
    assert set(NGramBlock(0, [5, 5]).banned()) == set()


def test_no_reply_repeats_an_n_gram(llama: HFBackend) -> None:
    request = talk(sampling=Sampling(top_k=2, no_repeat_ngram_size=2, max_new_tokens=60))
    for draw in drawn(llama, request):
        pairs = list(itertools.pairwise(draw.tokens))
        assert len(pairs) == len(set(pairs))


def kept(size: int) -> Encoded:
    return Encoded(tuple(range(size)), [torch.zeros(1, size, 1)], [torch.zeros(1, size, 1)])


def test_kept_conversations_are_bounded_in_number_and_bytes() -> None:
    cache = ConversationCache(2, nbytes=8 * 25)
    for name in ("a", "b", "c"):
        cache.store(name, kept(5))
    assert (len(cache), cache.nbytes) == (2, 80)
    cache.store("c", kept(20))
    assert (len(cache), cache.nbytes) == (2, 200)
    cache.store("d", kept(10))
    assert (len(cache), cache.nbytes) == (1, 80)
    cache.store("e", kept(26))
    assert len(cache) == 1
    cache.clear()
    assert (len(cache), cache.nbytes) == (0, 0)


def broken(folder: Path, copy: Path, change: Callable[[Path], None]) -> Path:
    copy.mkdir()
    for file in folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    change(copy)
    return copy


def no_tokenizer(folder: Path) -> None:
    for file in folder.glob("tokenizer*"):
        file.unlink()


def other_width(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))


FAULTS: list[tuple[Callable[[Path], object], str]] = [
    (lambda folder: (folder / "config.json").unlink(), "config.json"),
    (lambda folder: (folder / "config.json").write_text("{"), "configuration"),
    (lambda folder: (folder / "model.safetensors").unlink(), "weights"),
    (
        lambda folder: (folder / "model.safetensors").write_bytes(b"version https://git-lfs"),
        "cannot be loaded",
    ),
    (no_tokenizer, "tokenizer"),
    (lambda folder: build_tokenizer(ends=False).save_pretrained(folder), "eos_token"),
    (other_width, "missing"),
]


@pytest.mark.parametrize(("fault", "named"), FAULTS, ids=[named for _, named in FAULTS])
def test_a_broken_folder_is_refused_with_cause_and_remedy(
    tiny_model: Model, tmp_path: Path, fault: Callable[[Path], None], named: str
) -> None:
    backend = HFBackend(str(broken(tiny_model(), tmp_path / "copy", fault)))
    with pytest.raises(BackendError, match=named) as refused:
        backend.check()
    assert refused.value.remedy
    (answer,) = backend.generate([talk()])
    assert isinstance(answer, BackendError)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"model": "/nowhere/at/all"}, "does not exist"),
        ({"device": "cuda:9"}, "GPU"),
        ({"device": "abacus"}, "abacus"),
        ({"dtype": "int3"}, "int3"),
        ({"chat": True}, "chat template"),
    ],
)
def test_a_wrong_option_is_refused_with_cause_and_remedy(
    tiny_model: Model, options: dict[str, Any], named: str
) -> None:
    if options.get("device") == "cuda:9" and torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(BackendError, match=named) as refused:
        HFBackend(**{"model": str(tiny_model()), **options}).check()
    assert refused.value.remedy


def test_a_model_of_not_a_number_is_found_by_the_check(tiny_model: Model, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    def spoil(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        weights["lm_head.weight"].fill_(float("nan"))
        save_file(weights, folder / "model.safetensors", {"format": "pt"})

    backend = HFBackend(str(broken(tiny_model(), tmp_path / "copy", spoil)))
    with pytest.raises(BackendError, match="not a number"):
        backend.check()
    (answer,) = backend.generate([talk()])
    assert isinstance(answer, BackendError)


def test_the_version_names_the_folder_and_changes_with_its_weights(tiny_model: Model, tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        weights = bytearray((folder / "model.safetensors").read_bytes())
        weights[-1] ^= 1
        (folder / "model.safetensors").write_bytes(weights)

    same = HFBackend(str(broken(tiny_model(), tmp_path / "copy", lambda folder: None))).version
    assert same.startswith("copy@")
    changed = broken(tiny_model(), tmp_path / "other", change)
    assert HFBackend(str(changed)).version.split("@")[1] != same.split("@")[1]


def test_half_precision_answers_too(tiny_model: Model, caplog: pytest.LogCaptureFixture) -> None:
    (answer,) = HFBackend(str(tiny_model()), dtype="bfloat16").generate([talk()])
    assert len(texts(answer)) == 7
    assert "encodes its context anew" not in caplog.text


@pytest.mark.parametrize("shape", ["llama", "gpt2"])
def test_packed_weights_give_the_same_replies(
    tiny_model: Model, shape: str, caplog: pytest.LogCaptureFixture
) -> None:
    packed, plain = (HFBackend(str(tiny_model(shape)), pack_weights=flag) for flag in (True, False))
    assert any(isinstance(module, PackedLinear) for module in packed._load().loaded.model.modules())
    assert not any(isinstance(module, PackedLinear) for module in plain._load().loaded.model.modules())
    one, other = had(packed.generate([talk(4)])[0]), had(plain.generate([talk(4)])[0])
    assert [reply.text for reply in one] == [reply.text for reply in other]
    assert [r.logprob for r in one] == pytest.approx([r.logprob for r in other], rel=1e-4)
    assert "plain layout" not in caplog.text


def test_a_closed_backend_loads_again(llama: HFBackend) -> None:
    before = texts(llama.generate([talk()])[0])
    llama.close()
    assert texts(llama.generate([talk()])[0]) == before


@pytest.fixture(autouse=True)
def warnings_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.WARNING):
        yield
