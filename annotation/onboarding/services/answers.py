"""Checking answers that must be complete: those of a try and the right ones of a gold dialogue."""

from collections.abc import Mapping
from typing import Any

from annotation.labelling.models.labels import Schema
from annotation.labelling.schema.answers import Answers, check_answers
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.selectors.workbench import speakers_in
from common.refusals import Invalid

MAX_PROBLEMS = 50


def check_complete_answers(row: Schema, dialogue_id: int, answers: Mapping[str, Any]) -> Answers:
    """The answers with known paths only. Raises Invalid (with `problems`) unless they are complete and valid."""
    checked, problems = check_answers(load_schema(row), answers, speakers_in(dialogue_id), complete=True)
    if problems:
        named = [
            {"path": problem.path, "code": problem.code, "message": problem.message}
            for problem in problems[:MAX_PROBLEMS]
        ]
        raise Invalid(f"{problems[0].path}: {problems[0].message}", field="answers", problems=named)
    return checked
