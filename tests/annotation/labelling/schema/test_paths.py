"""One answer of a dialogue or of an utterance, by its path."""

from typing import Any

import pytest

from annotation.labelling.schema.answers import Answers
from annotation.labelling.schema.paths import answer_at, set_answer

COMPLETE: Answers = {"dialogue": {"quality": 2}, "utterances": {"3": {"nugget": "CNUG0"}}}


@pytest.mark.parametrize(("path", "answer"), [("quality", 2), ("3/nugget", "CNUG0")])
def test_an_answer_is_found(path: str, answer: object) -> None:
    assert answer_at(COMPLETE, path) == answer


@pytest.mark.parametrize("path", ["reasons", "3/topic", "4/nugget", "3/quality", "nugget"])
def test_an_unanswered_question_is_none(path: str) -> None:
    assert answer_at(COMPLETE, path) is None


@pytest.mark.parametrize("answers", [{}, {"dialogue": {}}, {"utterances": {}}])
@pytest.mark.parametrize("path", ["quality", "3/nugget"])
def test_answers_may_lack_whole_parts(answers: dict[str, Any], path: str) -> None:
    assert answer_at(answers, path) is None


@pytest.mark.parametrize("path", ["quality", "reasons", "3/nugget", "3/topic", "4/nugget"])
def test_an_answer_that_was_set_is_found(path: str) -> None:
    answers: Answers = {"dialogue": {"quality": 2}, "utterances": {"3": {"nugget": "CNUG0"}}}
    set_answer(answers, path, "new")
    assert answer_at(answers, path) == "new"
