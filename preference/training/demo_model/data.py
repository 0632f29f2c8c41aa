"""Tokenizer and training batches of the demo model. The corpus is generated during training and never stored.

A chunk of the corpus is 2,000 dialogues from a seed of its own. The model sees new text all the time instead of several
epochs of the same, and a run that continues after a chunk sees the text that it would have seen without the break.
"""

import multiprocessing
import os
import random
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from generation.demo_model.corpus import LANGUAGES, write_corpus, write_labelled_corpus
from generation.demo_model.corpus.general import KINDS, OTHER
from generation.demo_model.corpus.written import exchanges

PAD, BOS, EOU = "<pad>", "<bos>", "<eou>"
IGNORED = -100  # the label that torch's cross_entropy skips by default
DIALOGUES_PER_CHUNK = 2000
LEFT_OUT = 0.12  # share of the tokens of a thinned utterance
TOKENIZER_DIALOGUES = 20_000


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """inputs, labels: (rows, length), padded on the right; labels are IGNORED where nothing is learned.

    kinds: (rows,), of the openings, as places in `KINDS`; IGNORED for openings without one. tokens: without padding.
    """

    inputs: torch.Tensor
    labels: torch.Tensor
    kinds: torch.Tensor
    tokens: int


def texts(seed: int, dialogues: int, *, short: bool = False, written: float = 0.0) -> list[list[str]]:
    """The utterances of each of `dialogues` dialogues of the corpus, the two languages alternating."""
    corpus = write_corpus(seed, dialogues, short=short, written=written)
    return [[text for _, text in dialogue] for _, dialogue in corpus]


