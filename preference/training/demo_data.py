"""Tokenizer and training batches of the demo model. The corpus is generated while training, never stored."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from generation.demo_model.corpus import write_corpus

PAD, BOS, EOU = "<pad>", "<bos>", "<eou>"
IGNORED = -100
DIALOGUES_PER_CHUNK = 2000


@dataclass(frozen=True, slots=True)
class Batch:
    """Token ids and labels of shape (rows, length), right-padded; pads and the opening have label -100."""

    inputs: torch.Tensor
    labels: torch.Tensor
    tokens: int


def texts(seed: int, dialogues: int) -> list[list[str]]:
    """Utterances of `dialogues` dialogues, both languages in turn."""
    return [[text for _, text in dialogue] for _, dialogue in write_corpus(seed, dialogues)]


def train_tokenizer(seed: int, vocabulary: int) -> PreTrainedTokenizerFast:
    """Byte-level BPE in which every Chinese character is a pre-token of its own."""
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
    sample = (text for dialogue in texts(seed, 20_000) for text in dialogue)
    tokenizer.train_from_iterator(sample, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOU,
        model_max_length=512,
        clean_up_tokenization_spaces=False,
    )


def encode(dialogue: list[str], tokenizer: PreTrainedTokenizerFast) -> tuple[list[int], int]:
    """(<bos> u1 <eou> u2 <eou> ..., length of the part up to the opening's <eou>)."""
    rows = [tokenizer.encode(text, add_special_tokens=False) for text in dialogue]
    ids = [tokenizer.bos_token_id]
    for row in rows:
        ids += [*row, tokenizer.eos_token_id]
    return ids[: tokenizer.model_max_length], len(rows[0]) + 2


def pad(rows: list[tuple[list[int], int]], filler: int) -> Batch:
    """Right-pads rows of about equal length."""
    width = max(len(ids) for ids, _ in rows)
    inputs = torch.full((len(rows), width), filler)
    labels = torch.full((len(rows), width), IGNORED)
    for at, (ids, opening) in enumerate(rows):
        inputs[at, : len(ids)] = torch.tensor(ids)
        labels[at, opening : len(ids)] = torch.tensor(ids[opening:])
    return Batch(inputs, labels, sum(len(ids) for ids, _ in rows))


def batches(seed: int, chunk: int, tokenizer: PreTrainedTokenizerFast, budget: int) -> Iterator[Batch]:
    """Batches of at most `budget` padded tokens of one chunk of the corpus, in random order."""
    chunk_seed = seed * 100_000 + chunk
    rows = [encode(dialogue, tokenizer) for dialogue in texts(chunk_seed, DIALOGUES_PER_CHUNK)]
    rows.sort(key=lambda row: len(row[0]))
    groups: list[list[tuple[list[int], int]]] = [[]]
    for row in rows:
        # Rows come in order of length, so the newest is the widest.
        if (len(groups[-1]) + 1) * len(row[0]) > budget:
            groups.append([])
        groups[-1].append(row)
    random.Random(chunk_seed).shuffle(groups)
    for group in groups:
        yield pad(group, tokenizer.pad_token_id)
