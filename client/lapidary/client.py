"""The entry: a server and a token."""

from __future__ import annotations

from types import TracebackType
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from lapidary.pages import Rows
from lapidary.project import Project
from lapidary.rows import Me
from lapidary.transport import Retries, Transport
from lapidary.work import Job


class Client:
    """A Lapidary server, in the name of a token. Use as a context manager, or close() it.

    url: of the server, as in the browser. timeout: seconds without an answer. tries: how often a request that is safe
    to repeat is sent; the pauses between them grow from half a second. Not for several threads at once: give each its
    own.
    """

    def __init__(
        self, url: str, token: str, *, timeout: float = 60.0, tries: int = 6, retries: Retries | None = None
    ) -> None:
        self._transport = Transport(url, token, timeout=timeout, retries=retries or Retries(tries))

    def __repr__(self) -> str:
        return f"<Client {self._transport.url}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._transport.http.close()

    def me(self) -> Me:
        """Who the token belongs to, and what it may be used for."""
        return Me.read(self._transport.get("me/"))

    def projects(self, *, archived: bool = False) -> Rows[Project]:
        """The projects that you take part in. archived: only those that are archived."""
        params = {"archived": archived or None}
        return Rows(self._transport, "projects/", lambda data: Project(self._transport, data), params)

    def project(self, slug: str) -> Project:
        """One project. Raises NotFound."""
        return Project(self._transport, self._transport.get(f"projects/{quote(slug, safe='')}/"))

    def create_project(self, slug: str, preset: str, **about: Any) -> Project:
        """Create a project and become its manager. about: title, description, language."""
        body = {"id": str(uuid4()), "slug": slug, "preset": preset, **about}
        return Project(self._transport, self._transport.post("projects/", body, repeatable=True))

    def job(self, id: str) -> Job:
        """A job by its id, for example one that another program started."""
        return Job(self._transport, self._transport.get(f"jobs/{id}/"))
