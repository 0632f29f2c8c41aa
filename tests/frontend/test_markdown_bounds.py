"""Hostile Markdown costs little: somebody else opens the page."""

import pytest

from frontend.ui import markdown
from frontend.ui.markdown import to_html


@pytest.mark.parametrize("piece", ["[", "![", "[a", "[](", "[[]]"])
def test_too_many_brackets_are_shown_as_they_are(monkeypatch: pytest.MonkeyPatch, piece: str) -> None:
    monkeypatch.setattr(markdown, "PARSER", None)  # it is not even asked
    text = "<b>" + piece * 5_001
    assert piece * 10 in to_html(text)
    assert "&lt;b&gt;" in to_html(text)


def test_brackets_look_for_their_partner_through_few_others() -> None:
    assert markdown.PARSER.options["maxNesting"] <= 20
    assert to_html("[a](https://example.org) and [b]").count("<a ") == 1


def test_a_text_is_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "*Once*, and shown often."
    first = to_html(text)
    monkeypatch.setattr(markdown, "PARSER", None)
    assert to_html(text) is first