def train_tokenizer(seed: int, vocabulary: int, *, written: float = 0.0) -> PreTrainedTokenizerFast:
    """Byte-level BPE with `vocabulary` entries; every Chinese character is a pre-token, so that no merge crosses it.

    Byte-level: any text can be encoded, without an unknown token. The cut between characters spends the vocabulary on
    characters and English words instead of frequent Chinese phrases.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{Han}"), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[PAD, BOS, EOU],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    sample = (text for dialogue in texts(seed, TOKENIZER_DIALOGUES, written=written) for text in dialogue)
    tokenizer.train_from_iterator(sample, trainer)
    wrap: Any = PreTrainedTokenizerFast
    wrapped: PreTrainedTokenizerFast = wrap(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOU,
        model_max_length=512,
        clean_up_tokenization_spaces=False,
    )
    return wrapped


def encode(dialogue: list[str], tokenizer: PreTrainedTokenizerFast) -> list[int]:
    """`<bos> u1 <eou> u2 <eou> …` as token ids, cut on the right to the longest row that the model takes."""
    rows = [tokenizer.encode(text, add_special_tokens=False) for text in dialogue]
    ids = [tokenizer.bos_token_id, *(token for row in rows for token in [*row, tokenizer.eos_token_id])]
    return ids[: tokenizer.model_max_length]


@dataclass(frozen=True, slots=True)
class Row:
    """A dialogue as token ids, and the kind of its opening."""

    ids: list[int]
    kind: str = OTHER


def pad(rows: list[Row], tokenizer: PreTrainedTokenizerFast, *, replies_only: bool = False) -> TokenBatch:
    """One batch of rows of about equal length, padded on the right. replies_only: the openings get no labels.

    The label of a column is its own token: the shift by one between states and targets is made in `Run.step`. <bos> is
    never a target.
    """
    width = max(len(row.ids) for row in rows)
    inputs = torch.full((len(rows), width), tokenizer.pad_token_id)
    labels = torch.full((len(rows), width), IGNORED)
    for at, row in enumerate(rows):
        ids = row.ids
        inputs[at, : len(ids)] = torch.tensor(ids)
        first = ids.index(tokenizer.eos_token_id) + 1 if replies_only else 1
        labels[at, first : len(ids)] = torch.tensor(ids[first:])
    kinds = torch.tensor([KINDS.index(row.kind) if row.kind in KINDS else IGNORED for row in rows])
    return TokenBatch(inputs, labels, kinds, sum(len(row.ids) for row in rows))


def batches(
    seed: int,
    chunk: int,
    tokenizer: PreTrainedTokenizerFast,
    budget: int,
    *,
    first_replies: bool = False,
    written: float = 0.0,
    thinned: float = 0.0,
) -> Iterator[TokenBatch]:
    """Batches of one chunk of the corpus, in random order, each of at most `budget` tokens with padding.

    first_replies: mostly short dialogues, without labels on the openings. First replies are the hardest part, and get
    the most practice this way. written: the share of dialogues written by hand. thinned: of rows whose first utterance
    loses some tokens, so that replies do not hang on single words.
    """
    chunk_seed = seed * 100_000 + chunk
    dialogues = write_labelled_corpus(chunk_seed, DIALOGUES_PER_CHUNK, short=first_replies, written=written)
    rng = random.Random(chunk_seed)
    rows: list[Row] = []
    for dialogue in dialogues:
        ids = encode([text for _, text in dialogue.turns], tokenizer)
        thins = thinned and rng.random() < thinned
        rows.append(Row(thin_out(ids, tokenizer, rng) if thins else ids, dialogue.kind))
    rows.sort(key=_length)
    groups = groups_within(rows, budget)
    rng.shuffle(groups)
    for group in groups:
        yield pad(group, tokenizer, replies_only=first_replies)


def thin_out(ids: list[int], tokenizer: PreTrainedTokenizerFast, rng: random.Random) -> list[int]:
    """The row without about LEFT_OUT of the tokens of its first utterance."""
    end = ids.index(tokenizer.eos_token_id) if tokenizer.eos_token_id in ids else len(ids)
    kept = [token for token in ids[1:end] if rng.random() >= LEFT_OUT]
    return [ids[0], *kept, *ids[end:]]


def _length(row: Row) -> int:
    return len(row.ids)


def groups_within(rows: list[Row], budget: int) -> list[list[Row]]:
    """Rows that were sorted by length, in groups of at most `budget` tokens with padding."""
    groups: list[list[Row]] = [[]]
    for row in rows:
        # This one is the longest of its group.
        if groups[-1] and (len(groups[-1]) + 1) * len(row.ids) > budget:
            groups.append([])
        groups[-1].append(row)
    return groups


def validation_batches(tokenizer: PreTrainedTokenizerFast, budget: int) -> list[TokenBatch]:
    """Every reply to the openings that training never sees, with labels on the replies only."""
    rows = [
        Row(encode([exchange.opening, reply], tokenizer), exchange.kind)
        for language in LANGUAGES
        for exchange in exchanges(language)
        if exchange.is_for_validation
        for reply in exchange.replies
    ]
    rows.sort(key=_length)
    return [pad(group, tokenizer, replies_only=True) for group in groups_within(rows, budget)]


@contextmanager
def chunks_ahead(
    make: Callable[[int], list[TokenBatch]], first: int, workers: int
) -> Iterator[Iterator[list[TokenBatch]]]:
    """The batches of chunk `first`, of the next, and so on without end, each made by `make` from its number.

    A GPU learns faster than one process writes text: with workers, so many processes write chunks ahead, in the same
    order and with the same contents.
    """
    if not workers:
        yield map(make, count(first))
        return
    # A process with CUDA cannot be forked.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_worker, initargs=(make,)
    ) as pool:
        try:
            yield _in_order(pool, first, 2 * workers)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _in_order(pool: ProcessPoolExecutor, first: int, ahead: int) -> Iterator[list[TokenBatch]]:
    numbers = count(first)
    waiting: deque[Future[list[TokenBatch]]] = deque()
    while True:
        while len(waiting) < ahead:
            waiting.append(pool.submit(_make_in_worker, next(numbers)))
        yield waiting.popleft().result()


# Of a worker: what makes a chunk. It has the tokenizer, which is too large to be sent with every number.
_make: list[Callable[[int], list[TokenBatch]]] = []


def _start_worker(make: Callable[[int], list[TokenBatch]]) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    torch.set_num_threads(1)
    _make.append(make)


def _make_in_worker(chunk: int) -> list[TokenBatch]:
    return _make[0](chunk)
