"""Lists of questions that people answer about a dialogue: reading, checking and answering them. Knows no models.

A schema is data (`content`, JSON; people write it as YAML); frontend/static/js/schema.js is its mirror in the browser.
"""

from annotation.schemas.answers import (
    AnswerProblem,
    Answers,
    applies,
    check_answers,
    compared,
    differences,
    is_required,
    pairs_apart,
)
from annotation.schemas.conditions import All, AnyOf, Condition, Includes, Not, OneOf, Spoken
from annotation.schemas.problems import Problem, SchemaErrors
from annotation.schemas.questions import Implied, Kind, Nugget, Option, Question, Schema, Scope, Text, Value
from annotation.schemas.reading import read
from annotation.schemas.written import canonical, sha256_of
from annotation.schemas.yaml_text import read_yaml, to_yaml

__all__ = [
    "All",
    "AnswerProblem",
    "Answers",
    "AnyOf",
    "Condition",
    "Implied",
    "Includes",
    "Kind",
    "Not",
    "Nugget",
    "OneOf",
    "Option",
    "Problem",
    "Question",
    "Schema",
    "SchemaErrors",
    "Scope",
    "Spoken",
    "Text",
    "Value",
    "applies",
    "canonical",
    "check_answers",
    "compared",
    "differences",
    "is_required",
    "pairs_apart",
    "read",
    "read_yaml",
    "sha256_of",
    "to_yaml",
]
