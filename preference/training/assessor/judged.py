"""A judge in the table: a language model behind an OpenAI-compatible server labels the test dialogues.

It is asked the question of a labelling schema, with its guideline, once directly and once to reason first (the rows
ChatGPT and ChatGPT + CoT of Table 3). Options that are not classes of the task, such as "-1, private data", are not
offered. Answers are kept in a file, so that a resumed run asks only for those that are missing:

    {"id": "d7", "prediction": 2, "tokens": {"prompt": 412, "completion": 8}}
    {"id": "d8", "prediction": null, "reason": "The judge chose none of the options, twice: …", "tokens": …}
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from preference.training.assessor.data import LabelledDialogue
from preference.training.assessor.input_text import sides
from preference.training.assessor.task import PredictionTask
from preference.training.common.command import TrainingSession
from preference.training.common.disk import report_unwritable
from preference.training.common.errors import TrainingError
from preference.training.common.judging.prompts import JudgePrompt
from preference.training.common.judging.questions import JudgeQuestion, read_questions
from preference.training.common.judging.server import JudgeAnswer, JudgeServer
from preference.training.common.messages import gettext as _
from preference.training.common.progress import read_lines

ROWS = {"judge": False, "judge_steps": True}  # name in the table: whether the judge reasons first
BATCH = 32  # dialogues between two looks at a stop request


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """url: with "/v1". questions: file of a labelling schema. language: en or zh. key_name: environment variable."""

    url: str
    model: str
    questions: Path
    language: str = "en"
    key_name: str = "OPENAI_API_KEY"


class Judge:
    """Asks about dialogues and keeps the answers in `folder`."""

    def __init__(
        self, options: JudgeOptions, task: PredictionTask, session: TrainingSession, folder: Path
    ) -> None:
        """Raises TrainingError for a wrong address, or if no question offers all classes."""
        self._server = JudgeServer(options.url, options.model, key_name=options.key_name)
        self._question = find_question(options, task)
        self._session, self._folder = session, folder

    def predict(self, name: str, dialogues: Sequence[LabelledDialogue]) -> Path:
        """Ask about every dialogue that has no answer yet. Returns the file of predictions.

        name: one of ROWS. Raises TrainingError if the server answers none of several questions.
        """
        file = self._folder / f"{name}-{self._version(name)}.jsonl"
        rows = read_lines(file)
        known = {row["id"] for row in rows}
        missing = [dialogue for dialogue in dialogues if dialogue.id not in known]
        with report_unwritable(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            # Written again first, because a kill may have cut the last line short.
            file.write_text("".join(map(_line, rows)), encoding="utf-8")
            with file.open("a", encoding="utf-8") as opened:
                for start in range(0, len(missing), BATCH):
                    self._session.stop.check()
                    opened.writelines(map(_line, self._ask(name, missing[start : start + BATCH])))
                    opened.flush()
                    self._session.progress.say(f"{name} {len(known) + start} of {len(dialogues)}")
        return file

    def _ask(self, name: str, dialogues: Sequence[LabelledDialogue]) -> list[dict[str, Any]]:
        """Raises TrainingError if the server fails for all of them: it is down, or refuses the key."""
        answers = self._server.ask(
            [JudgePrompt(self._question, _lines_of(dialogue), in_steps=ROWS[name]) for dialogue in dialogues]
        )
        if all(answer.failed for answer in answers):
            raise TrainingError(answers[0].reason, answers[0].remedy)
        # What the server failed at is not kept: a resumed run asks again.
        return [
            _row(dialogue, answer)
            for dialogue, answer in zip(dialogues, answers, strict=True)
            if not answer.failed
        ]

    def _version(self, name: str) -> str:
        """Of everything that decides the answers."""
        asked = {**self._server.describe(), "question": asdict(self._question), "in_steps": ROWS[name]}
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def find_question(options: JudgeOptions, task: PredictionTask) -> JudgeQuestion:
    """The first question about whole dialogues that offers every class, with no other options."""
    for question in read_questions(options.questions, options.language):
        offered = tuple(option for option in question.options if option.value in task.classes)
        if question.about == "dialogue" and len(offered) == len(task.classes):
            return dataclasses.replace(question, options=offered)
    raise TrainingError(
        _("No question in %(file)s offers the classes %(classes)s.")
        % {"file": options.questions, "classes": ", ".join(map(str, task.classes))},
        _("Name the labelling schema that the labels were made with."),
    )


def _lines_of(dialogue: LabelledDialogue) -> tuple[str, ...]:
    """The utterances with their sides, as the trained models read them."""
    return tuple(
        f"{side}: {turn.content}" for side, turn in zip(sides(dialogue.turns), dialogue.turns, strict=True)
    )


def _row(dialogue: LabelledDialogue, answer: JudgeAnswer) -> dict[str, Any]:
    tokens = {"prompt": answer.prompt_tokens, "completion": answer.completion_tokens}
    reason = {"reason": answer.reason} if answer.value is None else {}
    return {"id": dialogue.id, "prediction": answer.value, **reason, "tokens": tokens}


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
