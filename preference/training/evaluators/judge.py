"""An evaluator that asks a judge (an OpenAI-compatible server) one or more questions about every reply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import ReplyScore, ReplyToScore
from preference.training.common.judging.prompts import JudgePrompt, numbered
from preference.training.common.judging.questions import JudgeQuestion
from preference.training.common.judging.server import JudgeAnswer, JudgeServer
from preference.training.common.messages import gettext as _
from preference.training.evaluators.single import empty_response


class Judge:
    """The score is the answer to the only question, or the mean over several, each from 0 (lowest) to 1 (highest).

    Questions about a dialogue are asked about the history with the reply as its last utterance; questions about an
    utterance are asked about the reply. Questions whose answers are not numbers are asked but not counted. A row's
    `answers` has all answers by question, `label` the one to a single question, and `tokens` what they cost.
    """

    def __init__(
        self, name: str, server: JudgeServer, questions: Sequence[JudgeQuestion], *, in_steps: bool = False
    ) -> None:
        """in_steps: let the judge write down its steps before it answers. Raises TrainingError."""
        self.name = name
        self._server, self._questions, self._in_steps = server, list(questions), in_steps
        if not any(len(question.numbers) > 1 for question in questions):
            raise TrainingError(
                _("No question has numbers as answers, so there is no score."),
                _("Use a question of the kind scale or slider, or a choice with numbers as values."),
            )

    def describe(self) -> dict[str, Any]:
        return {
            "evaluator": "judge",
            **self._server.describe(),
            "in_steps": self._in_steps,
            "questions": [asdict(question) for question in self._questions],
        }

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        """Raises TrainingError if the server answers nothing at all."""
        asked = [reply for reply in replies if reply.response]
        prompts = [self._prompt(reply, question) for reply in asked for question in self._questions]
        answers = self._server.ask(prompts)
        width = len(self._questions)
        scores = {
            reply.id: self._score(reply, answers[place * width : (place + 1) * width])
            for place, reply in enumerate(asked)
        }
        return [empty_response(reply) or scores[reply.id] for reply in replies]

    def _prompt(self, reply: ReplyToScore, question: JudgeQuestion) -> JudgePrompt:
        is_about_reply = question.about == "utterance"
        dialogue = reply.history if is_about_reply else (*reply.history, reply.response)
        return JudgePrompt(
            question,
            numbered(dialogue),
            reply.response if is_about_reply else None,
            facts=reply.knowledge,
            in_steps=self._in_steps,
        )

    def _score(self, reply: ReplyToScore, answers: Sequence[JudgeAnswer]) -> ReplyScore:
        details: dict[str, Any] = {
            "answers": {
                question.key: answer.value for question, answer in zip(self._questions, answers, strict=True)
            },
            "requests": sum(answer.requests for answer in answers),
            "tokens": {
                "prompt": sum(answer.prompt_tokens for answer in answers),
                "completion": sum(answer.completion_tokens for answer in answers),
            },
        }
        if len(answers) == 1 and answers[0].value is not None:
            details["label"] = answers[0].value
        missing = next((answer.reason for answer in answers if answer.value is None), "")
        value = None if missing else self._value(answers)
        reason = missing or (_("The judge's answer is not a number.") if value is None else "")
        return ReplyScore(reply.id, value, reason, details)

    def _value(self, answers: Sequence[JudgeAnswer]) -> float | None:
        if len(answers) == 1:
            return float(answers[0].value) if isinstance(answers[0].value, int) else None
        counted = [
            question.share(answer.value)
            for question, answer in zip(self._questions, answers, strict=True)
            if answer.value is not None and len(question.numbers) > 1
        ]
        shares = [share for share in counted if share is not None]
        return sum(shares) / len(shares) if shares and len(shares) == len(counted) else None
