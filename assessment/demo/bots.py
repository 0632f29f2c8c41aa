"""Two small chatbots to try live assessment with: `python -m assessment.demo.bots PORT`, on 127.0.0.1 only.

/v1/chat/completions is an OpenAI-compatible server, /chat a conversational service with /init, /next and /end. Both
follow a few rules: they have no model.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Final

CHINESE: Final = re.compile("[\u4e00-\u9fff]")
MAX_BODY: Final = 1 << 20  # bytes
# The first rule whose words occur answers; then one of the openers, by the number of the message.
RULES: Final = (
    (r"\b(hi|hello|hey)\b|你好", "Hello! What is on your mind today?", "你好！今天想聊点什么？"),
    (
        r"\b(cats?|dogs?|pets?)\b|猫|狗",
        "I would love a pet. What is yours like?",
        "我也想养宠物。你家的是什么样的？",
    ),
    (r"\b(work|job|boss)\b|工作|上班", "What do you like most about your work?", "工作里你最喜欢什么？"),
    (
        r"\b(food|eat|cook|tea|coffee)\b|吃|喝|做饭",
        "Now I am hungry. Do you cook?",
        "说得我都饿了。你会做饭吗？",
    ),
    (r"\b(music|song|film|book|read)\b|音乐|电影|书", "Which one would you recommend?", "你会推荐哪一个？"),
    (r"\b(travel|trip|holiday|beach)\b|旅行|旅游|海边", "Where would you go next?", "下一次想去哪里？"),
    (r"\bwhy\b|为什么", "Good question. What do you think?", "好问题。你怎么看？"),
    (r"\b(bye|goodbye)\b|再见|晚安", "It was nice talking to you. Take care!", "和你聊天很开心，再见！"),
)
OPENERS: Final = (
    ("That sounds interesting. Tell me more about it.", "听起来很有意思，多说一点吧。"),
    ("How did that make you feel?", "当时你是什么感觉？"),
    ("I see. What happened next?", "原来如此。后来呢？"),
    ("I had not thought of it that way.", "我还没有这样想过。"),
)
SCRIPT: Final = (
    ("Nice to meet you. I like rainy days.", "很高兴认识你。我喜欢下雨天。"),
    ("I once walked home in the rain for an hour.", "有一次我在雨里走了一个小时回家。"),
    ("Then I made soup.", "然后我煮了汤。"),
    ("Do you like soup?", "你喜欢喝汤吗？"),
    ("My favourite is tomato soup.", "我最喜欢番茄汤。"),
)


def answer_by_rule(text: str, number: int) -> str:
    """The reply of the OpenAI-compatible bot. number: of the participant's message, from 1."""
    is_chinese = bool(CHINESE.search(text))
    for words, english, chinese in RULES:
        if re.search(words, text, re.IGNORECASE):
            return chinese if is_chinese else english
    return OPENERS[number % len(OPENERS)][is_chinese]


def answer_by_script(text: str, turn: int) -> str:
    """The reply of the conversational service, which hardly listens. turn: from 1."""
    return SCRIPT[(turn - 1) % len(SCRIPT)][bool(CHINESE.search(text))]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout: ClassVar[float] = 60.0  # seconds that a kept connection may rest

    def do_POST(self) -> None:
        try:
            length = min(int(self.headers.get("Content-Length", "0")), MAX_BODY)
            self.send_json(200, self.answer(json.loads(self.rfile.read(length))))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            self.send_json(400, {"error": "This request is not understood."})

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        match self.path:
            case "/v1/chat/completions":
                inputs = [one["content"] for one in body["messages"] if one["role"] == "user"]
                message = {"role": "assistant", "content": answer_by_rule(inputs[-1], len(inputs))}
                choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
                return {"model": body.get("model", "rules"), "choices": choices, "usage": {}}
            case "/chat/init":
                return {"session_id": f"demo-{body['conversation']}"}
            case "/chat/next":
                return {"text": answer_by_script(body["text"], int(body["turn"]))}
            case "/chat/end":
                return {}
        raise KeyError(self.path)

    def send_json(self, status: int, answer: dict[str, Any]) -> None:
        content = json.dumps(answer, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Quiet: the demo shows the lines of every process."""


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    server.daemon_threads = True
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()


if __name__ == "__main__":
    main()
