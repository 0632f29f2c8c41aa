"""Who says an utterance, as text before it: an option of rendering without a chat template.

    <bos> A: I have a cat. <eou> B: What is her name? <eou> A:          the model writes what A says next

Marks go by who spoke first, whatever the speakers are called: A for the first, B for the second … They do not depend on
who replies, so that replies of both speakers share what is encoded of their context. Without marks nobody is named, as
in the paper, and a model cannot tell one speaker's two utterances from an exchange.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase

from generation.protocol import BackendError

# Beside the weights; without it a model has no marks.
RENDERING_FILE = "rendering.json"


def speaker_marks(speakers: Sequence[str]) -> list[str]:
    """A mark for every utterance. speakers: of all utterances of the dialogue, oldest first, and of the reply."""
    letters: dict[str, str] = {}
    for speaker in speakers:
        letters.setdefault(speaker, ascii_uppercase[len(letters) % len(ascii_uppercase)])
    return [f"{letters[speaker]}:" for speaker in speakers]


def write_rendering(folder: Path, *, marks: bool) -> None:
    """Store in a model's folder how it was trained to read dialogues. Raises OSError."""
    if marks:
        text = json.dumps({"speaker_marks": True}) + "\n"
        (folder / RENDERING_FILE).write_text(text, encoding="utf-8")


def read_rendering(folder: Path) -> bool:
    """Whether the model in this folder was trained with speaker marks. Raises BackendError for a broken file."""
    path = folder / RENDERING_FILE
    if not path.exists():
        return False
    try:
        marks = json.loads(path.read_text(encoding="utf-8"))["speaker_marks"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _broken(path) from error
    if not isinstance(marks, bool):
        raise _broken(path)
    return marks


def _broken(path: Path) -> BackendError:
    return BackendError(
        f"{path} does not say whether the model reads speaker marks.",
        "Copy the whole folder again from where it was trained.",
    )
