"""Every sentence has its Chinese, and the compiled file says the same as the text file."""

import re
from pathlib import Path

from babel.messages.catalog import Catalog
from django.utils import translation

from config import messages
from dialogues.parsing.row_errors import explain_row_error


def test_no_message_lacks_its_chinese_and_the_compiled_file_is_fresh() -> None:
    assert messages.problems() == []


def test_templates_and_code_are_both_read(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        "{% load i18n %}\n  {% translate 'One' %}\n{% blocktranslate count n=n %}{{ n }} turn{% plural %}"
        "{{ n }} turns{% endblocktranslate %}\n    <b>it's {{ _('Two') }}</b>\n{% translate 'May' context 'month' %}"
    )
    collected = messages.collect_from([page], root=tmp_path)
    messages_found = {(message.context, message.id) for message in collected if message.id}
    assert messages_found == {
        (None, "One"),
        (None, "Two"),
        ("month", "May"),
        (None, ("%(n)s turn", "%(n)s turns")),
    }


def test_messages_inside_f_strings_are_collected(tmp_path: Path) -> None:
    page = tmp_path / "page.py"
    page.write_text("def line(n):\n    return f\"{_('Total')}: {n} {gettext('rows')}\"\n")
    collected = messages.collect_from([page], root=tmp_path)
    assert {message.id for message in collected if message.id} == {"Total", "rows"}


def test_scripts_are_read_into_a_catalog_of_their_own(tmp_path: Path) -> None:
    script = tmp_path / "page.js"
    script.write_text(
        """class Page {
          #count = 0;
          show(n) {
            const digit = /["'`]/u;
            this.messages.gettext("One");
            return `${format(ngettext("{n} turn", "{n} turns", n), { n })} ${pgettext("month", "May")}`;
          }
        }"""
    )
    collected = messages.collect_from_scripts([script], root=tmp_path)
    messages_found = {(message.context, message.id) for message in collected if message.id}
    assert messages_found == {(None, "One"), ("month", "May"), (None, ("{n} turn", "{n} turns"))}


def test_no_message_of_a_script_escapes_the_collection() -> None:
    collected = {
        messages.key(message)[1]
        for message in messages.collect_from_scripts(messages.script_sources(), root=messages.ROOT)
    }
    for script in messages.script_sources():
        code = re.sub(r"/\*.*?\*/|^ *//.*$", "", script.read_text(), flags=re.DOTALL | re.MULTILINE)
        called = set(re.findall(r'\bn?gettext\(\s*"([^"\\]+)"', code))
        assert called <= collected, script


def test_a_missing_and_an_uncertain_translation_are_named_with_their_place() -> None:
    wanted, translated = Catalog(), Catalog()
    for text in ("kept", "new", "guessed"):
        wanted.add(text, locations=[("frontend/page.html", 7)])
    translated.add("kept", "留")
    translated.add("guessed", "猜", flags=["fuzzy"])
    assert messages.untranslated(wanted, translated) == [
        "frontend/page.html:7: 'new'",
        "frontend/page.html:7: 'guessed'",
    ]


def test_pythons_message_about_broken_json_is_chinese_too() -> None:
    with translation.override("zh-hans"):
        cause, _remedy = explain_row_error("not_json", {"detail": "Extra data", "column": 3})
    assert cause == "不是合法的 JSON：JSON 之后有多余内容（第 3 个字符）。"
