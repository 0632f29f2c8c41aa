"""Tokenizer and training batches of the demo model. The corpus is generated during training and never stored.

A chunk of the corpus is 2,000 dialogues from a seed of its own. The model sees new text all the time instead of several
epochs of the same, and a run that continues after a chunk sees the text that it would have seen without the break.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from generation.demo_model.corpus import write_corpus

PAD, BOS, EOU = "<pad>", "<bos>", "<eou>"
IGNORED = -100  # the label that torch's cross_entropy skips by default
DIALOGUES_PER_CHUNK = 2000
TOKENIZER_DIALOGUES = 20_000


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """inputs, labels: (rows, length), padded on the right; labels are IGNORED where nothing is learned.

    tokens: without padding.
    """

    inputs: torch.Tensor
    labels: torch.Tensor
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


def pad(
    rows: list[list[int]], tokenizer: PreTrainedTokenizerFast, *, replies_only: bool = False
) -> TokenBatch:
    """One batch of rows of about equal length, padded on the right. replies_only: the openings get no labels.

    The label of a column is its own token: the shift by one between states and targets is made in `Run.step`. <bos> is
    never a target.
    """
    width = max(len(ids) for ids in rows)
    inputs = torch.full((len(rows), width), tokenizer.pad_token_id)
    labels = torch.full((len(rows), width), IGNORED)
    for at, ids in enumerate(rows):
        inputs[at, : len(ids)] = torch.tensor(ids)
        first = ids.index(tokenizer.eos_token_id) + 1 if replies_only else 1
        labels[at, first : len(ids)] = torch.tensor(ids[first:])
    return TokenBatch(inputs, labels, sum(len(ids) for ids in rows))


def batches(
    seed: int,
    chunk: int,
    tokenizer: PreTrainedTokenizerFast,
    budget: int,
    *,
    first_replies: bool = False,
    written: float = 0.0,
) -> Iterator[TokenBatch]:
    """Batches of one chunk of the corpus, in random order, each of at most `budget` tokens with padding.

    first_replies: mostly short dialogues, without labels on the openings. First replies are the hardest part, and get
    the most practice this way. written: the share of dialogues written by hand.
    """
    chunk_seed = seed * 100_000 + chunk
    dialogues = texts(chunk_seed, DIALOGUES_PER_CHUNK, short=first_replies, written=written)
    rows = [encode(dialogue, tokenizer) for dialogue in dialogues]
    rows.sort(key=len)
    groups: list[list[list[int]]] = [[]]
    for row in rows:
        # Rows are sorted by length, so this one is the longest of its group.
        if (len(groups[-1]) + 1) * len(row) > budget:
            groups.append([])
        groups[-1].append(row)
    random.Random(chunk_seed).shuffle(groups)
    for group in groups:
        yield pad(group, tokenizer, replies_only=first_replies)
