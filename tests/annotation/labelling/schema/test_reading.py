"""Invalid schemas: the problems and their paths."""

from typing import Any

import pytest
from django.utils import translation

from annotation.labelling.schema.errors import InvalidSchema, SchemaProblem
from annotation.labelling.schema.reading import read_schema
from annotation.labelling.schema.writing import content_sha256

TEXT = {"en": "Q", "zh": "问"}


def option(value: Any, **more: Any) -> dict[str, Any]:
    return {"value": value, "text": TEXT, **more}


def question(key: Any = "q", **more: Any) -> dict[str, Any]:
    question = {
        "key": key,
        "scope": "dialogue",
        "kind": "choice",
        "text": TEXT,
        "options": [option(0), option(1)],
    }
    return {name: value for name, value in (question | more).items() if value is not ...}


def problems_of(*questions: Any) -> list[SchemaProblem]:
    with pytest.raises(InvalidSchema) as refused:
        read_schema({"questions": list(questions)})
    return refused.value.problems


def only_problem(*questions: Any) -> str:
    (problem,) = problems_of(*questions)
    assert problem.message
    assert problem.remedy
    return problem.path


IN_Q = {"question": "q", "in": [1]}


@pytest.mark.parametrize(
    "more, path",
    [
        ({"when": {"question": "nobody", "in": [1]}}, "when"),
        ({"when": {"question": "p", "in": [1]}}, "when"),  # itself
        ({"when": {"question": "q", "in": [7]}}, "when"),
        ({"when": {"question": "q", "in": ["1"]}}, "when"),
        ({"when": {"question": "q", "includes": 1}}, "when"),
        ({"when": {"speaker": "customer"}}, "when"),
        ({"when": {"all": []}}, "when"),
        ({"when": {"all": [IN_Q, 5]}}, "when.all[1]"),
        ({"when": {"not": {"maybe": 1}}}, "when.not"),
        ({"when": {"question": "q", "in": [1], "not": IN_Q}}, "when"),
        ({"when": {"question": "q", "in": []}}, "when.in"),
        ({"when": "q = 1"}, "when"),
        ({"required": {"question": "nobody", "in": [1]}}, "required"),
        ({"required": "yes"}, "required"),
        ({"sets": [{"when": IN_Q, "value": 9}]}, "sets[0].value"),
        ({"sets": [{"value": 1}]}, "sets[0].when"),
        ({"sets": [{"when": {"question": "nobody", "in": [1]}, "value": 1}]}, "sets[0].when"),
        ({"scope": "sentence"}, "scope"),
        ({"kind": "stars"}, "kind"),
        ({"key": "1st"}, "key"),
        ({"key": "a/b"}, "key"),
        ({"key": "constructor"}, "key"),
        ({"key": 5}, "key"),
        ({"text": {"en": "Q"}}, "text.zh"),
        ({"text": {"en": " ", "zh": "问"}}, "text.en"),
        ({"text": "Q"}, "text"),
        ({"text": {"en": "Q", "zh": "问", "fr": "Q"}}, "text.fr"),
        ({"text": {"en": "a\x00", "zh": "问"}}, "text.en"),
        ({"text": {"en": "x" * 2001, "zh": "问"}}, "text.en"),
        ({"options": []}, "options"),
        ({"options": "yes, no"}, "options"),
        ({"options": [option(1), option("1")]}, "options[1].value"),
        ({"options": [option(1, key="a"), option(2, key="A")]}, "options[1].key"),
        ({"options": [option(1, key="ab")]}, "options[0].key"),
        ({"options": [option(True)]}, "options[0].value"),
        ({"options": [option(1.5)]}, "options[0].value"),
        ({"options": [option(10**12)]}, "options[0].value"),
        ({"options": [option(1, speakers=["customer"])]}, "options[0].speakers"),
        ({"options": [option(1, nugget="golden")]}, "options[0].nugget"),
        ({"options": [option(1, guideline={"zh": "好"})]}, "options[0].guideline.en"),
        ({"options": [option(1, examples=[{"en": "x"}])]}, "options[0].examples[0].zh"),
        ({"options": [option(n) for n in range(101)]}, "options"),
        ({"runs": True}, "runs"),
        ({"speakers": ["a"]}, "speakers"),
        ({"colour": "red"}, "colour"),
        ({"kind": "scale", "options": [option("good")]}, "options[0].value"),
        ({"kind": "slider", "options": ..., "min": 5, "max": 5}, "max"),
        ({"kind": "slider", "options": ..., "min": "low"}, "min"),
        ({"kind": "slider", "options": ..., "low": {"en": "x"}}, "low.zh"),
        ({"kind": "slider"}, "options"),
        ({"kind": "text", "options": ..., "max_length": 0}, "max_length"),
        ({"kind": "text", "options": ..., "sets": [{"when": IN_Q, "value": 1}]}, "sets"),
    ],
)
def test_a_problem_has_a_path_and_a_remedy(more: dict[str, Any], path: str) -> None:
    problems = {
        problem.path: problem for problem in problems_of(question(), question(**{"key": "p", **more}))
    }
    assert f"questions[1].{path}" in problems
    assert problems[f"questions[1].{path}"].remedy


