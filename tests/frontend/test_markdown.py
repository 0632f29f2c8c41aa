"""Markdown in Chinese text, which has no spaces between words."""

import pytest

from frontend.ui.markdown import to_html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("请用**“更换话题”**按钮。", "请用<strong>“更换话题”</strong>按钮。"),
        ("进行**{conversations}**，每次", "进行<strong>{conversations}</strong>，每次"),
        ("普通**粗体**文字", "普通<strong>粗体</strong>文字"),
        ("你好** ，2 * 3 * 4", "你好** ，2 * 3 * 4"),
        ("a ** b ** c", "a ** b ** c"),
    ],
)
def test_bold_text_needs_no_spaces_in_chinese(text: str, html: str) -> None:
    assert to_html(text) == f"<p>{html}</p>\n"
