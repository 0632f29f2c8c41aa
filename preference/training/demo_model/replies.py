"""Printing replies of the demo model for people to judge: to held-out openings, and in whole dialogues."""

from pathlib import Path

from generation.backends.hf import HFBackend
from generation.demo_model.corpus import LANGUAGES, heldout_openings
from generation.protocol import Message, ReplyRequest

REPLIES, ROUNDS, DIALOGUES = 7, 7, 5


def replies(backend: HFBackend, context: list[str], *, seed: int, count: int = REPLIES) -> list[str]:
    """`count` different replies to `context`, oldest utterance first, with the product's default sampling."""
    messages = tuple(Message("AB"[at % 2], text) for at, text in enumerate(context))
    speaker = "AB"[len(context) % 2]
    (answer,) = backend.generate([ReplyRequest(f"shown {seed}", messages, speaker, seed=seed, count=count)])
    if isinstance(answer, Exception):
        raise answer
    return [reply.text for reply in answer.replies]


def show_openings(folder: Path) -> None:
    """Print seven replies to each held-out opening. The seeds are fixed, so that a judgement can be checked.

    The openings were written before the corpus and never occur in it; MODEL_CARD.md reports how they were judged.
    """
    backend = HFBackend(str(folder))
    for seed, (language, where, opening) in enumerate(heldout_openings()):
        print(f"\n[{language} {where}] {opening}")
        for reply in replies(backend, [opening], seed=seed):
            print(f"    {reply}")


def dialogue(backend: HFBackend, opening: str, rounds: int = ROUNDS) -> list[str]:
    """A dialogue of `rounds` rounds. The model writes everything after the opening: one draw each, nothing selected."""
    turns = [opening]
    while len(turns) < 2 * rounds:
        turns += replies(backend, turns, seed=len(turns), count=1)
    return turns


def show_dialogues(folder: Path) -> None:
    """Print five dialogues of seven rounds in each language, from every fourth held-out opening."""
    backend = HFBackend(str(folder), max_utterances=1)  # as it is served: see GENERATION_UTTERANCES
    for language in LANGUAGES:
        openings = [text for code, _, text in heldout_openings() if code == language]
        for opening in openings[::4][:DIALOGUES]:
            print(f"\n[{language}]")
            for at, text in enumerate(dialogue(backend, opening)):
                print(f"    {'AB'[at % 2]}: {text}")
