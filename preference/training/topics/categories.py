"""The topics that a dialogue can have, one of them each.

Diamante's topics come from a tagger with 26 main categories (appendix B.3, figure 6). The paper names five of them:
society, entertainment, people, education, food and drink. The others here are the usual sections of a Chinese portal. A
file can name others:

    [{"id": "food", "en": "Food and drink", "zh": "美食"}, …]
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preference.training.assessor.task import PredictionTask
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _


@dataclass(frozen=True, slots=True)
class Category:
    """id: in data and models. en, zh: the name in each language."""

    id: str
    en: str
    zh: str


CATEGORIES = tuple(
    Category(*names)
    for names in (
        ("society", "Society", "社会"),
        ("entertainment", "Entertainment", "娱乐"),
        ("people", "People", "人物"),
        ("education", "Education", "教育"),
        ("food", "Food and drink", "美食"),
        ("sports", "Sports", "体育"),
        ("travel", "Travel", "旅游"),
        ("health", "Health", "健康"),
        ("technology", "Technology", "科技"),
        ("finance", "Finance", "财经"),
        ("relationships", "Love and relationships", "情感"),
        ("cars", "Cars", "汽车"),
        ("games", "Games", "游戏"),
        ("fashion", "Fashion", "时尚"),
        ("culture", "Culture", "文化"),
        ("history", "History", "历史"),
        ("music", "Music", "音乐"),
        ("home", "Home", "家居"),
        ("pets", "Pets", "宠物"),
        ("parenting", "Parenting", "育儿"),
        ("military", "Military", "军事"),
        ("world", "World", "国际"),
        ("news", "Current affairs", "时事"),
        ("animation", "Comics and animation", "动漫"),
        ("astrology", "Astrology", "星座运势"),
        ("other", "Other", "其他"),
    )
)


def topic_task(categories: tuple[Category, ...], column: str) -> PredictionTask:
    """Telling these topics apart. In the data a topic is an id, or a name in either language."""
    names = {name: one.id for one in categories for name in (one.en, one.zh)}
    return PredictionTask(
        tuple(one.id for one in categories), ordered=False, column=column, other_names=names
    )


def read_categories(file: Path) -> tuple[Category, ...]:
    """The categories of a JSON file. Raises TrainingError for a broken file, fewer than two, or an id used twice."""
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TrainingError(
            _("%(file)s cannot be read: %(reason)s.") % {"file": file, "reason": error},
            _("Name a JSON file with a list of categories."),
        ) from error
    if not isinstance(rows, list) or len(rows) < 2 or not all(map(_is_category, rows)):
        raise TrainingError(
            _("%(file)s must hold a list of at least two objects with the texts `id`, `en` and `zh`.")
            % {"file": file},
            _("Correct the file."),
        )
    categories = tuple(Category(row["id"], row["en"], row["zh"]) for row in rows)
    if len({one.id for one in categories}) < len(categories):
        raise TrainingError(
            _("Two categories in %(file)s have the same id.") % {"file": file}, _("Correct the file.")
        )
    return categories


def _is_category(row: Any) -> bool:
    return isinstance(row, dict) and all(
        isinstance(row.get(key), str) and row[key] for key in ("id", "en", "zh")
    )
