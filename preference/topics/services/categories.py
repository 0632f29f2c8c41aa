"""The topics of a project: editing the list, setting the topic of a dialogue, and the column `topic` of an import."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from common.refusals import Invalid
from dialogues.models import TOPIC_CHARS, Dialogue, TopicSource
from dialogues.parsing.parsed_dialogue import ParsedDialogue
from dialogues.selectors import NO_TOPIC
from dialogues.services.storing import NewDialogues
from dialogues.services.topics import MACHINES, set_topic
from preference.topics.models import TopicList
from preference.topics.selectors import categories_of, ids_by_name
from preference.training.topics.categories import CATEGORIES, Category
from projects.locking import lock_project
from projects.models import Project
from projects.transitions import record

MOST_CATEGORIES = 200
NAME_CHARS = 80
ID = re.compile(rf"[a-z0-9][a-z0-9_-]{{0,{TOPIC_CHARS - 1}}}")
COLUMN, SOURCE_COLUMN = "topic", "topic_source"  # of imported and exported rows


@transaction.atomic
def set_categories(
    *, project: Project, actor: User | None, categories: Sequence[Mapping[str, str]]
) -> tuple[Category, ...]:
    """Replace the topics of the project; an empty list brings the usual ones back. The same list writes no event.

    Dialogues keep a topic that is no longer in the list. Raises Invalid.
    """
    chosen = check_categories(categories) if categories else CATEGORIES
    lock_project(project.pk)
    before = categories_of(project)
    if chosen == before:
        return chosen
    if chosen == CATEGORIES:
        TopicList.objects.filter(project=project).delete()
    else:
        rows = [asdict(category) for category in chosen]
        TopicList.objects.update_or_create(project=project, defaults={"categories": rows})
    data = {"before": [one.id for one in before], "after": [one.id for one in chosen]}
    record(project, kind="topics", project=project, actor=actor, data=data)
    return chosen


def check_categories(rows: Sequence[Mapping[str, str]]) -> tuple[Category, ...]:
    """The categories of these rows. Raises Invalid."""
    categories = tuple(Category(*(row.get(key, "").strip() for key in ("id", "en", "zh"))) for row in rows)
    if not 2 <= len(categories) <= MOST_CATEGORIES:
        raise _invalid(_("A project has from 2 to %(most)d topics."), most=MOST_CATEGORIES)
    for category in categories:
        _check_category(category)
    for name in ("id", "en", "zh"):
        values = [getattr(category, name).casefold() for category in categories]
        if twice := next((value for value in values if values.count(value) > 1), None):
            raise _invalid(_("“%(name)s” appears twice."), name=twice)
    return categories


def _check_category(category: Category) -> None:
    if not ID.fullmatch(category.id) or category.id == NO_TOPIC:
        raise _invalid(
            _("“%(id)s” is not an id: use small letters, digits, - and _, at most %(most)d characters."),
            id=category.id[:80],
            most=TOPIC_CHARS,
        )
    for name in (category.en, category.zh):
        if not name or len(name) > NAME_CHARS or not name.isprintable():
            raise _invalid(
                _(
                    "“%(id)s” needs a name in English and one in Chinese, each of at most %(most)d characters."
                ),
                id=category.id,
                most=NAME_CHARS,
            )


def _invalid(message: str, **values: object) -> Invalid:
    return Invalid(message % values, _("Correct the list of topics."), field="categories")


def choose_topic(*, dialogue: Dialogue, topic: str, actor: User | None) -> Dialogue:
    """Set one of the project's topics as a person's choice; "" removes it. Raises Invalid."""
    known = [category.id for category in categories_of(dialogue.project)]
    if topic and topic not in known:
        raise Invalid(
            _("The project has no topic “%(topic)s”.") % {"topic": topic[:80]},
            _("Choose one of: %(names)s.") % {"names": ", ".join(known)},
            field="topic",
        )
    return set_topic(dialogue=dialogue, topic=topic, actor=actor)


def read_imported_topics(project: Project, new: NewDialogues) -> None:
    """Take the topic of new dialogues out of their metadata. What is not a topic of the project stays there."""
    given = [_given_topic(dialogue, parsed) for dialogue, parsed in new]
    if not any(given):
        return
    ids = ids_by_name(categories_of(project))
    for (dialogue, _parsed), name in zip(new, given, strict=True):
        topic = ids.get(name.strip().casefold())
        if topic:
            dialogue.metadata.pop(COLUMN, None)
            # An exported file says which topics are of a machine: another machine may replace them.
            source = dialogue.metadata.pop(SOURCE_COLUMN, "")
            dialogue.topic = topic
            dialogue.topic_source = source if source in MACHINES else TopicSource.IMPORTED


def _given_topic(dialogue: Dialogue, parsed: ParsedDialogue) -> str:
    """The topic that the row names, or that all its utterances name: a table has a row for each utterance."""
    values = {utterance.metadata.get(COLUMN) for utterance in parsed.utterances}
    value: Any = dialogue.metadata.get(COLUMN) or (values.pop() if len(values) == 1 else "")
    return value if isinstance(value, str) else ""
