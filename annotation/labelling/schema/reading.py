"""Reads untrusted content as a QuestionSchema and reports all problems at once."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _

from annotation.labelling.schema import checks
from annotation.labelling.schema.conditions import AllOf, AnyOf, Condition, Includes, Not, OneOf, SpokenBy
from annotation.labelling.schema.errors import Path, ProblemCollector
from annotation.labelling.schema.fields import Fields, is_value, read_text, truncate
from annotation.labelling.schema.questions import (
    COMPARED_BY_DEFAULT,
    MAX_LENGTH,
    WITH_OPTIONS,
    ImpliedAnswer,
    Kind,
    Nugget,
    Option,
    Question,
    QuestionSchema,
    Scope,
)
from annotation.labelling.schema.writing import content_sha256, schema_content

MAX_QUESTIONS = 200
MAX_OPTIONS = 100
MAX_EXAMPLES = 20
MAX_RULES = 50  # `sets` of one question
MAX_PARTS = 100  # of one condition
MAX_NESTING = 12  # levels of conditions
MAX_SHORT_TEXT = 2_000  # characters of a question or an option

# Keys become property names of JavaScript objects, which have some already.
RESERVED = "constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString|valueOf"
KEY = re.compile(rf"(?!(?:{RESERVED})$)[A-Za-z][A-Za-z0-9_-]{{0,39}}")
KEYBOARD = re.compile(r"[!-.0-~]")  # one visible ASCII character; "/" opens the browser's search
COMMON_FIELDS = ("key", "scope", "kind", "text", "when", "required", "sets", "agree", "guideline")
FIELDS_BY_SCOPE = {Scope.UTTERANCE: ("speakers", "runs"), Scope.DIALOGUE: ()}
FIELDS_BY_KIND = {
    Kind.SLIDER: ("low", "high", "min", "max"),
    Kind.TEXT: ("max_length",),
    **dict.fromkeys(WITH_OPTIONS, ("options",)),
}
OPTION_FIELDS = (
    *("value", "text", "key", "speakers", "nugget", "counts_as", "apart", "alone"),
    *("guideline", "examples"),
)


def read_schema(content: Mapping[str, Any]) -> QuestionSchema:
    """Read a schema from JSON content. Raises InvalidSchema with every problem, without line numbers."""
    return read_content(content, ProblemCollector())


def read_content(content: Any, problems: ProblemCollector) -> QuestionSchema:
    """Like `read_schema`. problems: may know the lines of the text that the content came from."""
    fields = Fields(content, (), problems, ("questions",))
    rows = fields.items("questions", MAX_QUESTIONS)
    if not rows and not problems.found:
        fields.add_missing("questions", _("List at least one question under “questions:”."))
    read_rows = [_read_question(row, ("questions", n), problems) for n, row in enumerate(rows)]
    problems.raise_if_any()
    questions = tuple(question for question in read_rows if question)
    checks.check(questions, problems)
    problems.raise_if_any()
    return _with_content(questions)


def _with_content(questions: tuple[Question, ...]) -> QuestionSchema:
    schema = QuestionSchema(questions)
    content = schema_content(schema)
    return replace(schema, content=content, sha256=content_sha256(content))


def _read_question(raw: Any, path: Path, problems: ProblemCollector) -> Question | None:
    before = len(problems.found)
    named = raw if isinstance(raw, Mapping) else {}
    scope = _enum_value(Scope, named.get("scope"))
    kind = _enum_value(Kind, named.get("kind"))
    allowed = (
        *COMMON_FIELDS,
        *FIELDS_BY_SCOPE.get(scope, FIELDS_BY_SCOPE[Scope.UTTERANCE]),
        *_kind_fields(kind),
    )
    fields = Fields(raw, path, problems, allowed)
    if fields.raw is not raw:
        return None
    key = fields.word("key", KEY, _("Use letters, digits, - and _, and begin with a letter."))
    scope, kind = fields.enum_member("scope", Scope), fields.enum_member("kind", Kind)
    text = fields.text("text", most=MAX_SHORT_TEXT)
    others = _read_other_fields(fields, kind)
    if len(problems.found) > before or not (scope and kind and text):
        return None
    return Question(key=key, scope=scope, kind=kind, text=text, **others)


def _kind_fields(kind: Kind | None) -> tuple[str, ...]:
    every = tuple(dict.fromkeys(name for names in FIELDS_BY_KIND.values() for name in names))
    return FIELDS_BY_KIND.get(kind, every) if kind else every


def _enum_value(kinds: Any, value: Any) -> Any:
    return kinds(value) if isinstance(value, str) and value in list(kinds) else None


def _read_other_fields(fields: Fields, kind: Kind | None) -> dict[str, Any]:
    return {
        "options": _read_options(fields, kind) if kind in WITH_OPTIONS else (),
        "when": _read_optional_condition(fields, "when"),
        "required": _read_required(fields),
        "speakers": fields.speakers(),
        "sets": tuple(_read_rules(fields)),
        "agree": fields.flag("agree", kind in COMPARED_BY_DEFAULT),
        "runs": fields.flag("runs", False),
        "low": fields.text("low", required=False, most=MAX_SHORT_TEXT),
        "high": fields.text("high", required=False, most=MAX_SHORT_TEXT),
        "min": fields.number("min", 0, -10_000, 10_000),
        "max": fields.number("max", 100, -10_000, 10_000),
        "max_length": fields.number("max_length", MAX_LENGTH, 1, MAX_LENGTH),
        "guideline": fields.text("guideline", required=False),
    }


def _read_required(fields: Fields) -> bool | Condition:
    if isinstance(fields.raw.get("required"), Mapping):
        return _read_optional_condition(fields, "required") or True
    return fields.flag("required", True)


def _read_options(fields: Fields, kind: Kind | None) -> tuple[Option, ...]:
    rows = fields.items("options", MAX_OPTIONS)
    if not rows:
        fields.add_missing("options", _("List the options that people choose from."))
    path = (*fields.path, "options")
    options = [_read_option(row, (*path, n), fields.problems, kind) for n, row in enumerate(rows)]
    numbered = [(n, option) for n, option in enumerate(options) if option]
    _refuse_duplicate_options(fields.problems, path, numbered)
    _refuse_unknown_counts_as(fields.problems, path, numbered)
    return tuple(option for option in options if option)


def _refuse_duplicate_options(
    problems: ProblemCollector, path: Path, options: list[tuple[int, Option]]
) -> None:
    for place, (n, option) in enumerate(options):
        earlier_options = [earlier for _n, earlier in options[:place]]
        # Nobody who reads an export could tell 1 from "1".
        if any(str(earlier.value) == str(option.value) for earlier in earlier_options):
            _add_duplicate(problems, (*path, n, "value"), str(option.value))
        same_key = [earlier for earlier in earlier_options if earlier.key.lower() == option.key.lower()]
        if option.key and any(_may_meet(earlier, option) for earlier in same_key):
            _add_duplicate(problems, (*path, n, "key"), option.key)


def _refuse_unknown_counts_as(
    problems: ProblemCollector, path: Path, options: list[tuple[int, Option]]
) -> None:
    values = {option.value for _n, option in options}
    for n, option in options:
        if option.counts_as is not None and option.counts_as not in values:
            message = _("There is no option “%(value)s” to count as.") % {"value": truncate(option.counts_as)}
            problems.add(
                (*path, n, "counts_as"), message, _("Name the value of another option of this question.")
            )


def _may_meet(a: Option, b: Option) -> bool:
    """Whether both can be offered for the same utterance."""
    return not a.speakers or not b.speakers or bool({*a.speakers} & {*b.speakers})


def _add_duplicate(problems: ProblemCollector, path: Path, value: str) -> None:
    message = _("“%(value)s” appears twice.") % {"value": truncate(value)}
    problems.add(path, message, _("Give every option a different one."))


def _read_option(raw: Any, path: Path, problems: ProblemCollector, kind: Kind | None) -> Option | None:
    fields = Fields(raw, path, problems, OPTION_FIELDS)
    if fields.raw is not raw:
        return None
    value, text = _read_value(fields, "value"), fields.text("text", most=MAX_SHORT_TEXT)
    if kind is Kind.SCALE and isinstance(value, str):
        fields.add_problem(
            "value",
            _("The options of a scale must be whole numbers."),
            _("Use numbers, or the kind “choice”."),
        )
    key, others = _read_keyboard_key(fields), _read_other_option_fields(fields)
    return Option(value=value, text=text, key=key, **others) if value is not None and text else None


def _read_keyboard_key(fields: Fields) -> str:
    if not fields.has("key"):
        return ""
    raw = fields.raw["key"]
    key = str(raw) if type(raw) is int else raw
    if isinstance(key, str) and KEYBOARD.fullmatch(key):
        return key
    fields.add_problem(
        "key", _("“%(value)s” is not a key.") % {"value": truncate(raw)}, _("Use one character.")
    )
    return ""


def _read_other_option_fields(fields: Fields) -> dict[str, Any]:
    return {
        "speakers": fields.speakers(),
        "nugget": fields.enum_member("nugget", Nugget) if fields.has("nugget") else None,
        "counts_as": _read_value(fields, "counts_as") if fields.has("counts_as") else None,
        "apart": fields.flag("apart", False),
        "alone": fields.flag("alone", False),
        "guideline": fields.text("guideline", required=False),
        "examples": tuple(_read_examples(fields)),
    }


def _read_examples(fields: Fields) -> Any:
    for n, row in enumerate(fields.items("examples", MAX_EXAMPLES)):
        if text := read_text(row, (*fields.path, "examples", n), fields.problems):
            yield text


def _read_value(fields: Fields, name: str) -> int | str | None:
    value = fields.raw.get(name)
    if value is None:
        fields.add_missing(name, _("Write a whole number or a word: this is what is stored."))
    elif not is_value(value):
        fields.add_problem(
            name,
            _("“%(value)s” cannot be stored.") % {"value": truncate(value)},
            _("Write a whole number, or a word of at most 100 characters in quotation marks."),
        )
    else:
        return value  # type: ignore[no-any-return]
    return None


def _read_rules(fields: Fields) -> Any:
    for n, row in enumerate(fields.items("sets", MAX_RULES)):
        rule = Fields(row, (*fields.path, "sets", n), fields.problems, ("when", "value"))
        if rule.raw is not row:
            continue
        value, when = _read_value(rule, "value"), _read_optional_condition(rule, "when")
        if not rule.has("when"):
            rule.add_missing("when", _("Say under which condition the value applies."))
        if value is not None and when is not None:
            yield ImpliedAnswer(when, value)


# ---- conditions --------------------------------------------------------------------------------------------------

CONDITION_FORMS = (
    "{question: …, in: […]}, {question: …, includes: …}, {speaker: …}, {all: […]}, {any: […]}, {not: …}"
)


def _read_optional_condition(fields: Fields, name: str) -> Condition | None:
    if not fields.has(name):
        return None
    return read_condition(fields.raw[name], (*fields.path, name), fields.problems)


def read_condition(raw: Any, path: Path, problems: ProblemCollector, depth: int = 1) -> Condition | None:
    """Read a condition. Returns None if it is invalid; `problems` then has the reason."""
    names = frozenset(raw) if isinstance(raw, Mapping) else frozenset[str]()
    if depth > MAX_NESTING:
        remedy = _("Nest conditions at most %(most)d levels deep.") % {"most": MAX_NESTING}
        problems.add(path, _("This condition is nested too deeply."), remedy)
        return None
    if names == {"question", "in"} or names == {"question", "includes"}:
        return _read_question_condition(Fields(raw, path, problems, ("question", "in", "includes")))
    if names == {"speaker"}:
        names_given = raw["speaker"]
        as_list = {"speaker": [names_given] if isinstance(names_given, str) else names_given}
        speakers = Fields(as_list, path, problems, ("speaker",)).speakers("speaker")
        if not speakers:
            _refuse_form(path, problems)
        return SpokenBy(speakers) if speakers else None
    if names == {"not"}:
        part = read_condition(raw["not"], (*path, "not"), problems, depth + 1)
        return Not(part) if part else None
    if names == {"all"} or names == {"any"}:
        return _read_compound_condition(Fields(raw, path, problems, ("all", "any")), next(iter(names)), depth)
    _refuse_form(path, problems)
    return None


def _refuse_form(path: Path, problems: ProblemCollector) -> None:
    problems.add(
        path, _("This is not a condition."), _("Write one of: %(shapes)s.") % {"shapes": CONDITION_FORMS}
    )


def _read_compound_condition(fields: Fields, name: str, depth: int) -> Condition | None:
    rows = fields.items(name, MAX_PARTS)
    parts = [
        read_condition(row, (*fields.path, name, n), fields.problems, depth + 1) for n, row in enumerate(rows)
    ]
    valid = tuple(part for part in parts if part)
    if not rows:
        _refuse_form(fields.path, fields.problems)
    if not valid or len(valid) < len(rows):
        return None
    return AllOf(valid) if name == "all" else AnyOf(valid)


def _read_question_condition(fields: Fields) -> Condition | None:
    key = fields.word("question", KEY, _("Write the key of a question."))
    if "includes" in fields.raw:
        value = _read_value(fields, "includes")
        return Includes(key, value) if key and value is not None else None
    values = fields.items("in", MAX_OPTIONS)
    if not values or not all(is_value(value) for value in values):
        fields.add_problem(
            "in",
            _("Some of these values cannot be answers."),
            _("List only answers to the question that the condition names."),
        )
        return None
    return OneOf(key, tuple(values)) if key else None
