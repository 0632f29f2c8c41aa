"""From content, which anybody may have written, to a Schema: everything wrong with it is said at once."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _

from annotation.labelling.schema import checks
from annotation.labelling.schema.conditions import AllOf, AnyOf, Condition, Includes, Not, OneOf, SpokenBy
from annotation.labelling.schema.errors import Path, ProblemCollector
from annotation.labelling.schema.fields import Fields, brief, is_value, text_of
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
MAX_NESTING = 12  # conditions within conditions
SHORT = 2_000  # characters of a question or an option

# Keys are also names of fields in JavaScript objects, which have some of their own.
BORN = "constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString|valueOf"
KEY = re.compile(rf"(?!(?:{BORN})$)[A-Za-z][A-Za-z0-9_-]{{0,39}}")
KEYBOARD = re.compile(r"[!-.0-~]")  # one visible ASCII character; "/" opens the browser's search
EVERY = ("key", "scope", "kind", "text", "when", "required", "sets", "agree", "guideline")
BY_SCOPE = {Scope.UTTERANCE: ("speakers", "runs"), Scope.DIALOGUE: ()}
BY_KIND = {
    Kind.SLIDER: ("low", "high", "min", "max"),
    Kind.TEXT: ("max_length",),
    **dict.fromkeys(WITH_OPTIONS, ("options",)),
}
OPTION = ("value", "text", "key", "speakers", "nugget", "counts_as", "guideline", "examples")


def read_schema(content: Mapping[str, Any]) -> QuestionSchema:
    """The schema that `content` describes. Raises SchemaErrors with every problem, without line numbers."""
    return read_content(content, ProblemCollector())


def read_content(content: Any, found: ProblemCollector) -> QuestionSchema:
    """As `read`; `found` may know the lines of the text that the content came from."""
    fields = Fields(content, (), found, ("questions",))
    rows = fields.items("questions", MAX_QUESTIONS)
    if not rows and not found.problems:
        fields.absent("questions", _("List at least one question under “questions:”."))
    read_rows = [_question(row, ("questions", n), found) for n, row in enumerate(rows)]
    found.raise_any()
    questions = tuple(question for question in read_rows if question)
    checks.check(questions, found)
    found.raise_any()
    return _finished(questions)


def _finished(questions: tuple[Question, ...]) -> QuestionSchema:
    schema = QuestionSchema(questions)
    content = schema_content(schema)
    return replace(schema, content=content, sha256=content_sha256(content))


def _question(raw: Any, path: Path, found: ProblemCollector) -> Question | None:
    before = len(found.problems)
    named = raw if isinstance(raw, Mapping) else {}
    scope = _member(Scope, named.get("scope"))
    kind = _member(Kind, named.get("kind"))
    allowed = (*EVERY, *BY_SCOPE.get(scope, BY_SCOPE[Scope.UTTERANCE]), *_fields_of(kind))
    fields = Fields(raw, path, found, allowed)
    if fields.raw is not raw:
        return None
    key = fields.word("key", KEY, _("Use letters, digits, - and _, and begin with a letter."))
    scope, kind = fields.one_of("scope", Scope), fields.one_of("kind", Kind)
    text = fields.text("text", most=SHORT)
    rest = _rest(fields, kind)
    if len(found.problems) > before or not (scope and kind and text):
        return None
    return Question(key=key, scope=scope, kind=kind, text=text, **rest)


def _fields_of(kind: Kind | None) -> tuple[str, ...]:
    every = tuple(dict.fromkeys(name for names in BY_KIND.values() for name in names))
    return BY_KIND.get(kind, every) if kind else every


def _member(kinds: Any, value: Any) -> Any:
    return kinds(value) if isinstance(value, str) and value in list(kinds) else None


def _rest(fields: Fields, kind: Kind | None) -> dict[str, Any]:
    return {
        "options": _options(fields, kind) if kind in WITH_OPTIONS else (),
        "when": _condition(fields, "when"),
        "required": _required(fields),
        "speakers": fields.speakers(),
        "sets": tuple(_sets(fields)),
        "agree": fields.flag("agree", kind in COMPARED_BY_DEFAULT),
        "runs": fields.flag("runs", False),
        "low": fields.text("low", required=False, most=SHORT),
        "high": fields.text("high", required=False, most=SHORT),
        "min": fields.number("min", 0, -10_000, 10_000),
        "max": fields.number("max", 100, -10_000, 10_000),
        "max_length": fields.number("max_length", MAX_LENGTH, 1, MAX_LENGTH),
        "guideline": fields.text("guideline", required=False),
    }


def _required(fields: Fields) -> bool | Condition:
    if isinstance(fields.raw.get("required"), Mapping):
        return _condition(fields, "required") or True
    return fields.flag("required", True)


def _options(fields: Fields, kind: Kind | None) -> tuple[Option, ...]:
    rows = fields.items("options", MAX_OPTIONS)
    if not rows:
        fields.absent("options", _("List the options that people choose from."))
    path = (*fields.path, "options")
    options = [_option(row, (*path, n), fields.found, kind) for n, row in enumerate(rows)]
    made = [(n, option) for n, option in enumerate(options) if option]
    _refuse_twins(fields.found, path, made)
    _refuse_unknown_twin(fields.found, path, made)
    return tuple(option for option in options if option)


def _refuse_twins(found: ProblemCollector, path: Path, options: list[tuple[int, Option]]) -> None:
    for place, (n, option) in enumerate(options):
        before = [earlier for _n, earlier in options[:place]]
        # 1 and "1" would be told apart by nobody who reads an export.
        if any(str(earlier.value) == str(option.value) for earlier in before):
            _refuse_twice(found, (*path, n, "value"), str(option.value))
        rivals = [earlier for earlier in before if earlier.key.lower() == option.key.lower()]
        if option.key and any(_may_meet(earlier, option) for earlier in rivals):
            _refuse_twice(found, (*path, n, "key"), option.key)


def _refuse_unknown_twin(found: ProblemCollector, path: Path, options: list[tuple[int, Option]]) -> None:
    values = {option.value for _n, option in options}
    for n, option in options:
        if option.counts_as is not None and option.counts_as not in values:
            said = _("There is no option “%(value)s” to count as.") % {"value": brief(option.counts_as)}
            found.add((*path, n, "counts_as"), said, _("Name the value of another option of this question."))


def _may_meet(one: Option, other: Option) -> bool:
    """Whether some utterance is offered both."""
    return not one.speakers or not other.speakers or bool({*one.speakers} & {*other.speakers})


def _refuse_twice(found: ProblemCollector, path: Path, value: str) -> None:
    said = _("“%(value)s” is there twice.") % {"value": brief(value)}
    found.add(path, said, _("Give every option one of its own."))


def _option(raw: Any, path: Path, found: ProblemCollector, kind: Kind | None) -> Option | None:
    fields = Fields(raw, path, found, OPTION)
    if fields.raw is not raw:
        return None
    value, text = _value(fields, "value"), fields.text("text", most=SHORT)
    if kind is Kind.SCALE and isinstance(value, str):
        fields.wrong("value", _("A scale is made of whole numbers."), _("Use numbers, or the kind “choice”."))
    key, rest = _keyboard_key(fields), _rest_of_option(fields)
    return Option(value=value, text=text, key=key, **rest) if value is not None and text else None


def _keyboard_key(fields: Fields) -> str:
    if not fields.has("key"):
        return ""
    raw = fields.raw["key"]
    key = str(raw) if type(raw) is int else raw
    if isinstance(key, str) and KEYBOARD.fullmatch(key):
        return key
    fields.wrong("key", _("“%(value)s” is no key.") % {"value": brief(raw)}, _("Use one character."))
    return ""


def _rest_of_option(fields: Fields) -> dict[str, Any]:
    return {
        "speakers": fields.speakers(),
        "nugget": fields.one_of("nugget", Nugget) if fields.has("nugget") else None,
        "counts_as": _value(fields, "counts_as") if fields.has("counts_as") else None,
        "guideline": fields.text("guideline", required=False),
        "examples": tuple(_examples(fields)),
    }


def _examples(fields: Fields) -> Any:
    for n, row in enumerate(fields.items("examples", MAX_EXAMPLES)):
        if text := text_of(row, (*fields.path, "examples", n), fields.found):
            yield text


def _value(fields: Fields, name: str) -> int | str | None:
    value = fields.raw.get(name)
    if value is None:
        fields.absent(name, _("Write a whole number or a word: it is what gets stored."))
    elif not is_value(value):
        fields.wrong(
            name,
            _("“%(value)s” cannot be stored.") % {"value": brief(value)},
            _("Write a whole number, or a word of at most 100 characters in quotation marks."),
        )
    else:
        return value  # type: ignore[no-any-return]
    return None


def _sets(fields: Fields) -> Any:
    for n, row in enumerate(fields.items("sets", MAX_RULES)):
        one = Fields(row, (*fields.path, "sets", n), fields.found, ("when", "value"))
        if one.raw is not row:
            continue
        value, when = _value(one, "value"), _condition(one, "when")
        if not one.has("when"):
            one.absent("when", _("Say under which condition the value holds."))
        if value is not None and when is not None:
            yield ImpliedAnswer(when, value)


# ---- conditions --------------------------------------------------------------------------------------------------

SHAPES = "{question: …, in: […]}, {question: …, includes: …}, {speaker: …}, {all: […]}, {any: […]}, {not: …}"


def _condition(fields: Fields, name: str) -> Condition | None:
    if not fields.has(name):
        return None
    return read_condition(fields.raw[name], (*fields.path, name), fields.found)


def read_condition(raw: Any, path: Path, found: ProblemCollector, depth: int = 1) -> Condition | None:
    """None where something is wrong with it, which `found` then says."""
    names = frozenset(raw) if isinstance(raw, Mapping) else frozenset[str]()
    if depth > MAX_NESTING:
        said = {"most": MAX_NESTING}
        found.add(path, _("This condition is nested too deeply."), _("Nest at most %(most)d of them.") % said)
        return None
    if names == {"question", "in"} or names == {"question", "includes"}:
        return _about_question(Fields(raw, path, found, ("question", "in", "includes")))
    if names == {"speaker"}:
        one = raw["speaker"]
        whole = {"speaker": [one] if isinstance(one, str) else one}
        speakers = Fields(whole, path, found, ("speaker",)).speakers("speaker")
        if not speakers:
            _refuse_shape(path, found)
        return SpokenBy(speakers) if speakers else None
    if names == {"not"}:
        part = read_condition(raw["not"], (*path, "not"), found, depth + 1)
        return Not(part) if part else None
    if names == {"all"} or names == {"any"}:
        return _several(Fields(raw, path, found, ("all", "any")), next(iter(names)), depth)
    _refuse_shape(path, found)
    return None


def _refuse_shape(path: Path, found: ProblemCollector) -> None:
    found.add(path, _("This is no condition."), _("Write one of: %(shapes)s.") % {"shapes": SHAPES})


def _several(fields: Fields, name: str, depth: int) -> Condition | None:
    rows = fields.items(name, MAX_PARTS)
    parts = [
        read_condition(row, (*fields.path, name, n), fields.found, depth + 1) for n, row in enumerate(rows)
    ]
    good = tuple(part for part in parts if part)
    if not rows:
        _refuse_shape(fields.path, fields.found)
    if not good or len(good) < len(rows):
        return None
    return AllOf(good) if name == "all" else AnyOf(good)


def _about_question(fields: Fields) -> Condition | None:
    key = fields.word("question", KEY, _("Write the key of a question."))
    if "includes" in fields.raw:
        value = _value(fields, "includes")
        return Includes(key, value) if key and value is not None else None
    values = fields.items("in", MAX_OPTIONS)
    if not values or not all(is_value(value) for value in values):
        fields.wrong("in", _("Some of these can be no answers."), _("List answers of that question."))
        return None
    return OneOf(key, tuple(values)) if key else None
