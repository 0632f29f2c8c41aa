"""Systems under test, as a server process: the first path segment names how one behaves.

http://127.0.0.1:PORT/good/v1 is an OpenAI-compatible server, http://127.0.0.1:PORT/good a conversational service.
Run as a program it prints its port and serves until it is ended. GET /calls lists what it was sent.
"""

import json
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    calls: ClassVar[list[dict[str, Any]]] = []
    counts: ClassVar[Counter[str]] = Counter()
    lock: ClassVar[threading.Lock] = threading.Lock()

    def do_GET(self) -> None:
        with self.lock:
            self.send_json(self.calls)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        mode, _, action = self.path.strip("/").partition("/")
        with self.lock:
            self.counts[self.path] += 1
            count = self.counts[self.path]
            key = self.headers.get("Authorization")
            self.calls.append({"mode": mode, "action": action, "key": key, "body": body})
        if action == "init":
            self.send_json({"session_id": f"s-{body['conversation']}"})
        elif action == "end":
            self.send_json({})
        else:
            self.behave(mode, body, count)

    def behave(self, mode: str, body: dict[str, Any], count: int) -> None:
        name, _, amount = mode.partition("-")
        if name == "slow":
            time.sleep(float(amount))
        elif name == "hangs" or (name == "wakes" and count == 1):
            time.sleep(3600)
        elif name == "breaks" or (name == "recovers" and count <= int(amount)):
            self.send_json({"error": "out of memory"}, status=503)
            return
        elif name == "dies":
            self.close_connection = True
            return
        elif name == "garbage":
            self.send_bytes(b"<html>not found</html>")
            return
        elif name == "number":
            self.send_text(body, 7)
            return
        elif name == "forgets":
            self.send_json({"error": "no such session"}, status=404)
            return
        self.send_text(body, self.reply(name, body))

    def reply(self, name: str, body: dict[str, Any]) -> str:
        said = body["text"] if "text" in body else body["messages"][-1]["content"]
        texts = {"empty": " \n ", "long": "x" * 10_001, "leaks": "I am MegaBot, made by Mega Corp."}
        return texts.get(name, f"You said: {said}")

    def send_text(self, body: dict[str, Any], text: Any) -> None:
        if "messages" not in body:
            self.send_json({"text": text})
            return
        message = {"role": "assistant", "content": text}
        self.send_json({"model": body["model"], "choices": [{"message": message}], "usage": {}})

    def send_json(self, answer: Any, status: int = 200) -> None:
        self.send_bytes(json.dumps(answer).encode(), status)

    def send_bytes(self, content: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Quiet."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Handler)
    print(server.server_address[1], flush=True)  # noqa: T201
    server.serve_forever()


if __name__ == "__main__":
    main()
