"""UCH over a whole project: its two ways of merging people (AUCH, CUCH), and Kendall's τ with their ratings.

DCH paper, section 5: ratings are z-scores of each annotator, averaged over the annotators of a dialogue.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from annotation.labelling.schema.questions import Scope
from annotation.labelling.selectors.helpdesk import (
    annotated_dialogues,
    longest_dialogue_length,
    nugget_question,
)
from annotation.labelling.selectors.question_statistics import has_numeric_answers
from annotation.labelling.selectors.ratings import RatingTable
from measures.correlation import kendall
from measures.helpdesk import ALPHA
from measures.helpdesk_collection import (
    AnnotatedDialogue,
    Collection,
    Scores,
    build_collection,
    tau_with_ratings,
)
from measures.raters import z_scores
from measures.voting import majority
from projects.models import Project

PATIENCES: Final = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4)  # of the longest dialogue, as in Figure 4
ALPHAS: Final = tuple(n / 10 for n in range(11))
MAX_BINS: Final = 20
STEPS: Final = 2 + len(PATIENCES) + len(ALPHAS)  # how often `uch_statistics` calls `advance`


def uch_statistics(
    project: Project, tables: Sequence[RatingTable], advance: Callable[[], object] = lambda: None
) -> dict[str, Any] | None:
    """Plain JSON, or None if the schema has no nugget types. tables: the ratings of the project's questions.

    {"L", "alpha", "position", "dialogues", "labellings", "auch", "cuch", "bins", "spare", "ties", "tau",
    "by_patience", "by_alpha"}; "tau": {question: {"auch", "cuch"}}, "by_…": {question: [{"x", "value", …}]}.
    """
    question = nugget_question(project)
    if question is None:
        return None
    annotated = list(annotated_dialogues(project, question))
    collection = build_collection(dialogue for _key, dialogue in annotated)
    advance()
    patience = longest_dialogue_length(project)
    scores = collection.score(patience=patience)
    ratings = {
        table.rated.name: mean_z(table, [key for key, _dialogue in annotated])
        for table in tables
        if table.rated.question.scope is Scope.DIALOGUE and has_numeric_answers(table.rated.question)
    }
    summary = {
        "L": patience,
        "alpha": ALPHA,
        "position": "start",
        "dialogues": len(collection.ids),
        "labellings": len(collection.labellings),
        "auch": _mean(scores.auch),
        "cuch": _mean(scores.cuch),
        "bins": bins(scores),
        "spare": _spare_goals(collection),
        "ties": ties([dialogue for _key, dialogue in annotated]),
        "tau": {
            name: {
                "auch": tau_with_ratings(scores.auch, rated).as_dict(),
                "cuch": tau_with_ratings(scores.cuch, rated).as_dict(),
            }
            for name, rated in ratings.items()
        },
    }
    advance()

    def sweep(points: Iterable[tuple[float, Scores]]) -> dict[str, list[dict[str, Any]]]:
        curves: dict[str, list[dict[str, Any]]] = {name: [] for name in ratings}
        for x, at in points:
            for name, rated in ratings.items():
                # Bootstrap intervals of 100 points would take half a minute; the delta method's look the same.
                curves[name].append({"x": x, **kendall(at.auch, rated, bootstrap_up_to=0).as_dict()})
            advance()
        return curves

    lengths = [max(1, round(patience * share)) for share in PATIENCES]
    return summary | {
        "by_patience": sweep((length, collection.score(patience=length)) for length in lengths),
        "by_alpha": sweep((alpha, collection.score(patience=patience, alpha=alpha)) for alpha in ALPHAS),
    }


def mean_z(table: RatingTable, dialogues: Sequence[int]) -> list[float | None]:
    """The mean z-score of each dialogue; None without ratings, or if its raters never vary."""
    means = z_scores(table.ratings).item_means()
    return [means.get(dialogue) for dialogue in dialogues]


def bins(scores: Scores) -> dict[str, Any]:
    """Histograms of UCH: {"width", "auch": [n], "cuch": [n]}; the first bin begins at 0."""
    both = [
        np.array([value for value in side if value is not None], np.float64)
        for side in (scores.auch, scores.cuch)
    ]
    highest = max((float(side.max()) for side in both if side.size), default=0.0)
    width = next(
        (width for width in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if highest / width < MAX_BINS), 100.0
    )
    edges = np.arange(int(highest / width) + 2) * width
    histograms = [np.histogram(np.minimum(side, edges[-1]), edges)[0].tolist() for side in both]
    return {"width": width, "auch": histograms[0], "cuch": histograms[1]}


def ties(dialogues: Sequence[AnnotatedDialogue]) -> dict[str, int]:
    """Count utterances without a majority label, and the dialogues that have one: {"dialogues", "utterances"}."""
    tied = [tied_utterances(dialogue) for dialogue in dialogues]
    return {"dialogues": sum(map(bool, tied)), "utterances": sum(tied)}


def tied_utterances(dialogue: AnnotatedDialogue) -> int:
    return sum(majority(votes) is None for votes in zip(*dialogue.labellings.values(), strict=True))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _spare_goals(collection: Collection) -> dict[str, int]:
    """Goal nuggets after a side's first one, and how many labellings and dialogues contain them."""
    having = np.flatnonzero(collection.spare_goals)
    return {
        "nuggets": int(collection.spare_goals.sum()),
        "labellings": int(having.size),
        "dialogues": int(np.unique(collection.dialogue[having]).size),
    }
