"""Random schemas and answers from a seed: every kind of question and condition, valid and invalid answers."""

from random import Random
from typing import Any

SPEAKERS = ("customer", "helpdesk", "bot")
KINDS = ("choice", "choices", "scale", "slider", "text")
WORDS = (
    "Is it good?",
    "Was the tone right?",
    "Why?",
    "How far?",
    "质量如何？",
    "为什么？",
    "语气合适吗？",
    "“yes”: no",
    "# 1",
)
WRONG: tuple[Any, ...] = (
    None,
    True,
    1.5,
    "",
    "  ",
    [],
    ["x", "x"],
    {},
    -999,
    "no such",
    [1],
    "\x00",
    "\u3000\n",
    "ü" * 40,
)


def text(rng: Random) -> dict[str, str]:
    return {"en": rng.choice(WORDS), "zh": rng.choice(WORDS)}


def options(rng: Random, kind: str, scope: str) -> list[dict[str, Any]]:
    numbers = list(range(-2, 5)) if kind == "scale" else [*range(-2, 3), "phone", "none", "CNUG*"]
    options: list[dict[str, Any]] = [
        {"value": value, "text": text(rng)} for value in rng.sample(numbers, rng.randint(1, 5))
    ]
    for option in options:
        if scope == "utterance" and rng.random() < 0.3:
            option["speakers"] = rng.sample(SPEAKERS, rng.randint(1, 2))
        if kind == "choices" and rng.random() < 0.2:
            option["alone"] = True
        if rng.random() < 0.2:
            option["guideline"] = text(rng)
            option["examples"] = [text(rng), text(rng)]
    return options


def values_of(question: dict[str, Any]) -> list[Any]:
    if "options" in question:
        return [option["value"] for option in question["options"]]
    return [question.get("min", 0), 7, question.get("max", 100)]


def condition(rng: Random, scope: str, before: list[dict[str, Any]], depth: int = 0) -> dict[str, Any]:
    askable = [
        earlier
        for earlier in before
        if earlier["kind"] != "text" and (scope == "utterance" or earlier["scope"] == "dialogue")
    ]
    roll = rng.random()
    if depth < 4 and roll < 0.45:
        parts = [condition(rng, scope, before, depth + 1) for _ in range(rng.randint(1, 3))]
        return rng.choice([{"all": parts}, {"any": parts}, {"not": parts[0]}])
    if scope == "utterance" and (roll > 0.85 or not askable):
        return {"speaker": rng.choice([rng.choice(SPEAKERS), rng.sample(SPEAKERS, 2)])}
    question = rng.choice(askable)
    if question["kind"] == "choices":
        return {"question": question["key"], "includes": rng.choice(values_of(question))}
    values = list(dict.fromkeys(values_of(question)))
    return {"question": question["key"], "in": rng.sample(values, rng.randint(1, len(values)))}


def question(rng: Random, n: int, before: list[dict[str, Any]]) -> dict[str, Any]:
    scope, kind = rng.choice(["dialogue", "utterance"]), rng.choice(KINDS)
    question: dict[str, Any] = {"key": f"q{n}", "scope": scope, "kind": kind, "text": text(rng)}
    if kind in ("choice", "choices", "scale"):
        question["options"] = options(rng, kind, scope)
    if kind == "slider" and rng.random() < 0.5:
        question |= {"min": -5, "max": 50, "low": text(rng), "high": text(rng)}
    if kind == "text" and rng.random() < 0.5:
        question["max_length"] = 20
    if scope == "utterance" and rng.random() < 0.3:
        question["speakers"] = rng.sample(SPEAKERS, rng.randint(1, 2))
    possible = scope == "utterance" or any(
        earlier["scope"] == "dialogue" and earlier["kind"] != "text" for earlier in before
    )
    if possible and rng.random() < 0.4:
        question["when"] = condition(rng, scope, before)
    if possible and rng.random() < 0.3:
        question["required"] = condition(rng, scope, before)
    elif rng.random() < 0.3:
        question["required"] = False
    free = (
        [value for value in values_of(question) if kind == "slider" or not _is_contained(question, value)]
        if kind != "text"
        else []
    )
    if possible and free and kind in ("choice", "scale", "slider") and rng.random() < 0.4:
        question["sets"] = [{"when": condition(rng, scope, before), "value": rng.choice(free)}]
    if rng.random() < 0.2:
        question["agree"] = rng.random() < 0.5
    return question


def _is_contained(question: dict[str, Any], value: Any) -> bool:
    return any("speakers" in option for option in question["options"] if option["value"] == value)


def content(rng: Random, most: int = 10) -> dict[str, Any]:
    """A valid schema. Its questions are shuffled, so that conditions also refer to later questions."""
    questions: list[dict[str, Any]] = []
    for n in range(rng.randint(1, most)):
        questions.append(question(rng, n, questions))
    rng.shuffle(questions)
    return {"questions": questions}


def value(rng: Random, question: dict[str, Any]) -> Any:
    if rng.random() < 0.12:
        return rng.choice(WRONG)
    if question["kind"] == "text":
        return rng.choice(["fine", "很好", "x" * 20, "x" * 21, "😀" * 20, " ", "two\nlines"])
    if question["kind"] == "slider":
        return rng.choice([-6, -5, 0, 7, 50, 51, 100, 101])
    values = values_of(question)
    return (
        rng.sample(values, rng.randint(1, len(values)))
        if question["kind"] == "choices"
        else rng.choice(values)
    )


def answers(rng: Random, schema: dict[str, Any], speakers: list[str]) -> dict[str, Any]:
    """Valid and invalid answers to shown and hidden questions."""

    def some(scope: str) -> dict[str, Any]:
        answered = [
            question for question in schema["questions"] if question["scope"] == scope and rng.random() < 0.8
        ]
        return {question["key"]: value(rng, question) for question in answered}

    return {
        "dialogue": some("dialogue"),
        "utterances": {str(n): some("utterance") for n in range(len(speakers)) if rng.random() < 0.8},
    }
