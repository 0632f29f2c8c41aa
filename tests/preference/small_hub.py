"""A Hub on this machine: it takes commits of data sets as the real one does, keeps them, and checks the token."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "hf_secret_of_the_project"


class SmallHub(ThreadingHTTPServer):
    """files: by repository and path, as committed. created: what was asked of new repositories."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.files: dict[str, dict[str, bytes]] = {}
        self.created: list[dict[str, Any]] = []
        self.stored: dict[str, bytes] = {}
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Answers(BaseHTTPRequestHandler):
    server: SmallHub
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _answer(self, status: int, body: Any, **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _handle(self) -> None:
        body, path = self._body(), self.path.split("?")[0]
        self.server.asked.append(f"{self.command} {path}")
        if "/stored/" not in path and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self._answer(401, {"error": "Invalid credentials"}, X_Error_Message="Invalid credentials")
        parts = path.strip("/").split("/")
        if path == "/api/validate-yaml":
            return self._answer(200, {"errors": [], "warnings": []})
        if path == "/api/repos/create":
            asked = json.loads(body)
            self.server.created.append(asked)
            self.server.files.setdefault(f"{asked['organization']}/{asked['name']}", {})
            return self._answer(
                200, {"url": f"{self.server.url}/datasets/{asked['organization']}/{asked['name']}"}
            )
        if parts[0] == "stored":
            self.server.stored[parts[1]] = body
            return self._answer(200, b"")
        if path.endswith("/info/lfs/objects/batch"):
            return self._answer(200, self._uploads(json.loads(body)))
        if parts[:2] == ["api", "datasets"]:
            return self._repository("/".join(parts[2:4]), parts[4:], body)
        files = self.server.files.get("/".join(parts[1:3]), {})
        found = files.get("/".join(parts[5:]))
        if found is None:
            return self._answer(404, {"error": "no"}, X_Error_Code="EntryNotFound", X_Repo_Commit="0" * 40)
        return self._answer(200, found, X_Repo_Commit="0" * 40, ETag='"1"')

    do_GET = do_POST = do_PUT = do_HEAD = _handle  # noqa: N815

    def _uploads(self, asked: dict[str, Any]) -> dict[str, Any]:
        return {
            "transfer": "basic",
            "objects": [
                {**one, "actions": {"upload": {"href": f"{self.server.url}/stored/{one['oid']}"}}}
                for one in asked["objects"]
            ],
        }

    def _repository(self, name: str, rest: list[str], body: bytes) -> None:
        files = self.server.files.setdefault(name, {})
        if rest[:1] == ["preupload"]:
            asked = json.loads(body)["files"]
            modes = [
                {"path": one["path"], "uploadMode": "lfs" if one["path"].endswith(".parquet") else "regular",
                 "shouldIgnore": False, "oid": None}
                for one in asked
            ]  # fmt: skip
            return self._answer(200, {"files": modes})
        if rest[:1] == ["commit"]:
            self._commit(files, body)
            url = f"{self.server.url}/datasets/{name}/commit/{'a' * 40}"
            return self._answer(200, {"success": True, "commitOid": "a" * 40, "commitUrl": url})
        if rest[:1] == ["tree"]:
            return self._tree(files, "".join(f"{part}/" for part in rest[2:]))
        siblings = [{"rfilename": path} for path in files]
        return self._answer(
            200, {"id": name, "sha": "0" * 40, "private": True, "tags": [], "siblings": siblings}
        )

    def _tree(self, files: dict[str, bytes], folder: str) -> None:
        """The files right in this folder."""
        kept = [
            {"type": "file", "path": path, "size": len(data), "oid": "1"}
            for path, data in files.items()
            if path.startswith(folder) and "/" not in path[len(folder) :]
        ]
        if folder and not kept:
            return self._answer(404, {"error": "no"}, X_Error_Code="EntryNotFound")
        return self._answer(200, kept)

    def _commit(self, files: dict[str, bytes], body: bytes) -> None:
        for line in body.decode().splitlines():
            entry = json.loads(line)
            value = entry["value"]
            if entry["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif entry["key"] == "lfsFile":
                files[value["path"]] = self.server.stored[value["oid"]]


@contextmanager
def small_hub() -> Iterator[SmallHub]:
    hub = SmallHub()
    thread = threading.Thread(target=hub.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join()
