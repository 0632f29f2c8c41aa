"""The local backend, on tiny models: what it draws equals what transformers draws, alone or in a batch."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from generation.backends.hf import HFBackend
from generation.backends.hf.contexts import ConversationCache, EncodedTokens, Prompt, similar_lengths
from generation.backends.hf.sampling import Draw, NGramBlock
from generation.backends.replies import child_seed
from generation.protocol import BackendError, Message, ReplyRequest, ReplySet, Sampling
from tests.generation.conftest import CHAT_TEMPLATE
from tests.generation.talk import GREEDY, SHORT, TALK, Model, had, talk, texts, tokens_of


class TokenInput:
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
    assert "encodes its context again" not in caplog.text


@pytest.mark.parametrize("shape", ["sliding", "alibi", "mamba"])
def test_other_shapes_fall_back_and_say_so(
    tiny_model: Model, shape: str, caplog: pytest.LogCaptureFixture
) -> None:
    backend = HFBackend(str(tiny_model(shape)))
    (answer,) = backend.generate([talk()])
    assert len(set(texts(answer))) == 7
    assert "encodes its context again" in caplog.text


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
        kept, fresh = keeping.generate([request])[0], plain.generate([request])[0]
        assert texts(kept) == texts(fresh)
        assert [r.logprob for r in had(kept)] == pytest.approx([r.logprob for r in had(fresh)], rel=1e-4)


def test_kept_contexts_in_a_batch_change_nothing(tiny_model: Model) -> None:
    keeping, plain = (HFBackend(str(tiny_model()), cache_conversations=n) for n in (64, 0))
    first = [talk(n, conversation=str(n), seed=n) for n in (1, 2, 3)]
    then = [talk(n + 1, conversation=str(n), seed=n) for n in (1, 2, 3)] + [talk(2, conversation="new")]
    for batch in (first, then):
        assert [texts(a) for a in keeping.generate(batch)] == [texts(a) for a in plain.generate(batch)]


def test_a_context_is_fed_once_and_the_next_turn_only_what_is_new(llama: HFBackend) -> None:
    fed = TokenInput(llama)
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
    fed = TokenInput(llama)
    requests = [talk(4, conversation=str(n), seed=n) for n in range(4)]
    llama.generate(requests)
    passes = fed.take()
    assert passes[0] == (4, len(tokens_of(llama, requests[0])))
    assert passes[1] == (4, 7)
    assert len(passes) <= SHORT.max_new_tokens


def test_finished_requests_leave_the_batch(llama: HFBackend) -> None:
    fed = TokenInput(llama)
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


def test_repeated_replies_are_reported(llama: HFBackend) -> None:
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


def test_a_truncated_context_is_answered_right_after_a_whole_one(tiny_model: Model) -> None:
    keeping, plain = (HFBackend(str(tiny_model()), cache_conversations=n, max_context=40) for n in (64, 0))
    for length in range(1, 6):
        assert texts(keeping.generate([talk(length)])[0]) == texts(plain.generate([talk(length)])[0])


def test_only_the_last_utterances_are_read_if_the_model_is_to(tiny_model: Model) -> None:
    folder, request = str(tiny_model()), talk(5)
    limited = HFBackend(folder, max_utterances=2).generate([request])
    assert limited == HFBackend(folder).generate([replace(request, context=request.context[-2:])])
    assert texts(limited[0]) != texts(HFBackend(folder).generate([request])[0])
    with pytest.raises(ValueError, match="at least 1"):
        HFBackend(folder, max_utterances=0)


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


def renew_leases(size: int) -> EncodedTokens:
    return EncodedTokens(tuple(range(size)), [torch.zeros(1, size, 1)], [torch.zeros(1, size, 1)])


def test_kept_conversations_are_bounded_in_number_and_bytes() -> None:
    cache = ConversationCache(2, nbytes=8 * 25)
    for name in ("a", "b", "c"):
        cache.store(name, renew_leases(5))
    assert (len(cache), cache.nbytes) == (2, 80)
    cache.store("c", renew_leases(20))
    assert (len(cache), cache.nbytes) == (2, 200)
    cache.store("d", renew_leases(10))
    assert (len(cache), cache.nbytes) == (1, 80)
    cache.store("e", renew_leases(26))
    assert len(cache) == 1
    cache.clear()
    assert (len(cache), cache.nbytes) == (0, 0)
