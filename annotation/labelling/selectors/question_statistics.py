"""What one question's ratings say of its raters and of the weeks: bias, spread, and the course of agreement."""

from dataclasses import asdict
from datetime import date, timedelta
from typing import Any, Final

import numpy as np

from annotation.labelling.schema.questions import Question
from annotation.labelling.selectors.agreement import by_item, table_agreement
from annotation.labelling.selectors.ratings import NUMBERED, RatingTable
from measures.agreement import percent_agreement
from measures.bootstrap import Ints
from measures.icc import icc
from measures.raters import rater_bias, z_scores
from measures.ratings import Ratings

EPOCH: Final = date(1970, 1, 1)
# The longest spans in days that are counted by day, and by week; longer ones are counted by month.
DAYS, WEEKS = 60, 420


def question_statistics(table: RatingTable) -> dict[str, Any]:
    """Everything about one question as plain JSON.

    {"name", "kind", "speaker", "raters", "ratings", "measures", "people", "scale", "unit", "course"}; see the functions
    below. "scale" is None for questions whose answers are no numbers.
    """
    question, agreement = table.asked.question, table_agreement(table)
    numbered = is_numbered(question)
    return {
        "name": agreement.name,
        "kind": str(question.kind),
        "raters": agreement.raters,
        "ratings": agreement.ratings,
        "measures": {name: estimate.as_dict() for name, estimate in agreement.measures.items()},
        "people": _people(table, numbered=numbered),
        "scale": _scale(table.ratings) if numbered else None,
        **_course(table),
    }


def is_numbered(question: Question) -> bool:
    return question.kind in NUMBERED


def _people(table: RatingTable, *, numbered: bool) -> list[dict[str, Any]]:
    """One a rater: {"id", "n", "agrees", "pairs"}, of numbers also {"mean", "sd", "bias"}.

    agrees: share of the pairs with others' ratings of the same items that are equal, None without such pairs.
    sd: None below two ratings; 0 where they are all equal: such a rater has no z-scores.
    """
    ratings = table.merged()
    counts = ratings.counts()
    others = counts.sum(axis=1)[ratings.item] - 1
    same = counts[ratings.item, ratings.code] - 1
    people = [
        {"id": person, "n": n, "agrees": equal / pairs if pairs else None, "pairs": pairs}
        for person, n, equal, pairs in zip(
            ratings.raters,
            *(_by_rater(ratings, one) for one in (np.ones_like(same), same, others)),
            strict=True,
        )
    ]
    if numbered:
        for one, bias, spread in zip(
            people, rater_bias(table.ratings), z_scores(table.ratings).spreads, strict=True
        ):
            told = {name: value for name, value in asdict(bias).items() if name != "rater"}
            one |= {"mean": spread.mean, "sd": spread.sd, "bias": told}
    return people


def _by_rater(ratings: Ratings, values: Ints) -> list[int]:
    sums = np.bincount(ratings.rater, values, minlength=len(ratings.raters))
    return [round(total) for total in sums.tolist()]


def _scale(ratings: Ratings) -> dict[str, Any]:
    """Whether z-scores bring people together: {"raw", "z"}, the ICC(1,1) before and after.

    excluded: raters without variance, who have no z-scores; left_out: their ratings.
    """
    scored = z_scores(ratings)
    return {
        "raw": icc(by_item(ratings.item, ratings.values())).as_dict(),
        "z": icc(by_item(scored.item, scored.z)).as_dict(),
        "excluded": len(scored.excluded),
        "left_out": scored.left_out,
    }


def _course(table: RatingTable) -> dict[str, Any]:
    """Percent agreement of the items whose last rating came in each period, oldest first, gaps included.

    {"unit": "day" | "week" | "month", "course": [{"start", "value", "low", "high", "n"}]}
    """
    ratings = table.merged()
    if not ratings.item.size:
        return {"unit": "day", "course": []}
    counts, completed = ratings.counts(), np.zeros(len(ratings.items), np.int64)
    np.maximum.at(completed, ratings.item, table.day)
    rated = counts.sum(axis=1) >= 2
    counts, completed = counts[rated], completed[rated]
    if not completed.size:
        return {"unit": "day", "course": []}
    span = int(completed.max() - completed.min())
    unit = "day" if span <= DAYS else "week" if span <= WEEKS else "month"
    starts = _starts(completed, unit)
    at, course = int(starts.min()), []
    while at <= int(starts.max()):
        told = percent_agreement(counts[starts == at]).as_dict()
        course.append({"start": (EPOCH + timedelta(at)).isoformat(), **told})
        at = _next(at, unit)
    return {"unit": unit, "course": course}


def _starts(days: Ints, unit: str) -> Ints:
    """The first day of each one's period; weeks begin on Monday. The first of January 1970 was a Thursday."""
    if unit == "day":
        return days
    if unit == "week":
        weeks: Ints = (days + 3) // 7 * 7 - 3
        return weeks
    months = days.astype("datetime64[D]").astype("datetime64[M]")
    return months.astype("datetime64[D]").astype(np.int64)


def _next(start: int, unit: str) -> int:
    if unit == "month":
        later = (EPOCH + timedelta(start + 32)).replace(day=1)
        return (later - EPOCH).days
    return start + (7 if unit == "week" else 1)
