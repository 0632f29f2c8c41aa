"""Labels of whole dialogues by a judge: answers to one question of a schema, or topics without any training.

    {"id": "d7", "dialogue": [{"role": "question", "content": "…"}, …]}                         a row in
    {"id": "d7", "prediction": 2, "requests": 1, "tokens": {…}}                                 a row out
    {"id": "d8", "prediction": null, "reason": "…", …}                                          without a usable answer

`python -m preference.training.assessor --predictions NAME=FILE` compares such a file with trained assessors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from preference.training.assessor.data import read_unlabelled
from preference.training.common.errors import TrainingError
from preference.training.common.json_lines import Row
from preference.training.common.judging.prompts import JudgePrompt
from preference.training.common.judging.questions import JudgeOption, JudgeQuestion
from preference.training.common.judging.server import JudgeAnswer, JudgeServer
from preference.training.common.messages import gettext as _
from preference.training.evaluators.judge_settings import (
    JUDGE_SETTINGS,
    ask_in_steps,
    judge_language,
    judge_questions,
    judge_server,
)
from preference.training.evaluators.specification import parse_specification
from preference.training.topics.categories import Category

TOPIC = "topic"
TOPIC_QUESTION = {"en": "What is the conversation mainly about?", "zh": "这段对话主要谈的是什么？"}


@dataclass(frozen=True, slots=True)
class DialogueToLabel:
    """lines: the utterances, each after the role of its speaker."""

    id: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DialogueLabel:
    """An answer about a dialogue. column: a second name for the prediction, may be empty."""

    id: str
    answer: JudgeAnswer
    column: str = ""

    def as_row(self) -> Row:
        """The row of the output file."""
        answer = self.answer
        row: Row = {"id": self.id, "prediction": answer.value}
        if self.column:
            row[self.column] = answer.value
        if answer.value is None:
            row["reason"] = answer.reason
        tokens = {"prompt": answer.prompt_tokens, "completion": answer.completion_tokens}
        return {**row, "requests": answer.requests, "tokens": tokens}


@dataclass(frozen=True, slots=True)
class DialogueLabeller:
    """Asks a judge the same question about every dialogue. column: see DialogueLabel."""

    server: JudgeServer
    question: JudgeQuestion
    in_steps: bool = False
    column: str = ""

    def score(self, dialogues: Sequence[DialogueToLabel], /) -> list[DialogueLabel]:
        """One label for each dialogue, in their order. Raises TrainingError if the server answers nothing at all."""
        prompts = [JudgePrompt(self.question, each.lines, in_steps=self.in_steps) for each in dialogues]
        return [
            DialogueLabel(each.id, answer, self.column)
            for each, answer in zip(dialogues, self.server.ask(prompts), strict=True)
        ]

    def describe(self) -> dict[str, Any]:
        """What decides about the labels, as JSON values."""
        return {
            "evaluator": "judge",
            **self.server.describe(),
            "in_steps": self.in_steps,
            "questions": [asdict(self.question)],
        }


def build_labeller(text: str, categories: Sequence[Category] = ()) -> DialogueLabeller:
    """The judge of a specification. categories: asks for the topic among them, instead of a question of a schema.

    Raises TrainingError for another evaluator, and unless exactly one question is chosen.
    """
    specification = parse_specification(text)
    if specification.evaluator != "judge":
        raise TrainingError(
            _("%(specification)s is not a judge.") % {"specification": text},
            _("Write judge=URL,model=NAME."),
        )
    specification.check_settings(JUDGE_SETTINGS)
    server, in_steps = judge_server(specification), ask_in_steps(specification)
    if categories:
        question = topic_question(categories, judge_language(specification))
        return DialogueLabeller(server, question, in_steps, column=TOPIC)
    questions = judge_questions(specification)
    if len(questions) > 1:
        raise TrainingError(
            _("The questions are several: %(names)s.")
            % {"names": ", ".join(question.key for question in questions)},
            _("Choose one with only=KEY."),
        )
    return DialogueLabeller(server, questions[0], in_steps)


def topic_question(categories: Sequence[Category], language: str) -> JudgeQuestion:
    """One option for each category; the answer is its id."""
    options = tuple(JudgeOption(each.id, each.zh if language == "zh" else each.en) for each in categories)
    return JudgeQuestion(TOPIC, "dialogue", TOPIC_QUESTION[language], options=options)


def read_dialogues_to_label(data: Path) -> list[DialogueToLabel]:
    """The dialogues of a file or a snapshot folder. Raises TrainingError with the line for what is wrong."""
    return [
        DialogueToLabel(name, tuple(f"{turn.role}: {turn.content}" for turn in turns))
        for name, turns in read_unlabelled(data).items()
    ]
