"""Who says an utterance, as text before it: an option of rendering without a chat template.

    <bos> A: I have a cat. <eou> B: What is her name? <eou> A:          the model writes what A says next

Marks go by who spoke first, whatever the speakers are called: A for the first, B for the second … They do not depend on
who replies, so that replies of both speakers share what is encoded of their context. Without marks nobody is named, as
in the paper, and a model cannot tell one speaker's two utterances from an exchange.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase


def speaker_marks(speakers: Sequence[str]) -> list[str]:
    """A mark for every utterance. speakers: of all utterances of the dialogue, oldest first, and of the reply."""
    letters: dict[str, str] = {}
    for speaker in speakers:
        letters.setdefault(speaker, ascii_uppercase[len(letters) % len(ascii_uppercase)])
    return [f"{letters[speaker]}:" for speaker in speakers]
