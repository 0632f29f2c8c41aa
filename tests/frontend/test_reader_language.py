"""Texts in two languages: a reader gets the one of the interface."""

import pytest
from django.utils.translation import override

from frontend.ui.languages import in_reader_language

BOTH = "Judge chats. What “演示机器人” answered was made up.\n\n评判 chat 对话。“演示”为虚构！"


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        ("en", "Judge chats. What “演示机器人” answered was made up."),
        ("zh-hans", "评判 chat 对话。“演示”为虚构！"),
    ],
)
def test_the_other_language_is_left_out(language: str, shown: str) -> None:
    with override(language):
        assert in_reader_language(BOTH) == shown


@pytest.mark.parametrize(
    ("language", "shown"),
    [("en", "Write chats.\n\nNobody said this."), ("zh-hans", "写对话。\n\n没有人说过这些。")],
)
def test_paragraphs_stay_apart(language: str, shown: str) -> None:
    with override(language):
        assert in_reader_language("Write chats. 写对话。\n\nNobody said this. 没有人说过这些。") == shown


@pytest.mark.parametrize(
    "text", ["", "Judge chats. Be fair.", "评判对话。", "评判十段很长很长的对话。See 3."]
)
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_text_in_one_language_is_shown_whole(language: str, text: str) -> None:
    with override(language):
        assert in_reader_language(text) == text
