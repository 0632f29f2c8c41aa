"""Markdown of guidelines and descriptions as HTML. Raw HTML, images and dangerous links stay text."""

from collections.abc import MutableMapping, Sequence
from functools import lru_cache
from typing import Any, Final

from django.utils.html import linebreaks
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline, emphasis
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

MAX_CHARS = 200_000
# The parser looks from every bracket for its partner, through MAX_NESTING others at most.
MAX_BRACKETS = 5_000
MAX_NESTING = 20
TEXTS_KEPT = 128


class Renderer(RendererHTML):
    """Headings one level lower, links in a new tab, no space where a line break splits Chinese text."""

    def heading_open(self, tokens: Sequence[Token], n: int, options: OptionsDict, env: Any) -> str:
        return f"<h{self._level(tokens[n])}>"

    def heading_close(self, tokens: Sequence[Token], n: int, options: OptionsDict, env: Any) -> str:
        return f"</h{self._level(tokens[n])}>\n"

    def link_open(self, tokens: Sequence[Token], n: int, options: OptionsDict, env: Any) -> str:
        tokens[n].attrSet("rel", "noopener noreferrer")
        tokens[n].attrSet("target", "_blank")
        return self.renderToken(tokens, n, options, env)

    def softbreak(self, tokens: Sequence[Token], n: int, options: OptionsDict, env: Any) -> str:
        before, after = tokens[n - 1].content[-1:], tokens[n + 1].content[:1] if n + 1 < len(tokens) else ""
        return "" if is_chinese(before) and is_chinese(after) else "\n"

    def th_open(self, tokens: Sequence[Token], n: int, options: OptionsDict, env: Any) -> str:
        tokens[n].attrs.pop(
            "style", None
        )  # alignment is an inline style, which the Content-Security-Policy forbids
        return self.renderToken(tokens, n, options, env)

    td_open = th_open

    @staticmethod
    def _level(token: Token) -> int:
        return min(int(token.tag[1]) + 1, 6)


def is_chinese(character: str) -> bool:
    """Whether it is a Chinese character or punctuation mark."""
    return bool(character) and (
        "\u2e80" <= character <= "\u9fff" or "\uff00" <= character <= "\uffef" or character in "“”‘’…—"
    )


def tokenize_emphasis(state: StateInline, silent: bool) -> bool:
    """Let ** begin or end bold text between a Chinese character and punctuation, which CommonMark does not.

    Its rule for words rests on spaces, which Chinese does not have: 请用**“提交”**按钮.
    """
    start, known = state.pos, len(state.delimiters)
    if not emphasis.tokenize(state, silent):
        return False
    before, after = state.src[:start][-1:], state.src[state.pos : state.pos + 1]
    for delimiter in state.delimiters[known:]:
        if state.src[start] == "*":
            delimiter.open |= is_chinese(before) and not after.isspace()
            delimiter.close |= is_chinese(after) and not before.isspace()
    return True


PARSER: Final = MarkdownIt(
    "js-default", {"html": False, "linkify": False, "maxNesting": MAX_NESTING}, renderer_cls=Renderer
).disable("image")
PARSER.inline.ruler.at("emphasis", tokenize_emphasis)


@lru_cache(maxsize=TEXTS_KEPT)
def to_html(text: str) -> SafeString:
    """Markdown as HTML that is safe whoever wrote it; a text with too many brackets is shown as it is.

    Each process renders a text once, when it is saved or first shown.
    """
    if text.count("[") > MAX_BRACKETS:
        return mark_safe(linebreaks(text[:MAX_CHARS], autoescape=True))  # noqa: S308 - escaped
    env: MutableMapping[str, Any] = {}
    html: str = PARSER.render(text[:MAX_CHARS], env)
    return mark_safe(html)  # noqa: S308 - the parser escapes everything else
