"""Reading and writing YAML: nothing is lost, nothing dangerous is read, and every problem has its line."""

import time
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.labelling.schema.answers import check_answers
from annotation.labelling.schema.errors import InvalidSchema, SchemaProblem
from annotation.labelling.schema.questions import Scope
from annotation.labelling.schema.reading import read_schema
from annotation.labelling.schema.yaml_text import read_yaml, to_yaml
from annotation.project_setup.presets.registry import PRESETS
from tests.annotation.labelling.schema import generated

TIME_LIMIT = 20  # seconds, generous for a busy machine; unbounded work would take hours

GOOD = """\
# what we ask
questions:
- key: quality
  scope: dialogue
  kind: choice
  text: {en: Quality, zh: 质量}
  options:
  - {value: 1, text: {en: "yes", zh: 好}}
  - {value: "no", text: {en: "no", zh: 不好}}
"""

plain_texts = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"]), min_size=1, max_size=60
)
texts = st.builds(lambda en, zh: {"en": f"{en}.", "zh": f"{zh}。"}, plain_texts, plain_texts)


def problems_of(text: str) -> list[SchemaProblem]:
    with pytest.raises(InvalidSchema) as refused:
        read_yaml(text)
    return refused.value.problems


def problems_or_none(text: str) -> list[SchemaProblem]:
    try:
        read_yaml(text)
    except InvalidSchema as errors:
        return errors.problems
    return []


@given(st.integers(0, 2**32), texts, texts)
def test_a_schema_survives_a_round_trip(seed: int, first: Any, second: Any) -> None:
    content = generated.content(Random(seed))
    content["questions"][0] |= {"text": first, "guideline": second}
    schema = read_schema(content)
    assert read_schema(schema.content) == schema
    reread = read_yaml(to_yaml(schema))
    assert (reread, reread.sha256) == (schema, schema.sha256)
    assert to_yaml(reread) == to_yaml(schema)


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if preset.schema])
def test_presets_survive_a_round_trip(name: str) -> None:
    schema = read_schema(PRESETS[name].schema or {})
    assert read_yaml(to_yaml(schema)) == schema


@given(st.text(max_size=300) | st.binary(max_size=300).map(lambda raw: raw.decode("latin-1")))
def test_any_text_is_a_schema_or_has_problems(text: str) -> None:
    assert all(problem.line and problem.message for problem in problems_or_none(text))


@given(st.integers(0, len(GOOD) - 1), st.integers(0, 30), st.text(max_size=3))
def test_a_damaged_schema_is_a_schema_or_has_problems(at: int, gone: int, there: str) -> None:
    assert all(problem.line for problem in problems_or_none(GOOD[:at] + there + GOOD[at + gone :]))


def test_words_and_numbers_keep_their_types() -> None:
    (question,) = read_yaml(GOOD).questions
    assert [option.value for option in question.options] == [1, "no"]
    unquoted = read_yaml(GOOD.replace('value: "no"', "value: no")).questions[0]
    assert unquoted.options[1].value == "no"


@pytest.mark.parametrize(
    "old, new, line, path",
    [
        ("zh: 质量", "zh: ''", 6, "questions[0].text.zh"),
        ("text: {en: Quality, zh: 质量}", "text: {en: Quality}", 6, "questions[0].text.zh"),
        ("kind: choice", "kind: stars", 5, "questions[0].kind"),
        ("- key: quality\n", "- key: quality\n  when: {question: x, in: [1]}\n", 4, "questions[0].when"),
        ("  kind: choice\n", "  kind: choice\n  kind: choice\n", 6, "questions[0].kind"),
        ('"no", text', "1, text", 9, "questions[0].options[1].value"),
        ("scope: dialogue", "scope: &a dialogue", 4, "questions[0].scope"),
        ("scope: dialogue", "scope: !!str dialogue", 4, "questions[0].scope"),
        ("scope: dialogue", "? [a]\n  : b", 4, "questions[0]"),
        ("# what we ask\n", "# what we ask\n\t- x\n", 2, ""),
        ("[", "[", 1, None),
    ],
)
def test_the_line_of_a_problem(old: str, new: str, line: int, path: str | None) -> None:
    if path is None:
        assert problems_of("questions: [\n")[0].line in (1, 2)
        return
    problems = problems_of(GOOD.replace(old, new))
    assert (problems[0].line, problems[0].path) == (line, path)


def bomb() -> str:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    return "\n".join(rows)


@pytest.mark.parametrize(
    "text",
    [
        bomb(),
        "[" * 100_000,
        "{a: " * 50_000,
        "- " * 100_000,
        "x: " + "y" * 300_000,
        "!!python/object/apply:os.system [ls]",
        "a: b\n---\nc: d\n",
        "\x00",
        "questions: *nobody",
        "",
        "%YAML 9.9\n--- a",
    ],
)
def test_a_hostile_text_is_refused_quickly(text: str) -> None:
    started = time.monotonic()
    assert problems_of(text)[0].message
    assert time.monotonic() - started < TIME_LIMIT


def hostile() -> dict[str, Any]:
    """50 questions of 30 options with long Chinese texts, each asked under a deep condition on others."""
    long = "在这段对话里，客服有没有先弄清客户真正想解决的问题，再给出具体、可行、有依据的办法？" * 3
    options = [{"value": n, "text": {"en": f"Option {n}", "zh": long[: 10 + n]}} for n in range(30)]
    questions: list[dict[str, Any]] = []
    for n in range(50):
        question: dict[str, Any] = {
            "key": f"q{n}",
            "scope": "utterance" if n % 2 else "dialogue",
            "kind": ("choice", "scale", "choices")[n % 3] if n % 7 else "choice",
            "text": {"en": f"Question {n}", "zh": long},
            "options": options,
        }
        if n > 2:
            earlier = [
                earlier_question for earlier_question in questions if earlier_question["scope"] == "dialogue"
            ][-2:]
            when: dict[str, Any] = {"any": [_condition_on(earlier_question) for earlier_question in earlier]}
            for _ in range(8):
                when = {"not": when}
            question["when"] = {"all": [when, {"not": {"not": when["not"]}}]} if n % 4 == 0 else when
        questions.append(question)
    return {"questions": questions}


def _condition_on(question: dict[str, Any]) -> dict[str, Any]:
    condition: dict[str, Any] = {"includes": 3} if question["kind"] == "choices" else {"in": [1, 2, 3]}
    return {"question": question["key"], **condition}


def test_the_hostile_schema_is_read_written_and_answered_quickly() -> None:
    started = time.monotonic()
    schema = read_schema(hostile())
    text = to_yaml(schema)
    assert read_yaml(text) == schema
    assert len(text) < 200_000
    speakers = ["customer", "helpdesk"] * 100
    sent = {
        "dialogue": {question.key: 3 for question in schema.questions if question.scope is Scope.DIALOGUE},
        "utterances": {str(n): {"q1": 5} for n in range(200)},
    }
    _answers, problems = check_answers(schema, sent, speakers, complete=True)
    assert problems
    assert time.monotonic() - started < TIME_LIMIT
