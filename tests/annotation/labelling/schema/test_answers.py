"""The meaning of answers: what is shown, set, required, checked and compared."""

from random import Random
from typing import Any

import pytest

from annotation.labelling.schema.answers import (
    AnswerProblem,
    check_answers,
    compared_paths,
    differing_paths,
    is_required,
)
from annotation.labelling.schema.questions import QuestionSchema, Scope
from annotation.labelling.schema.reading import read_schema
from annotation.project_setup.presets.registry import PRESETS
from tests.annotation.labelling.schema import generated


def preset(name: str) -> QuestionSchema:
    return read_schema(PRESETS[name].schema or {})


def problems(
    schema: QuestionSchema, dialogue: Any, speakers: tuple[str, ...] = (), **utterances: Any
) -> list[tuple[str, str]]:
    sent = {
        "dialogue": dialogue,
        "utterances": {place.removeprefix("u"): own for place, own in utterances.items()},
    }
    return [
        (problem.path, problem.code) for problem in check_answers(schema, sent, speakers, complete=True)[1]
    ]


def test_reasons_of_another_quality_are_dropped() -> None:
    sent = {"dialogue": {"verify": 1, "quality": 2, "reasons_1": ["incomplete"]}, "utterances": {}}
    answers, problems = check_answers(preset("diqad"), sent, ["user", "assistant"], complete=True)
    assert (answers, problems) == ({"dialogue": {"verify": 1, "quality": 2}, "utterances": {}}, [])


@pytest.mark.parametrize(
    "quality, expected", [(1, "reasons_1"), (0, "reasons_0"), (2, None), (-1, None), ("phone", None)]
)
def test_reasons_are_required_for_their_quality_only(quality: Any, expected: str | None) -> None:
    missing = [(expected, "missing")] if expected else []
    assert problems(preset("diqad"), {"verify": 0, "quality": quality}) == missing


def test_several_reasons_are_stored_in_the_order_of_the_schema_and_once() -> None:
    sent = {"dialogue": {"quality": 0, "reasons_0": ["other", "no_answer", "other"]}, "utterances": {}}
    answers, _found = check_answers(preset("diqad"), sent, [], complete=False)
    assert answers["dialogue"]["reasons_0"] == ["no_answer", "other"]


@pytest.mark.parametrize("key, quality", [("reasons_1", 1), ("reasons_0", 0)])
def test_no_reason_excludes_the_others(key: str, quality: int) -> None:
    other = "incomplete" if quality else "no_answer"
    given = {"verify": 0, "quality": quality}
    assert problems(preset("diqad"), {**given, key: ["none", other]}) == [(key, "not_alone")]
    assert problems(preset("diqad"), {**given, key: ["none"]}) == []


def test_a_draft_keeps_the_reasons_beside_none() -> None:
    """Both may be in a draft from a version in which they did not exclude each other."""
    sent = {"dialogue": {"quality": 0, "reasons_0": ["none", "no_answer"]}, "utterances": {}}
    answers, found = check_answers(preset("diqad"), sent, [], complete=False)
    assert answers["dialogue"]["reasons_0"] == ["no_answer"]
    assert [problem.message for problem in found] == ["“none” cannot be combined with other options."]


def test_incoherence_sets_informativeness_and_safety() -> None:
    sent = {"dialogue": {"engagingness": 1}, "utterances": {"1": {"coherence": 0, "informativeness": 2}}}
    answers, problems = check_answers(
        preset("diamante-evaluation"), sent, ["user", "assistant"], complete=True
    )
    assert answers["utterances"] == {"1": {"coherence": 0, "informativeness": 0, "safety": 0}}
    assert problems == []


def test_only_the_bot_is_rated() -> None:
    schema = preset("diamante-evaluation")
    assert compared_paths(schema, ["A", "B"]) == [
        "engagingness",
        "1/coherence",
        "1/informativeness",
        "1/safety",
    ]
    answers, _ = check_answers(
        schema, {"dialogue": {}, "utterances": {"0": {"safety": 2}}}, ["A", "B"], complete=False
    )
    assert answers["utterances"] == {}


def test_unnamed_speakers_share_their_questions() -> None:
    """They share one cached list, because a file may contain any number of names."""
    schema = preset("diamante-evaluation")
    first, second, bot = (schema.questions_for(Scope.UTTERANCE, name) for name in ("user 1", "user 2", "B"))
    assert first is second
    assert ([question.key for question in first], len(bot)) == ([], 3)


def test_each_side_has_its_own_nuggets() -> None:
    rated = dict.fromkeys(("TS", "TA", "HA", "CA", "CS"), 1)
    speakers = ("customer", "helpdesk", "passer-by")
    found = problems(preset("dch"), rated, speakers, u0={"nugget": "HNUG"}, u1={"nugget": "HNUG*"})
    assert found == [("0/nugget", "not_an_option")]
    assert problems(preset("dch"), rated, speakers, u0={"nugget": "NAN"}, u1={"nugget": "NAN"}) == []


@pytest.mark.parametrize("value", ["2", 3, True, 1.0, [2], {"a": 1}, "no such"])
def test_a_value_outside_the_options_is_refused(value: Any) -> None:
    assert problems(preset("diqad"), {"verify": 1, "quality": value}) == [("quality", "not_an_option")]


