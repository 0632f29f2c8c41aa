"""A server process whose first path segment names how it behaves: http://127.0.0.1:PORT/hangs/v1.

Run as a program, with a port or without, it prints its port and serves until it is ended.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CALLS: Counter[str] = Counter()


def completion(texts: list[Any], **more: Any) -> dict[str, Any]:
    choices = [{"index": i, "message": {"role": "assistant", "content": t}} for i, t in enumerate(texts)]
    return {"model": "m-2", "choices": choices, "usage": {"completion_tokens": 4 * len(texts)}, **more}


def texts(body: dict[str, Any], count: int) -> list[Any]:
    return [f"Reply {number} of seed {body.get('seed')}." for number in range(count)]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        mode = self.path.split("/")[1]
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        CALLS[f"{mode} {body['model']}"] += 1
        getattr(self, mode.replace("-", "_"))(body, CALLS[f"{mode} {body['model']}"])

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def say(self, status: int, content: object, **headers: str) -> None:
        raw = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def good(self, body: dict[str, Any], _: int) -> None:
        self.say(200, completion(texts(body, body.get("n", 1))))

    def echoes(self, body: dict[str, Any], _: int) -> None:
        said = json.dumps({**body, "authorization": self.headers.get("Authorization")})
        self.say(200, completion([said] * body.get("n", 1)))

    def ignores_n(self, body: dict[str, Any], _: int) -> None:
        self.say(200, completion(texts(body, 1)))

    def denies_n(self, body: dict[str, Any], call: int) -> None:
        if "n" in body:
            self.say(400, {"error": {"message": "'n' must be 1."}})
        else:
            self.good(body, call)

    def denies_without_a_word(self, body: dict[str, Any], call: int) -> None:
        if "n" in body or "top_k" in body:
            self.say(422, "")
        else:
            self.good(body, call)

    def denies_top_k(self, body: dict[str, Any], call: int) -> None:
        if "top_k" in body:
            self.say(400, {"error": {"message": "Unrecognized request argument supplied: top_k"}})
        else:
            self.good(body, call)

    def renames_max_tokens(self, body: dict[str, Any], call: int) -> None:
        if "max_tokens" in body:
            self.say(400, {"error": {"message": "'max_tokens' is gone. Use 'max_completion_tokens'."}})
        else:
            self.good(body, call)

    def refuses(self, body: dict[str, Any], _: int) -> None:
        self.say(400, {"error": {"message": "This model's maximum context length is 8 tokens."}})

    def hangs(self, body: dict[str, Any], _: int) -> None:
        time.sleep(3600)

    def drips(self, body: dict[str, Any], _: int) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while True:
            self.wfile.write(b" ")
            self.wfile.flush()
            time.sleep(0.02)

    def floods(self, body: dict[str, Any], _: int) -> None:
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        while True:
            self.wfile.write(b" " * 65536)

    def speaks_html(self, body: dict[str, Any], _: int) -> None:
        self.say(200, "<html><body>Welcome to nginx!</body></html>")

    def speaks_bytes(self, body: dict[str, Any], _: int) -> None:
        self.say(200, "\x00\x01\udcff".encode("utf-8", "surrogateescape").decode("latin-1"))

    def lacks_choices(self, body: dict[str, Any], _: int) -> None:
        self.say(200, {"result": "Hello!"})

    def is_a_list(self, body: dict[str, Any], _: int) -> None:
        self.say(200, [1, 2, 3])

    def nests(self, body: dict[str, Any], _: int) -> None:
        self.say(200, "[" * 200_000)

    def mixes(self, body: dict[str, Any], _: int) -> None:
        whole = completion(["Fine.", None, 5, "Also fine.", "", "fine."])
        whole["choices"] += [{"message": None}, "what?"]
        self.say(200, whole)

    def dies_half_way(self, body: dict[str, Any], _: int) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"choices": [')
        self.close_connection = True

    def is_busy_twice(self, body: dict[str, Any], call: int) -> None:
        if call <= 2:
            self.say(429, {"error": {"message": "Slow down."}}, Retry_After="0")
        else:
            self.good(body, call)

    def is_down(self, body: dict[str, Any], _: int) -> None:
        self.say(503, "no healthy upstream")

    def fails_now_and_then(self, body: dict[str, Any], call: int) -> None:
        if "n" in body:
            self.say(400, "n")
        elif call % 3 == 0:
            self.say(403, "not this one")
        else:
            self.good(body, call)

    def wants_a_key(self, body: dict[str, Any], call: int) -> None:
        said = self.headers.get("Authorization", "")
        if said == "Bearer right-key":
            self.good(body, call)
        else:
            self.say(401, {"error": {"message": f"Incorrect API key provided: {said}"}})

    def redirects(self, body: dict[str, Any], _: int) -> None:
        self.say(302, "", Location="https://example.org/login")

    def repeats(self, body: dict[str, Any], call: int) -> None:
        self.say(200, completion([f"Answer {call}."] * body.get("n", 1)))

    def thinks(self, body: dict[str, Any], _: int) -> None:
        self.say(200, completion([f"<think>hm {i}</think>\n\nYes {i}.\x00" for i in range(body.get("n", 1))]))


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    server = ThreadingHTTPServer(("127.0.0.1", wanted), Handler)
    print(server.server_port, flush=True)  # noqa: T201
    server.serve_forever()
