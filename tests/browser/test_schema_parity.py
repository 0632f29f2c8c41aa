"""The rules of a schema mean the same in the browser as on the server: generated cases through both."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Browser, Page

from annotation.labelling.schema.answers import check_answers, is_required, is_shown
from annotation.labelling.schema.questions import Scope
from annotation.labelling.schema.reading import read_schema
from annotation.project_setup.presets.registry import PRESETS
from tests.annotation.labelling.schema import generated

CASES = 800
MODULE = Path(settings.BASE_DIR, "frontend/static/js/labelling/schema_rules.js")
RUN = """async ([source, cases]) => {
    const { Rules } = await import(source);
    return cases.map(({ content, speakers, answers }) => {
        const rules = new Rules(content, speakers);
        const settled = rules.settle(answers);
        const places = (question) => question.scope === "dialogue" ? [null] : [...speakers.keys()];
        const each = (asks) => content.questions.flatMap((question) =>
            places(question).filter((place) => asks(question, place))
                .map((place) => place === null ? question.key : `${place}/${question.key}`));
        return {
            settled,
            shown: each((question, place) => rules.applies(question, settled, place)),
            required: each((question, place) => rules.isRequired(question, settled, place)),
            missing: rules.missing(settled),
        };
    });
}"""


@pytest.fixture
def blank(chromium_browser: Browser) -> Iterator[Page]:
    page = chromium_browser.new_page()
    yield page
    page.close()


def case(seed: int) -> dict[str, Any]:
    rng = Random(seed)
    presets = [preset.schema for preset in PRESETS.values() if preset.schema]
    content = dict(rng.choice(presets)) if seed % 5 == 0 else generated.content(rng)
    speakers = [rng.choice([*generated.SPEAKERS, "assistant", "else"]) for _ in range(rng.randint(0, 5))]
    return {"content": content, "speakers": speakers, "answers": generated.answers(rng, content, speakers)}


def on_the_server(content: Any, speakers: list[str], answers: Any) -> dict[str, Any]:
    schema = read_schema(content)
    settled, _ = check_answers(schema, answers, speakers, complete=False)
    _, problems = check_answers(schema, settled, speakers, complete=True)
    places = [
        (question, position, speaker)
        for question in schema.questions
        for position, speaker in (
            [(None, None)] if question.scope is Scope.DIALOGUE else list(enumerate(speakers))
        )
    ]

    def each(applies: Any) -> list[str]:
        applicable = [
            (question, at) for question, at, speaker in places if applies(question, settled, speaker, at)
        ]
        return [question.key if at is None else f"{at}/{question.key}" for question, at in applicable]

    missing = [problem.path for problem in problems]
    return {"settled": settled, "shown": each(is_shown), "required": each(is_required), "missing": missing}


def test_the_browser_settles_answers_as_the_server_does(blank: Page) -> None:
    cases = [case(seed) for seed in range(CASES)]
    source = f"data:text/javascript;base64,{base64.b64encode(MODULE.read_bytes()).decode()}"
    results = blank.evaluate(RUN, [source, json.loads(json.dumps(cases))])
    for seed, (inputs, result) in enumerate(zip(cases, results, strict=True)):
        expected = on_the_server(**inputs)
        assert result == expected, f"seed {seed}"
        assert [list(row) for row in _rows(result)] == [list(row) for row in _rows(expected)], (
            f"order, seed {seed}"
        )
    assert sum(bool(result["missing"]) for result in results) > CASES / 10
    assert sum(bool(result["settled"]["utterances"]) for result in results) > CASES / 10


def _rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [result["settled"]["dialogue"], *result["settled"]["utterances"].values()]
