"""A judge as a server process; the first segment of the path names how it behaves: http://127.0.0.1:PORT/good/v1.

It "judges" a reply by its number of words, at most 5. Run as a program it prints its port and serves until it is ended.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CALLS: Counter[str] = Counter()
LOCK = threading.Lock()
RUNNING: Counter[str] = Counter()


def judged(body: dict[str, Any]) -> int:
    prompt = body["messages"][1]["content"]
    found = re.search(r"<reply>\n(.*)\n</reply>", prompt) or re.search(r"B: (.*)\n</conv", prompt)
    return min(5, len(found[1].split())) if found else 1


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        mode = self.path.split("/")[1]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with LOCK:
            CALLS[mode] += 1
            call = CALLS[mode]
        getattr(self, mode)(body, call)

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def say(self, status: int, content: object) -> None:
        raw = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def write(self, text: str) -> None:
        usage = {"prompt_tokens": 100, "completion_tokens": 7}
        message = {"role": "assistant", "content": text}
        self.say(200, {"model": "judge-1", "choices": [{"message": message}], "usage": usage})

    def good(self, body: dict[str, Any], _: int) -> None:
        self.write(json.dumps({"answer": judged(body)}))

    def quality(self, body: dict[str, Any], _: int) -> None:
        """A dialogue's label from a word in it; prose if the judge is asked to reason about a thorough one."""
        prompt = body["messages"][1]["content"].split("</conversation>")[0]
        words = (("useless", "没用"), ("short", "简单"), ("thorough", "详细"))
        label = next((n for n, names in enumerate(words) if any(name in prompt for name in names)), 0)
        in_steps = "reasoning" in body["response_format"]["json_schema"]["schema"]["properties"]
        self.write("It is good." if in_steps and label == 2 else json.dumps({"answer": label}))

    def checks(self, body: dict[str, Any], _: int) -> None:
        """5 if everything arrives that should."""
        schema = body["response_format"]["json_schema"]["schema"]
        key = self.headers.get("Authorization") == "Bearer secret"
        is_complete = (
            key
            and (body["model"], body["temperature"]) == ("m", 0)
            and schema["properties"]["answer"]["enum"] == [1, 2, 3, 4, 5]
            and "Consider whether the reply fits" in body["messages"][1]["content"]
        )
        self.write(json.dumps({"answer": 5 if is_complete else 1}))

    def topics(self, body: dict[str, Any], _: int) -> None:
        """Food if the dialogue is about tea, else a topic that does not exist."""
        prompt = body["messages"][1]["content"]
        self.write(json.dumps({"answer": "food" if "tea" in prompt else "weather"}))

    def fenced(self, body: dict[str, Any], _: int) -> None:
        self.write(f'<think>Hm.</think>```json\n{{"reasoning": "short", "answer": "{judged(body)}"}}\n```')

    def prose_first(self, body: dict[str, Any], _: int) -> None:
        if len(body["messages"]) == 2:
            self.write("Well, that depends on what you expect of a reply.")
        else:
            self.good(body, 0)

    def prose(self, body: dict[str, Any], _: int) -> None:
        self.write("I would say that it is rather good, 4 or 5 perhaps.")

    def not_an_option(self, body: dict[str, Any], _: int) -> None:
        self.write('{"answer": 7}')

    def silent(self, body: dict[str, Any], _: int) -> None:
        self.write("")

    def text_only(self, body: dict[str, Any], call: int) -> None:
        if "response_format" in body:
            self.say(400, {"error": {"message": "'response_format' of type 'json_schema' is not supported."}})
        else:
            self.good(body, call)

    def down(self, body: dict[str, Any], _: int) -> None:
        self.say(500, {"error": {"message": "internal error"}})

    def slow(self, body: dict[str, Any], _: int) -> None:
        time.sleep(30)

    def slow_for_some(self, body: dict[str, Any], call: int) -> None:
        if "wait" in body["messages"][1]["content"]:
            time.sleep(30)
        self.good(body, call)

    def dies(self, body: dict[str, Any], call: int) -> None:
        if call > 8:
            self.down(body, call)
        else:
            self.good(body, call)

    def wants_a_key(self, body: dict[str, Any], call: int) -> None:
        if self.headers.get("Authorization") == "Bearer right-key":
            self.good(body, call)
        else:
            self.say(401, {"error": {"message": "Incorrect API key provided."}})

    def counts(self, body: dict[str, Any], _: int) -> None:
        """Answers with the most requests that ran at once, as a slider does."""
        with LOCK:
            RUNNING["now"] += 1
            RUNNING["most"] = max(RUNNING["most"], RUNNING["now"])
        until = time.monotonic() + 10
        while RUNNING["most"] < 3 and time.monotonic() < until:  # a busy client sends them one after another
            time.sleep(0.01)
        time.sleep(0.05)  # for a fourth one, which must not come
        with LOCK:
            RUNNING["now"] -= 1
        self.write(json.dumps({"answer": min(5, RUNNING["most"])}))


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_port, flush=True)  # noqa: T201
    server.serve_forever()
