"""Every sentence has its Chinese, and the compiled file says the same as the text file."""

from pathlib import Path

from babel.messages.catalog import Catalog
from django.utils import translation

from config import messages
from dialogues.parsing.problems import explain


def test_no_message_lacks_its_chinese_and_the_compiled_file_is_fresh() -> None:
    assert messages.problems() == []


def test_templates_and_code_are_both_read(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        "{% load i18n %}\n  {% translate 'One' %}\n{% blocktranslate count n=n %}{{ n }} turn{% plural %}"
        "{{ n }} turns{% endblocktranslate %}\n    <b>it's {{ _('Two') }}</b>\n{% translate 'May' context 'month' %}"
    )
    found = messages.collect_from([page], root=tmp_path)
    said = {(message.context, message.id) for message in found if message.id}
    assert said == {(None, "One"), (None, "Two"), ("month", "May"), (None, ("%(n)s turn", "%(n)s turns"))}


def test_what_is_said_inside_an_f_string_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.py"
    page.write_text("def line(n):\n    return f\"{_('Total')}: {n} {gettext('rows')}\"\n")
    found = messages.collect_from([page], root=tmp_path)
    assert {message.id for message in found if message.id} == {"Total", "rows"}


def test_a_missing_and_an_uncertain_translation_are_named_with_their_place() -> None:
    said, known = Catalog(), Catalog()
    for text in ("kept", "new", "guessed"):
        said.add(text, locations=[("frontend/page.html", 7)])
    known.add("kept", "留")
    known.add("guessed", "猜", flags=["fuzzy"])
    assert messages.untranslated(said, known) == [
        "frontend/page.html:7: 'new'",
        "frontend/page.html:7: 'guessed'",
    ]


def test_what_python_says_about_broken_json_is_chinese_too() -> None:
    with translation.override("zh-hans"):
        cause, _remedy = explain("not_json", {"detail": "Extra data", "column": 3})
    assert cause == "不是合法的 JSON：JSON 之后有多余内容（第 3 个字符）。"
