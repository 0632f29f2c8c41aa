"""Generator of daily chit-chat in English and Chinese; every text in it was written for this project."""

import hashlib
from itertools import islice

from generation.demo_model.corpus.dialogues import Dialogue, Turn, write_dialogues
from generation.demo_model.corpus.reading import HERE, LANGUAGES

__all__ = [
    "HELDOUT",
    "LANGUAGES",
    "Dialogue",
    "Turn",
    "corpus_hash",
    "heldout_openings",
    "write_corpus",
    "write_labelled_corpus",
]
HELDOUT = HERE.parent / "heldout" / "openings.txt"


def heldout_openings() -> list[tuple[str, str, str]]:
    """(language, "inside" or "outside" the covered topics, opening), written before the corpus."""
    lines = HELDOUT.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(language, where, text) for language, where, text in rows]


def write_corpus(
    seed: int, dialogues: int, *, short: bool = False, written: float = 0.0
) -> list[tuple[str, list[Turn]]]:
    """(language, dialogue) pairs, both languages in turn, never with a held-out opening.

    written: the share of dialogues that were written by hand.
    """
    every = write_labelled_corpus(seed, dialogues, short=short, written=written)
    return [(dialogue.language, dialogue.turns) for dialogue in every]


def write_labelled_corpus(
    seed: int, dialogues: int, *, short: bool = False, written: float = 0.0
) -> list[Dialogue]:
    """The same dialogues, with the kind of each opening."""
    heldout = frozenset(text for _, _, text in heldout_openings())
    return list(islice(write_dialogues(seed, heldout, short=short, written=written), dialogues))


def corpus_hash(dialogues: int = 4000, *, written: float = 0.0) -> str:
    """SHA-256 of the first dialogues of seed 1: it names what the generator writes, whatever its code looks like."""
    digest = hashlib.sha256()
    for language, dialogue in write_corpus(1, dialogues, written=written):
        digest.update(f"{language}\t{dialogue}\n".encode())
    return digest.hexdigest()
