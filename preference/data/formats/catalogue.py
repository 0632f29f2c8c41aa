"""The catalogue of export formats, by name; each format is a module beside this one.

Formats for training are made from rows of the format `diamante`, so that a snapshot can make them too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dialogues.models import Dialogue
from preference.data.formats import (
    assessment,
    dialeval,
    diamante,
    diqad,
    judgements,
    pairs,
    quadruples,
    sft,
    study_replies,
)
from preference.data.formats.replies import DrawContext
from preference.data.models.exports import FileType, FormatName
from preference.data.selectors.selection import Selection
from preference.data.selectors.study import StudyAssignment, StudySelection

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """One format. version: of its rows, in the manifest. example: one row, as text.

    rows: the rows of one page of a project; None if they are made from rows of `diamante` only. rows_of: the rows that
    one row of `diamante` makes; None if that lacks what the format needs. is_array: the file is one JSON array, not
    JSON Lines. draws: whether anything in it is drawn at random. study_rows: the rows of one page of a study; None if
    studies do not have the format. is_trl: the rows are conversations with roles, for TRL. opening: the metadata of a
    file that is one JSON object with the rows as its "data".
    """

    name: str
    description: str | Promise
    version: str
    example: str
    rows: Callable[[Selection, Sequence[Dialogue]], Iterator[Row]] | None
    is_array: bool = False
    rows_of: Callable[[Mapping[str, Any], DrawContext], Iterator[Row]] | None = None
    draws: bool = False
    study_rows: Callable[[StudySelection, Sequence[StudyAssignment]], Iterator[Row]] | None = None
    is_trl: bool = False
    opening: Callable[[StudySelection], Row] | None = None

    def extension(self, file_type: str = FileType.JSONL) -> str:
        if file_type == FileType.PARQUET:
            return "parquet"
        return "json" if self.is_array or self.opening else "jsonl"

    def live_rows(
        self, selection: Selection, page: Sequence[Dialogue], draw_context: DrawContext
    ) -> Iterator[Row]:
        """The rows of one page of a project."""
        if self.rows is not None:
            return self.rows(selection, page)
        return self.frozen_rows(diamante.rows(selection, page), draw_context)

    def rows_of_study(self, selection: StudySelection, page: Sequence[StudyAssignment]) -> Iterator[Row]:
        """The rows of one page of a study."""
        if self.study_rows is None:
            raise NotImplementedError(f"{self.name} cannot be made from a study")
        return self.study_rows(selection, page)

    def frozen_rows(self, page: Iterable[Mapping[str, Any]], draw_context: DrawContext) -> Iterator[Row]:
        """The rows of one page of a snapshot."""
        if self.rows_of is None:
            raise NotImplementedError(f"{self.name} cannot be made from a snapshot")
        for row in page:
            yield from self.rows_of(row, draw_context)


_FORMATS = [
    ExportFormat(
        FormatName.ASSESSMENT.value,
        _("One JSON object: every assignment of a run with its ratings, dialogues, topics and opinions, under "
          "pseudonyms. import_dialogues reads it back."),
        assessment.VERSION,
        '{"metadata": {"score": {"fun": {"positive": true, "qc": true, "max": 100}, …}, "model": ["a", "b"],'
        ' "qc-model": "degraded", …}, "data": [{"hit": "", "assignment": "run-1-7", "worker": "p3f…",'
        ' "duration in seconds": 1800.0, "result": [{"model": "a", "score": {"fun": 71, …}, "topic": [{"round": 0,'
        ' "topic": "cats", "attitude": "like"}], "dialogue": [{"speaker": "user", "text": "Hello"}, …]}, …]}, …]}',
        None,
        study_rows=assessment.rows,
        opening=assessment.opening,
    ),
    ExportFormat(
        FormatName.DIAMANTE.value,
        _("One row per dialogue: every utterance with its candidates as they were displayed, its action and its "
          "source. import_dialogues reads it back."),
        diamante.VERSION,
        '{"id": "…", "dialogue_id": "…", "split": "train", "review": "passed", "conversation": [{"utterance": "Hello",'
        ' "response_candidates": [], "speaker": "A"}, …]}',
        diamante.rows,
        rows_of=diamante.rows_of,
    ),
    ExportFormat(
        FormatName.QUADRUPLES.value,
        _("One row per turn: its context, the human reply, a candidate that is unlike it, and a reply of another "
          "dialogue. Both are drawn again for every epoch."),
        quadruples.VERSION,
        '{"context": ["Hello"], "human": "Hello, you!", "model": "What?", "random": "I like tea.",'
        ' "model_version": "demo@1", "action": "rewrite", "dialogue_id": "…", "turn": 1}',
        None,
        rows_of=quadruples.rows_of,
        draws=True,
    ),
    ExportFormat(
        FormatName.SFT.value,
        _("One row per reply: the conversation before it and the reply, as TRL's SFTTrainer takes them "
          "(conversational prompt and completion). Of a study: replies of systems in conversations that people rated "
          "well."),
        sft.VERSION,
        '{"prompt": [{"role": "user", "content": "Hello"}],'
        ' "completion": [{"role": "assistant", "content": "Hello, you!"}]}',
        sft.rows,
        rows_of=sft.rows_of_row,
        study_rows=study_replies.sft_rows,
        is_trl=True,
    ),
    ExportFormat(
        FormatName.PREFERENCE.value,
        _("One row per pair: the reply that was sent, and one that was not: a candidate left aside, the source before "
          "it was edited, or a random reply of another dialogue. Of a study: replies of two systems to the same "
          "context, of which people rated one conversation higher. As TRL's DPOTrainer takes them."),
        pairs.VERSION,
        '{"prompt": [{"role": "user", "content": "Hello"}],'
        ' "chosen": [{"role": "assistant", "content": "Hello, you!"}],'
        ' "rejected": [{"role": "assistant", "content": "Hello!"}], "rejected_origin": "before-edit"}',
        None,
        rows_of=pairs.preference_rows,
        draws=True,
        study_rows=study_replies.preference_rows,
        is_trl=True,
    ),
    ExportFormat(
        FormatName.REWARD.value,
        _("The same pairs, the conversation before the reply inside both, as TRL's RewardTrainer takes them."),
        pairs.VERSION,
        '{"chosen": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello, you!"}],'
        ' "rejected": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "What?"}]}',
        None,
        rows_of=pairs.reward_rows,
        draws=True,
        is_trl=True,
    ),
    ExportFormat(
        FormatName.KTO.value,
        _("One row per reply: true for the one that was sent, false for those that were not, as TRL's KTOTrainer takes "
          "them."),
        pairs.VERSION,
        '{"prompt": [{"role": "user", "content": "Hello"}],'
        ' "completion": [{"role": "assistant", "content": "What?"}], "label": false}',
        None,
        rows_of=pairs.kto_rows,
        draws=True,
        is_trl=True,
    ),
    ExportFormat(
        FormatName.JUDGEMENTS.value,
        _("One row per judgement: in authoring the action of every turn, undone ones marked, and every expert's "
          "verdict; in labelling every answer of every person; in a study every rating and answer of every "
          "participant; with pseudonyms instead of names, and the seconds it took if they are known."),
        judgements.VERSION,
        '{"dialogue": "…", "annotator": "p3f…", "question": "action", "position": 1, "value": "revise", "source": 4,'
        ' "edit_distance": 3, "status": "live", "active_seconds": 12.4, …}',
        judgements.rows,
        study_rows=judgements.study_rows,
    ),
    ExportFormat(
        FormatName.DIALEVAL.value,
        _("One JSON array: every helpdesk dialogue with the nuggets and the quality that each annotator gave it. "
          "import_dialogues reads it back."),
        dialeval.VERSION,
        '[{"id": "…", "turns": [{"sender": "customer", "utterances": ["No sound."]}, …], "annotations":'
        ' [{"nugget": ["CNUG0", …], "quality": {"A": 0, "S": -1, "E": 1}}, …]}, …]',
        dialeval.rows,
        is_array=True,
    ),
    ExportFormat(
        FormatName.DIQAD.value,
        _("One row per dialogue: its final quality label with reasons, and every judgement under a pseudonym. Private "
          "data (-1, -2) and abandoned dialogues are kept back unless asked for."),
        diqad.VERSION,
        '{"id": "…", "dialogue": [{"role": "user", "content": "…"}, …], "label": 1, "reason": ["incomplete"],'
        ' "origin": "unanimous", "judgements": [{"annotator": "p3f…", "quality": 1, …}, …]}',
        diqad.rows,
    ),
]  # fmt: skip
FORMATS: Mapping[str, ExportFormat] = {item.name: item for item in _FORMATS}
