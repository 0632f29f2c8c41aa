"""What PairEval learns from: true replies with their histories, and the replies that they are better than.

Read from a snapshot folder or a JSONL file, one dialogue a line in the format `diamante` (see `common.dialogues`), or
one history a line:

    {"id": "7", "history": ["Hi!", "How are you?"], "positives": ["Fine.", "Tired."], "adversarial": ["I am a bike."]}

(optional: id, dialogue_id, split, language, knowledge, adversarial; `response` instead of `positives` for a single
one, with `human` as how a person scored it). DailyDialog++ calls these columns context, positive_responses and
adversarial_negative_responses, which are read as well. In a dialogue every utterance but the opening is a true reply.

Origins of the replies that are worse:

    random        a reply of another dialogue in the same language                     PairEval, section 3.3
    adversarial   written by people to look related without being an answer           PairEval, section 3.3
    unchosen      candidates that were displayed and not chosen                        annotation here
    revised       the candidate that a person revised before sending it                annotation here
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from preference.training.common.dialogues import TrainingDialogue, Turn, read_dialogues
from preference.training.common.errors import TrainingError
from preference.training.common.json_lines import (
    Row,
    name_field,
    read_rows,
    text_field,
    text_list_field,
)
from preference.training.common.languages import guess_language
from preference.training.common.messages import gettext as _
from preference.training.common.output import data_file

RANDOM, ADVERSARIAL, UNCHOSEN, REVISED = "random", "adversarial", "unchosen", "revised"
ORIGINS = (RANDOM, ADVERSARIAL, UNCHOSEN, REVISED)
# Names of DailyDialog++ (Sai et al., 2020).
ALIASES = {
    "history": "context",
    "positives": "positive_responses",
    "adversarial": "adversarial_negative_responses",
}


@dataclass(frozen=True, slots=True)
class Example:
    """One history with its true replies.

    id: of the history. dialogue: random replies come from another one. negatives: by origin, without RANDOM. human: how
    a person scored the true reply, None if unknown.
    """

    id: str
    dialogue: str
    history: tuple[str, ...]
    positives: tuple[str, ...]
    negatives: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    language: str = ""
    split: str = ""
    knowledge: str = ""
    human: float | None = None


def read_examples(path: Path) -> list[Example]:
    """The examples of a snapshot folder or a file, in its order. Raises TrainingError, naming the line."""
    file = data_file(path)
    if _is_of_histories(file):
        examples = [_from_history(row, place) for place, row in read_rows(file)]
    else:
        dialogues = read_dialogues(file, with_candidates=False)
        examples = [example for dialogue in dialogues for example in _from_dialogue(dialogue)]
    found = [example for example in examples if example.positives]
    if not found:
        raise TrainingError(
            _("%(file)s has no reply with a history.") % {"file": file},
            _("Use dialogues of at least two utterances, or rows with `history` and `positives`."),
        )
    return found


def _is_of_histories(file: Path) -> bool:
    """Whether the first row is a history with its replies, not a dialogue or a quadruple."""
    first = next(read_rows(file), None)
    row = first[1] if first else None
    return isinstance(row, dict) and bool({"history", ALIASES["positives"]} & row.keys())


def _from_history(row: Any, place: str) -> Example:
    if not isinstance(row, dict):
        raise TrainingError(
            _("In %(place)s: a row must be a JSON object.") % {"place": place},
            _("Correct or remove the line."),
        )
    positives = _texts(row, "positives", place) or (text_field(row, "response", place),)
    human = row.get("human")
    adversarial = _texts(row, "adversarial", place)
    name = name_field(row, "id") or place
    history = _texts(row, "history", place)
    return Example(
        id=name,
        dialogue=name_field(row, "dialogue_id") or name,
        history=history,
        positives=_different(positives) if history else (),
        negatives={ADVERSARIAL: _different(adversarial, positives)},
        language=text_field(row, "language", place) or guess_language([*history, *positives]),
        split=text_field(row, "split", place),
        knowledge=text_field(row, "knowledge", place),
        human=float(human) if isinstance(human, int | float) else None,
    )


def _texts(row: Row, key: str, place: str) -> tuple[str, ...]:
    """The texts under `key`, or under the name that DailyDialog++ has for it."""
    return tuple(text_list_field(row, key if key in row else ALIASES[key], place))


def _from_dialogue(dialogue: TrainingDialogue) -> Iterator[Example]:
    """An example for every utterance that is not empty and has a history that is not."""
    turns = {turn.position: turn for turn in dialogue.turns}
    for position, reply in enumerate(dialogue.utterances):
        history = tuple(text for text in dialogue.utterances[:position] if text)
        if reply and history:
            yield Example(
                id=f"{dialogue.id}/{position}",
                dialogue=dialogue.id,
                history=history,
                positives=(reply,),
                negatives=_of_turn(turns.get(position)),
                language=dialogue.spoken_language,
                split=dialogue.split,
            )


def _of_turn(turn: Turn | None) -> dict[str, tuple[str, ...]]:
    """What annotators did not send at a turn, by origin; candidates never equal the reply that was sent."""
    if turn is None:
        return {}
    revised = (turn.before_revision,) if turn.before_revision else ()
    return {UNCHOSEN: _different(turn.candidates, revised), REVISED: revised}


def _different(texts: Sequence[str], excluded: Sequence[str] = ()) -> tuple[str, ...]:
    """Texts that are not empty, each once, without the excluded ones; white space makes no difference."""
    seen = {"", *(" ".join(text.split()) for text in excluded)}
    kept = []
    for text in texts:
        key = " ".join(text.split())
        if key not in seen:
            seen.add(key)
            kept.append(text)
    return tuple(kept)