@pytest.mark.parametrize(
    "sent, found",
    [
        ([], [("", "malformed")]),
        (None, [("", "malformed")]),
        ({"dialogue": []}, [("", "malformed")]),
        ({"dialogue": {}, "extra": 1}, [("", "malformed")]),
        ({"utterances": {"0": []}}, [("0", "malformed")]),
        ({"utterances": {"2": {}}}, [("2", "unknown_utterance")]),
        ({"utterances": {"00": {}}}, [("00", "unknown_utterance")]),
        ({"utterances": {"-1": {}}}, [("-1", "unknown_utterance")]),
        ({"utterances": {"²": {}}}, [("²", "unknown_utterance")]),
        ({"utterances": {"0": {"A": 1}}}, [("0/A", "unknown_question")]),
        ({"dialogue": {"nugget": "CNUG"}}, [("nugget", "unknown_question")]),
    ],
)
def test_malformed_answers_are_reported(sent: Any, found: list[tuple[str, str]]) -> None:
    _answers, problems = check_answers(preset("dialeval"), sent, ["customer", "helpdesk"], complete=False)
    assert [(one.path, one.code) for one in problems] == found


def schema_with(kind: str, **more: Any) -> QuestionSchema:
    question = {"key": "q", "scope": "dialogue", "kind": kind, "text": {"en": "Q", "zh": "问"}, **more}
    return read_schema({"questions": [question]})


@pytest.mark.parametrize(
    "value, fits", [(0, True), (100, True), (101, False), (-1, False), (True, False), ("5", False)]
)
def test_a_slider_accepts_whole_numbers_in_its_range(value: Any, fits: bool) -> None:
    assert problems(schema_with("slider"), {"q": value}) == ([] if fits else [("q", "not_a_number")])


@pytest.mark.parametrize(
    "value, code",
    [("fine", None), (" \u3000\n", "missing"), ("", "missing"), ("x" * 11, "not_text"), ("\x00", "not_text"),
     ("\ud800", "not_text"), (5, "not_text")],
)  # fmt: skip
def test_a_text_answer_is_short_and_printable(value: Any, code: str | None) -> None:
    assert problems(schema_with("text", max_length=10), {"q": value}) == ([("q", code)] if code else [])


def test_a_draft_may_lack_answers() -> None:
    assert (
        check_answers(preset("dch"), {"dialogue": {}, "utterances": {}}, ["customer"], complete=False)[1]
        == []
    )


def test_every_difference_is_named_once() -> None:
    schema = preset("dch")
    mine = {"dialogue": {"TS": 1, "TA": 0}, "utterances": {"0": {"nugget": "CNUG0"}, "10": {"nugget": "NAN"}}}
    theirs = {"dialogue": {"TS": 1, "TA": 1}, "utterances": {"0": {"nugget": "CNUG"}, "9": {"nugget": "NAN"}}}
    assert differing_paths(schema, mine, theirs) == ["TA", "0/nugget", "9/nugget", "10/nugget"]
    assert differing_paths(schema, mine, mine) == []


def test_reasons_need_not_agree() -> None:
    schema = preset("diqad")
    assert compared_paths(schema, ["user"]) == ["verify", "quality"]
    mine = {"dialogue": {"quality": 1, "reasons_1": ["none"]}, "utterances": {}}
    theirs = {"dialogue": {"quality": 1, "reasons_1": ["incomplete"]}, "utterances": {}}
    assert differing_paths(schema, mine, theirs) == []


@pytest.mark.parametrize("seed", range(60))
def test_settling_is_idempotent(seed: int) -> None:
    rng = Random(seed)
    content = generated.content(rng)
    schema = read_schema(content)
    speakers = [rng.choice([*generated.SPEAKERS, "else"]) for _ in range(rng.randint(0, 6))]
    settled, _problems = check_answers(
        schema, generated.answers(rng, content, speakers), speakers, complete=False
    )
    settled_twice, problems = check_answers(schema, settled, speakers, complete=False)
    assert (settled_twice, problems) == (settled, [])


@pytest.mark.parametrize("seed", range(60))
def test_missing_answers_match_is_required(seed: int) -> None:
    """`missing` contains exactly the unanswered questions for which `is_required` is true."""
    rng = Random(seed)
    content = generated.content(rng)
    schema = read_schema(content)
    speakers = [rng.choice(generated.SPEAKERS) for _ in range(4)]
    sent, _ = check_answers(schema, generated.answers(rng, content, speakers), speakers, complete=False)
    _, problems = check_answers(schema, sent, speakers, complete=True)
    expected = set()
    for question in schema.questions:
        places: list[tuple[int | None, str | None]] = [(None, None)]
        if question.scope == Scope.UTTERANCE:
            places = list(enumerate(speakers))
        for position, speaker in places:
            answered = sent["dialogue"] if position is None else sent["utterances"].get(str(position), {})
            if question.key not in answered and is_required(question, sent, speaker, position):
                expected.add(question.key if position is None else f"{position}/{question.key}")
    assert {problem.path for problem in problems} == expected
    assert all(isinstance(problem, AnswerProblem) and problem.code == "missing" for problem in problems)
