"""Lists of questions that people answer about a dialogue: reading, checking and answering them. Knows no models.

A schema is data (`content`, JSON; people write it as YAML). frontend/static/js/labelling/schema.js applies the same
rules in the browser.
"""

from annotation.labelling.schema.answers import (
    AnswerProblem,
    Answers,
    applies,
    check_answers,
    compared,
    differences,
    is_required,
    pairs_apart,
)
from annotation.labelling.schema.conditions import All, AnyOf, Condition, Includes, Not, OneOf, Spoken
from annotation.labelling.schema.problems import Problem, SchemaErrors
from annotation.labelling.schema.questions import (
    Implied,
    Kind,
    Nugget,
    Option,
    Question,
    Schema,
    Scope,
    Text,
    Value,
)
from annotation.labelling.schema.reading import read
from annotation.labelling.schema.writing import canonical, sha256_of
from annotation.labelling.schema.yaml_text import read_yaml, to_yaml

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
