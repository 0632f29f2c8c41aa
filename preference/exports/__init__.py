"""The shapes in which data leaves: one module per format, chosen by name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dialogues.models import Dialogue
from preference.exports import dialeval, diamante, diqad, judgements, sft
from preference.models import Shape
from preference.selectors.selection import Selection

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """rows: the rows of one page of a selection. version: of the shape, in the manifest. example: one row, as text.

    is_array: the file is one JSON array, not JSON Lines.
    """

    name: str
    description: str | Promise
    version: str
    example: str
    rows: Callable[[Selection, Sequence[Dialogue]], Iterator[Row]]
    is_array: bool = False

    @property
    def extension(self) -> str:
        return "json" if self.is_array else "jsonl"


_ALL = [
    ExportFormat(
        Shape.DIAMANTE.value,
        _("A row a dialogue: every utterance with its candidates as they were displayed, its action and its source. "
          "import_dialogues reads it back."),
        diamante.VERSION,
        '{"id": "…", "split": "train", "review": "passed", "conversation": [{"utterance": "Hello",'
        ' "response_candidates": [], "speaker": "A"}, …]}',
        diamante.rows,
    ),
    ExportFormat(
        Shape.SFT.value,
        _("A row a reply: the conversation before it and the reply, as TRL's SFTTrainer takes them "
          "(conversational prompt and completion)."),
        sft.VERSION,
        '{"prompt": [{"role": "user", "content": "Hello"}],'
        ' "completion": [{"role": "assistant", "content": "Hello, you!"}]}',
        sft.rows,
    ),
    ExportFormat(
        Shape.JUDGEMENTS.value,
        _("A row a judgement: in authoring the action of every turn, undone ones marked, and every expert's verdict; "
          "in labelling every answer of every person; with pseudonyms in the place of names, and the seconds it took."),
        judgements.VERSION,
        '{"dialogue": "…", "annotator": "p3f…", "question": "action", "position": 1, "value": "revise", "source": 4,'
        ' "edit_distance": 3, "status": "live", "active_seconds": 12.4, …}',
        judgements.rows,
    ),
    ExportFormat(
        Shape.DIALEVAL.value,
        _("One JSON array: every helpdesk dialogue with the nuggets and the quality that each annotator gave it. "
          "import_dialogues reads it back."),
        dialeval.VERSION,
        '[{"id": "…", "turns": [{"sender": "customer", "utterances": ["No sound."]}, …], "annotations":'
        ' [{"nugget": ["CNUG0", …], "quality": {"A": 0, "S": -1, "E": 1}}, …]}, …]',
        dialeval.rows,
        is_array=True,
    ),
    ExportFormat(
        Shape.DIQAD.value,
        _("A row a dialogue: its final quality label with reasons, and every judgement under a pseudonym. Private data "
          "(-1, -2) and abandoned dialogues are kept back unless asked for."),
        diqad.VERSION,
        '{"id": "…", "dialogue": [{"role": "user", "content": "…"}, …], "label": 1, "reason": ["incomplete"],'
        ' "origin": "unanimous", "judgements": [{"annotator": "p3f…", "quality": 1, …}, …]}',
        diqad.rows,
    ),
]  # fmt: skip
FORMATS: Mapping[str, ExportFormat] = {each.name: each for each in _ALL}
