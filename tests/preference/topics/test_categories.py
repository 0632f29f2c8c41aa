"""The topics of a project: its list, a dialogue's topic, and topics in files that come and go."""

from collections.abc import Callable

import pytest

from accounts.models import User
from common.refusals import Invalid
from dialogues.models import Dialogue
from dialogues.selectors import NO_TOPIC, dialogues_of
from jobs.models import Job
from preference.topics.models import TopicList
from preference.topics.selectors import categories_of, count_topics, topic_names
from preference.topics.services.categories import choose_topic, set_categories
from preference.training.topics.categories import CATEGORIES
from projects.models import Event, Project
from tests.frontend.data_pages import imported
from tests.preference.conftest import Rows

pytestmark = pytest.mark.django_db
BANK = [
    {"id": "card", "en": "Cards", "zh": "银行卡"},
    {"id": "loan", "en": "Loans", "zh": "贷款"},
]


def spoken(**more: str) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": "I drink tea."}], **more}


def test_a_project_begins_with_the_usual_topics(project: Project, mara: User) -> None:
    assert categories_of(project) == CATEGORIES
    assert len(topic_names(project)) == 26
    set_categories(project=project, actor=mara, categories=BANK)
    assert topic_names(project) == {"card": "Cards", "loan": "Loans"}
    set_categories(project=project, actor=mara, categories=BANK)
    assert Event.objects.filter(kind="topics").count() == 1
    set_categories(project=project, actor=mara, categories=[])
    assert categories_of(project) == CATEGORIES
    assert not TopicList.objects.exists()


@pytest.mark.parametrize(
    "rows",
    [
        BANK[:1],
        [*BANK, {"id": "Card 2", "en": "More", "zh": "更多"}],
        [*BANK, {"id": NO_TOPIC, "en": "More", "zh": "更多"}],
        [*BANK, {"id": "more", "en": "", "zh": "更多"}],
        [*BANK, {"id": "card", "en": "More", "zh": "更多"}],
        [*BANK, {"id": "more", "en": "cards", "zh": "更多"}],
        [*BANK, {"id": "more", "en": "x" * 81, "zh": "更多"}],
    ],
)
def test_a_broken_list_is_refused(project: Project, rows: list[dict[str, str]]) -> None:
    with pytest.raises(Invalid):
        set_categories(project=project, actor=None, categories=rows)
    assert categories_of(project) == CATEGORIES


def test_a_person_sets_and_removes_the_topic_of_a_dialogue(
    project: Project, mara: User, imports: Callable[..., Job]
) -> None:
    imports([spoken()], "messages")
    dialogue = Dialogue.objects.get()
    for _twice in range(2):
        choose_topic(dialogue=dialogue, topic="food", actor=mara)
    dialogue.refresh_from_db()
    assert (dialogue.topic, dialogue.topic_source) == ("food", "person")
    event = Event.objects.get(kind="topic")
    assert event.data == {"topic": "food", "before": {"topic": "", "source": ""}}
    with pytest.raises(Invalid):
        choose_topic(dialogue=dialogue, topic="weather", actor=mara)
    assert choose_topic(dialogue=dialogue, topic="", actor=mara).topic_source == ""


def test_a_file_names_topics_by_id_or_name(project: Project, imports: Callable[..., Job]) -> None:
    given = ["food", " Food and Drink ", "美食", "weather", ""]
    imports([spoken(id=str(n), topic=topic) for n, topic in enumerate(given)], "messages")
    rows = list(Dialogue.objects.order_by("id"))
    assert [row.topic for row in rows] == ["food", "food", "food", "", ""]
    assert [row.topic_source for row in rows] == ["imported"] * 3 + ["", ""]
    assert [row.metadata for row in rows] == [{}, {}, {}, {"topic": "weather"}, {"topic": ""}]
    assert list(dialogues_of(project, topic="food")) == rows[:3]
    assert list(dialogues_of(project, topic=NO_TOPIC)) == rows[3:]


def test_a_table_names_the_topic_in_every_row(project: Project) -> None:
    table = "dialogue_id,speaker,text,topic\na,A,Tea?,food\na,B,Yes,food\nb,A,Cats,pets\nb,B,No,food\n"
    assert not imported(project, table, "csv").error
    named = Dialogue.objects.order_by("external_id").values_list("external_id", "topic")
    assert list(named) == [("a", "food"), ("b", "")]


def test_an_exported_topic_comes_back_as_it_was(
    project: Project, mara: User, imports: Callable[..., Job], rows: Rows
) -> None:
    imports([spoken(id="a", topic="food"), spoken(id="b"), spoken(id="c", topic="weather")], "messages")
    Dialogue.objects.filter(external_id="b").update(topic="pets", topic_source="judge")
    exported = rows("diamante")
    assert [(row.get("topic"), row.get("topic_source")) for row in exported] == [
        ("food", "imported"),
        ("pets", "judge"),
        ("weather", None),
    ]
    Dialogue.objects.all().delete()
    imports(exported)
    again = Dialogue.objects.order_by("id")
    assert [(row.topic, row.topic_source) for row in again] == [
        ("food", "imported"),
        ("pets", "judge"),
        ("", ""),
    ]


def test_topics_are_counted_by_language_and_source(project: Project, imports: Callable[..., Job]) -> None:
    imports([spoken(id=str(n), topic="food", language="en") for n in range(3)], "messages")
    imports([spoken(id="zh", language="zh")], "messages")
    counted = {(one.topic, one.language, one.source): one.dialogues for one in count_topics(project)}
    assert counted == {("food", "en", "imported"): 3, ("", "zh", ""): 1}
