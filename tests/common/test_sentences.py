"""Sentences one after the other, in each language."""

import pytest

from common.refusals import Refusal
from common.sentences import close_gaps, join_sentences

SENTENCES: list[tuple[list[str | None], str]] = [
    (["One.", "Two!", "“Three.”", "Four."], "One. Two! “Three.” Four."),
    (["一。", "二！", "“三。”", "四。"], "一。二！“三。”四。"),
    (["无法连接：refused.", "请启动它。"], "无法连接：refused. 请启动它。"),
    (["“没有。 请重试” 是旧的消息", "请重试。"], "“没有。 请重试” 是旧的消息 请重试。"),
    ([None, "One.", "", "Two."], "One. Two."),
    ([], ""),
]


@pytest.mark.parametrize(("sentences", "joined"), SENTENCES)
def test_sentences_have_a_space_between_them_unless_a_full_width_mark_brings_it(
    sentences: list[str | None], joined: str
) -> None:
    assert join_sentences(sentences) == joined


def test_a_refusal_joins_its_sentences_as_its_language_does() -> None:
    assert str(Refusal("x", "The name is taken.", "Choose another.")) == "The name is taken. Choose another."
    assert str(Refusal("x", "名称已存在。", "请换一个。")) == "名称已存在。请换一个。"
    assert str(Refusal("x", "The name is taken.")) == "The name is taken."


@pytest.mark.parametrize(
    ("html", "closed"),
    [
        ("<b>已停止。</b> <span>请重试。</span>", "<b>已停止。</b><span>请重试。</span>"),
        ("\n  抽取了 3 段。\n    {n} 段除外。\n  ", "\n  抽取了 3 段。{n} 段除外。\n  "),
        ("他说“好。” 然后走了。", "他说“好。”然后走了。"),
        ("Stopped. <span>Try again.</span>\n", "Stopped. <span>Try again.</span>\n"),
        ("第 3 行：缺少 text 。", "第 3 行：缺少 text 。"),
    ],
)
def test_only_the_space_after_a_full_width_mark_goes(html: str, closed: str) -> None:
    assert close_gaps(html) == closed
