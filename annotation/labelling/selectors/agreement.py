"""Agreement between people on every question of a labelling project."""

from dataclasses import dataclass

import numpy as np

from annotation.labelling.schema.questions import Kind
from annotation.labelling.selectors.ratings import RatingTable, rating_tables
from measures.agreement import Level, fleiss_kappa, krippendorff_alpha, percent_agreement, randolph_kappa
from measures.bootstrap import Floats, Ints
from measures.estimate import Estimate
from measures.icc import icc
from measures.ratings import Ratings, numeric_categories
from projects.models import Project

LEVELS: dict[Kind, Level] = {Kind.SCALE: "ordinal", Kind.SLIDER: "interval"}


@dataclass(frozen=True, slots=True)
class QuestionAgreement:
    """Agreement on one question, by measure. A slider has an ICC and no κ, because it has no categories."""

    name: str
    raters: int
    ratings: int
    measures: dict[str, Estimate]


def project_agreement(project: Project) -> list[QuestionAgreement]:
    """One entry per question, in the schema's order."""
    return [table_agreement(table) for table in rating_tables(project)]


def agreement_by_question(project: Project) -> dict[str, dict[str, dict[str, float | int | None]]]:
    """{question: {measure: {"value", "low", "high", "n"}}}."""
    return {
        question.name: {measure: estimate.as_dict() for measure, estimate in question.measures.items()}
        for question in project_agreement(project)
    }


def table_agreement(table: RatingTable) -> QuestionAgreement:
    ratings, kind = table.merged_ratings(), table.rated.question.kind
    measures = _slider_measures(ratings) if kind is Kind.SLIDER else _option_measures(ratings, kind)
    return QuestionAgreement(table.rated.name, len(ratings.raters), len(ratings.item), measures)


def _option_measures(ratings: Ratings, kind: Kind) -> dict[str, Estimate]:
    counts = ratings.counts()
    return {
        "percent": percent_agreement(counts),
        "fleiss_kappa": fleiss_kappa(counts),
        "randolph_kappa": randolph_kappa(counts),
        "krippendorff_alpha": krippendorff_alpha(counts, level=LEVELS.get(kind, "nominal")),
    }


def _slider_measures(ratings: Ratings) -> dict[str, Estimate]:
    values = numeric_categories(ratings.categories)
    alpha = krippendorff_alpha(
        ratings.counts(), level="interval", values=values if values.size else np.zeros(1)
    )
    return {"krippendorff_alpha": alpha, "icc": icc(by_item(ratings.item, ratings.values()), "1,1")}


def by_item(item: Ints, values: Floats) -> Floats:
    """Arrange ratings by item, padded with NaN.

    item, values: shape (ratings,). Returns shape (items, most ratings of one item), which stays narrow however many
    people took part.
    """
    order = np.argsort(item, kind="stable")
    sorted_item = item[order]
    n = np.bincount(item)
    place = np.arange(item.size) - (np.cumsum(n) - n)[sorted_item]
    rows = np.full((n.size, int(n.max(initial=1))), np.nan)
    rows[sorted_item, place] = values[order]
    return rows
