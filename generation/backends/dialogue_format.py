"""How a trained model reads a dialogue: written into its folder by training, followed by evaluation and serving."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from generation.protocol import BackendError

# Beside the weights; without it a model reads dialogues plainly.
RENDERING_FILE = "rendering.json"


@dataclass(frozen=True, slots=True)
class DialogueFormat:
    """speaker_marks: every utterance begins with who says it (see `speaker_marks`). chat_template: the tokenizer's
    template decides, and who replies is the assistant. Without either: `<bos>` utterance `<eou>` utterance `<eou>` …
    """

    speaker_marks: bool = False
    chat_template: bool = False


PLAIN = DialogueFormat()


def write_format(folder: Path, dialogue_format: DialogueFormat) -> None:
    """Store the format in a model's folder. Raises OSError."""
    if dialogue_format != PLAIN:
        text = json.dumps(asdict(dialogue_format)) + "\n"
        (folder / RENDERING_FILE).write_text(text, encoding="utf-8")


def read_format(folder: Path) -> DialogueFormat:
    """The format of the model in this folder. Raises BackendError for a broken file."""
    path = folder / RENDERING_FILE
    if not path.exists():
        return PLAIN
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        known = {name: stored[name] for name in asdict(PLAIN) if name in stored}
    except (OSError, ValueError, TypeError) as error:
        raise _broken(path) from error
    if not known or not all(isinstance(value, bool) for value in known.values()):
        raise _broken(path)
    return DialogueFormat(**known)


def _broken(path: Path) -> BackendError:
    return BackendError(
        f"{path} does not say whether the model reads speaker marks or a chat template.",
        "Copy the whole folder again from where it was trained.",
    )
