"""Replies from a list, without a model or a network. For tests, and to see how pages show a failing model."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from random import Random

from generation.backends.replies import DistinctReplies, child_seed
from generation.protocol import BackendError, Reply, ReplyRequest, ReplySet

ENGLISH = (
    "That sounds lovely. What did you like most about it?",
    "I had not thought of it that way before.",
    "Oh, really? Tell me more.",
    "I would rather stay at home with a cup of tea.",
    "My sister says the same thing all the time.",
    "Maybe we could try it together next weekend.",
    "To be honest, I am a little tired today.",
    "Good idea! I will bring something to eat.",
    "It was raining all morning here, so I read a book.",
    "How long have you been doing that?",
    "I am glad that it worked out for you.",
    "No, not yet, but it is on my list.",
    "The last time I tried, it went terribly wrong.",
    "What would you do in my place?",
)
CHINESE = (
    "听起来真不错，你最喜欢哪一点？",
    "我以前还真没这么想过。",
    "真的吗？再跟我说说吧。",
    "我宁愿待在家里喝杯茶。",
    "我姐姐也总是这么说。",
    "要不下个周末我们一起去试试？",
    "说实话，我今天有点累了。",
    "好主意！我带点吃的过去。",
    "这边下了一上午的雨，我就在家看书了。",
    "你做这个多久了？",
    "事情顺利就好，我真替你高兴。",
    "还没有呢，不过我已经记下来了。",
    "上次我试的时候，弄得一团糟。",
    "换成是你，你会怎么办？",
)


class ScriptedBackend:
    """The same request always gets the same replies, in Chinese if the last utterance has Chinese characters.

    replies: the list to draw from, instead of the built-in ones. delay: seconds that a call takes. fail_calls: number
    of first calls that fail and may be retried. fail_replies: number of replies missing from every set. fail_word:
    requests whose last utterance contains it fail. unavailable: `check` and every call fail.
    """

    def __init__(
        self,
        replies: Sequence[str] | None = None,
        delay: float = 0.0,
        fail_calls: int = 0,
        fail_replies: int = 0,
        fail_word: str = "",
        unavailable: bool = False,
    ) -> None:
        if replies is not None and (isinstance(replies, str) or not replies):
            raise ValueError("replies must be a list of texts.")
        if delay < 0 or fail_calls < 0 or fail_replies < 0:
            raise ValueError("delay, fail_calls and fail_replies must not be negative.")
        self.replies = None if replies is None else tuple(replies)
        self.delay, self.fail_word, self.unavailable = delay, fail_word, unavailable
        self.fail_replies = fail_replies
        self._failing_calls = fail_calls

    @property
    def version(self) -> str:
        listed = "\n".join(self.replies or ENGLISH + CHINESE)
        return f"scripted@{hashlib.sha256(listed.encode()).hexdigest()[:12]}"

    def check(self) -> None:
        if self.unavailable:
            raise _scripted_failure()

    def generate(self, requests: Sequence[ReplyRequest]) -> list[ReplySet | BackendError]:
        time.sleep(self.delay)
        if self._failing_calls > 0:
            self._failing_calls -= 1
            return [_scripted_failure() for _ in requests]
        return [self._answer(request) for request in requests]

    def close(self) -> None:
        """Does nothing: no memory or connection to free."""

    def _answer(self, request: ReplyRequest) -> ReplySet | BackendError:
        last = request.context[-1].text if request.context else ""
        if self.unavailable or (self.fail_word and self.fail_word in last):
            return _scripted_failure()
        distinct = DistinctReplies(request.count)
        for attempt, text in enumerate(self._draw_texts(request, last)):
            distinct.offer(Reply(text, child_seed(request.seed, attempt), tokens=len(text.split())))
        for _ in range(self.fail_replies):
            distinct.fail("The script says that this reply fails.")
        try:
            return distinct.result()
        except BackendError as error:
            return error

    def _draw_texts(self, request: ReplyRequest, last: str) -> list[str]:
        listed = self.replies or (CHINESE if any("\u4e00" <= c <= "\u9fff" for c in last) else ENGLISH)
        dialogue = "\n".join(f"{message.speaker}: {message.text}" for message in request.context)
        shuffled = Random(f"{request.seed}\n{dialogue}").sample(listed, len(listed))
        return shuffled[: max(0, request.count - self.fail_replies)]


def _scripted_failure() -> BackendError:
    return BackendError("The script says that the model fails.", "Try again.", retryable=True)
