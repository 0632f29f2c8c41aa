"""Prints what the demo model says, for people to judge: replies to the held-out openings, and whole dialogues."""

from pathlib import Path

from generation.backends.hf import HFBackend
from generation.demo_model.corpus import LANGUAGES, heldout_openings
from generation.protocol import Message, ReplyRequest

REPLIES, ROUNDS, DIALOGUES = 7, 7, 5


def replies(backend: HFBackend, context: list[str], *, seed: int, count: int = REPLIES) -> list[str]:
    """Different replies to `context` (oldest first), drawn as the product draws them by default."""
    messages = tuple(Message("AB"[at % 2], text) for at, text in enumerate(context))
    speaker = "AB"[len(context) % 2]
    (answer,) = backend.generate([ReplyRequest(f"shown {seed}", messages, speaker, seed=seed, count=count)])
    if isinstance(answer, Exception):
        raise answer
    return [reply.text for reply in answer.replies]


def show_openings(folder: Path) -> None:
    """Seven replies to each held-out opening; the seeds are fixed, so that a judgement can be checked."""
    backend = HFBackend(str(folder))
    for seed, (language, where, opening) in enumerate(heldout_openings()):
        print(f"\n[{language} {where}] {opening}")
        for reply in replies(backend, [opening], seed=seed):
            print(f"    {reply}")


def dialogue(backend: HFBackend, opening: str, rounds: int = ROUNDS) -> list[str]:
    """`rounds` rounds; the model writes everything after the opening, first draw, nothing chosen."""
    turns = [opening]
    while len(turns) < 2 * rounds:
        turns += replies(backend, turns, seed=len(turns), count=1)
    return turns


def show_dialogues(folder: Path) -> None:
    """Five dialogues of seven rounds in each language, from every fourth held-out opening."""
    backend = HFBackend(str(folder))
    for language in LANGUAGES:
        openings = [text for tongue, _, text in heldout_openings() if tongue == language]
        for opening in openings[::4][:DIALOGUES]:
            print(f"\n[{language}]")
            for at, text in enumerate(dialogue(backend, opening)):
                print(f"    {'AB'[at % 2]}: {text}")