def test_one_mistake_is_one_problem() -> None:
    assert only_problem(question(), question("p", text={"en": "Q"})) == "questions[1].text.zh"


def test_a_key_is_used_once() -> None:
    assert only_problem(question(), question()) == "questions[1].key"


def test_a_cycle_is_named() -> None:
    a = question("a", when={"question": "c", "in": [1]})
    b = question("b", when={"not": {"question": "a", "in": [0]}})
    c = question("c", sets=[{"when": {"any": [{"question": "b", "in": [1]}]}, "value": 1}])
    (problem,) = problems_of(question(), a, b, c)
    assert "a → c → b → a" in problem.message


def test_a_dialogue_question_cannot_depend_on_utterances() -> None:
    path = only_problem(question("u", scope="utterance"), question("d", when={"question": "u", "in": [1]}))
    assert path == "questions[1].when"


def test_a_condition_cannot_refer_to_a_text_answer() -> None:
    assert only_problem(
        question("t", kind="text", options=...), question("d", when={"question": "t", "in": ["x"]})
    )


def test_a_set_option_must_be_offered_to_everybody_asked() -> None:
    options = [option(0, speakers=["customer"]), option(1)]
    conditional = question("p", scope="utterance", options=options, sets=[{"when": IN_Q, "value": 0}])
    assert only_problem(question(), conditional) == "questions[1].sets[0].value"
    read_schema({"questions": [question(), conditional | {"speakers": ["customer"]}]})


def test_options_that_never_meet_may_share_a_key() -> None:
    options = [option("C", key="1", speakers=["customer"]), option("H", key="1", speakers=["helpdesk"])]
    read_schema({"questions": [question(scope="utterance", options=options)]})
    assert only_problem(question(scope="utterance", options=[*options, option("N", key="1")]))


def test_an_option_may_stand_apart_from_the_scale() -> None:
    schema = read_schema({"questions": [question(options=[option(1), option(-1, apart=True)])]})
    assert [each.apart for each in schema.questions[0].options] == [False, True]
    assert [each.get("apart") for each in schema.content["questions"][0]["options"]] == [None, True]
    assert only_problem(question(options=[option(1, apart="yes")])) == "questions[0].options[0].apart"


def test_an_option_may_exclude_the_others_where_several_can_be_chosen() -> None:
    options = [option(1), option("none", alone=True)]
    schema = read_schema({"questions": [question(kind="choices", options=options)]})
    assert [each.alone for each in schema.questions[0].options] == [False, True]
    assert [each.get("alone") for each in schema.content["questions"][0]["options"]] == [None, True]
    assert only_problem(question(options=options)) == "questions[0].options[1].alone"


def nested(depth: int) -> dict[str, Any]:
    return {"not": nested(depth - 1)} if depth > 1 else dict(IN_Q)


def test_conditions_are_nested_twelve_deep_at_most() -> None:
    read_schema({"questions": [question(), question("p", when=nested(12))]})
    assert "nested" in problems_of(question(), question("p", when=nested(13)))[0].message


def test_two_hundred_questions_at_most() -> None:
    read_schema({"questions": [question(f"q{n}") for n in range(200)]})
    assert only_problem(*[question(f"q{n}") for n in range(201)]) == "questions"


@pytest.mark.parametrize(
    "content", [None, [], "questions", 5, {}, {"questions": {}}, {"questions": []}, {"questions": [5]}]
)
def test_content_of_another_shape_is_refused(content: Any) -> None:
    with pytest.raises(InvalidSchema):
        read_schema(content)


def test_problems_are_reported_together_up_to_a_limit() -> None:
    problems = problems_of(*[question("9", text={}, options=[5]) for _ in range(100)])
    assert len(problems) == 50


def test_problems_are_translated() -> None:
    with translation.override("zh-hans"):
        (problem,) = problems_of(question(text={"en": "Q"}))
    assert problem.path == "questions[0].text.zh"


def test_equal_content_has_the_same_checksum() -> None:
    plain = read_schema({"questions": [question()]})
    wordy = read_schema(
        {"questions": [dict(reversed(question(required=True, agree=True, when=None).items()))]}
    )
    assert plain.sha256 == wordy.sha256 == content_sha256(plain.content)
    assert plain.sha256 != read_schema({"questions": [question(required=False)]}).sha256
