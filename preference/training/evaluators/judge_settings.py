"""The settings of a judge in a specification: server, questions, limits."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from preference.training.common.errors import TrainingError
from preference.training.common.judging.questions import (
    DEFAULT_QUESTION,
    LANGUAGES,
    JudgeQuestion,
    read_questions,
)
from preference.training.common.judging.server import JudgeServer
from preference.training.common.messages import gettext as _
from preference.training.evaluators.specification import Specification

JUDGE_SETTINGS = (
    "model", "questions", "only", "options", "language", "steps", "key_env", "parallel", "timeout", "retries",
    "max_tokens",
)  # fmt: skip


def judge_server(specification: Specification) -> JudgeServer:
    """Raises TrainingError."""
    address = specification.required(_("the address of an OpenAI-compatible server"))
    model = specification.text_setting("model")
    if not model:
        raise TrainingError(
            _("%(specification)s: the judge needs a model.") % {"specification": specification.text},
            _("Add model=NAME, as the server calls it."),
        )
    return JudgeServer(
        address,
        model,
        key_name=specification.text_setting("key_env", "OPENAI_API_KEY"),
        parallel=specification.number("parallel", 8),
        timeout=specification.number("timeout", 60),
        retries=specification.number("retries", 2, low=0),
        max_tokens=specification.number("max_tokens", 0, low=0),
    )


def judge_questions(specification: Specification) -> list[JudgeQuestion]:
    """The chosen questions of the file, or the default one; with the chosen options. Raises TrainingError."""
    language = judge_language(specification)
    file = specification.text_setting("questions")
    keys = _list_setting(specification, "only")
    questions = read_questions(Path(file), language, keys) if file else [DEFAULT_QUESTION[language]]
    options = _list_setting(specification, "options")
    return [_with_options(question, options) for question in questions] if options else questions


def judge_language(specification: Specification) -> str:
    """en or zh. Raises TrainingError."""
    return specification.choice("language", LANGUAGES)


def ask_in_steps(specification: Specification) -> bool:
    """Whether the judge writes down its steps first. Raises TrainingError."""
    return specification.choice("steps", ("no", "yes")) == "yes"


def _list_setting(specification: Specification, key: str) -> list[str]:
    """Values joined by "+"."""
    return [value for value in specification.text_setting(key).split("+") if value]


def _with_options(question: JudgeQuestion, values: Collection[str]) -> JudgeQuestion:
    """The question with these options only. Raises TrainingError unless at least two of them are left."""
    options = tuple(option for option in question.options if str(option.value) in values)
    if len(options) < 2:
        raise TrainingError(
            _("The question %(key)s has fewer than two of the options %(values)s.")
            % {"key": question.key, "values": ", ".join(values)},
            _("Name its options as options=1+2, or leave the setting out."),
        )
    return replace(question, options=options)
