"""Writes a schema as canonical data, so that equal schemas have equal checksums."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from annotation.labelling.schema.conditions import AllOf, AnyOf, Condition, Includes, Not, OneOf, SpokenBy
from annotation.labelling.schema.questions import (
    COMPARED_BY_DEFAULT,
    MAX_LENGTH,
    WITH_OPTIONS,
    BilingualText,
    Kind,
    Option,
    Question,
    QuestionSchema,
)


def schema_content(schema: QuestionSchema) -> dict[str, Any]:
    """The schema as JSON data: fields in a fixed order, defaults left out."""
    return {"questions": [_question(question) for question in schema.questions]}


def content_sha256(content: Mapping[str, Any]) -> str:
    """The checksum of canonical content. Keys are sorted, because PostgreSQL does not keep their order."""
    text = json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def condition_content(condition: Condition) -> dict[str, Any]:
    """A condition as JSON data."""
    match condition:
        case OneOf(question, values):
            return {"question": question, "in": list(values)}
        case Includes(question, value):
            return {"question": question, "includes": value}
        case SpokenBy(speakers):
            return {"speaker": speakers[0] if len(speakers) == 1 else list(speakers)}
        case AllOf(parts):
            return {"all": [condition_content(part) for part in parts]}
        case AnyOf(parts):
            return {"any": [condition_content(part) for part in parts]}
        case Not(part):
            return {"not": condition_content(part)}


def _question(question: Question) -> dict[str, Any]:
    required = (
        question.required if isinstance(question.required, bool) else condition_content(question.required)
    )
    fields: dict[str, Any] = {
        "key": question.key,
        "scope": question.scope.value,
        "kind": question.kind.value,
        "text": _text(question.text),
        "speakers": list(question.speakers) or None,
        "when": condition_content(question.when) if question.when else None,
        "required": None if required is True else required,
        "sets": [{"when": condition_content(rule.when), "value": rule.value} for rule in question.sets]
        or None,
        "agree": None if question.agree == (question.kind in COMPARED_BY_DEFAULT) else question.agree,
        "runs": question.runs or None,
        "guideline": _text(question.guideline),
    }
    return {name: value for name, value in (fields | _by_kind(question)).items() if value is not None}


def _by_kind(question: Question) -> dict[str, Any]:
    if question.kind in WITH_OPTIONS:
        return {"options": [_option(option) for option in question.options]}
    if question.kind is Kind.TEXT:
        return {"max_length": None if question.max_length == MAX_LENGTH else question.max_length}
    return {
        "low": _text(question.low),
        "high": _text(question.high),
        "min": question.min or None,
        "max": None if question.max == 100 else question.max,
    }


def _option(option: Option) -> dict[str, Any]:
    fields = {
        "value": option.value,
        "text": _text(option.text),
        "key": option.key or None,
        "speakers": list(option.speakers) or None,
        "nugget": option.nugget.value if option.nugget else None,
        "counts_as": option.counts_as,
        "apart": option.apart or None,
        "alone": option.alone or None,
        "guideline": _text(option.guideline),
        "examples": [_text(example) for example in option.examples] or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _text(text: BilingualText | None) -> dict[str, str] | None:
    return {"en": text.en, "zh": text.zh} if text else None
