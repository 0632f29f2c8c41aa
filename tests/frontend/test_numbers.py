"""Counts have separators, in both languages."""

import re
from typing import Final

import pytest
from babel.messages.pofile import read_po
from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import override

from config.messages import PO

# What a project can have thousands of. "%(n)d" writes 2508 as "2508"; intcomma and "%(n)s" as "2,508".
MANY: Final = re.compile(
    r"%\(\w+\)d (\w+ ){0,2}(dialogues|utterances|turns|labels|judgements|participants|rows|deliveries|answers|items)"
)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_thousands_are_separated(language: str) -> None:
    with override(language):
        assert [intcomma(n) for n in (999, 2508, 1_234_567)] == ["999", "2,508", "1,234,567"]


def test_messages_of_pages_leave_room_for_separators() -> None:
    with PO.open("rb") as file:
        catalog = read_po(file)
    plain = [
        message.id
        for message in catalog
        if MANY.search(str(message.id))
        and not all("management" in place for place, _line in message.locations)
    ]
    assert plain == []
