"""A project: its settings and people, its dialogues and labels, and what is made of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import uuid4

from lapidary.annotating import Assignment, claim
from lapidary.errors import LapidaryError, NotReady
from lapidary.exports import Export, Snapshot
from lapidary.pages import FollowedRows, Rows
from lapidary.rows import CandidateSet, Dialogue, Label, Model, Person, Promotion
from lapidary.sending import DialogueLike, write_rows
from lapidary.transport import Transport
from lapidary.uploads import read_model_folder, upload
from lapidary.work import Import, Job

if TYPE_CHECKING:
    import datasets
    import pandas

WITH_SETTINGS = frozenset({"labelling", "authoring"})  # protocols, and the addresses of their settings
LOADING_TRIES, LOADING_PAUSE = 150, 2.0  # a large model takes minutes; seconds between two tries
IN_USE: Any = object()


class Project:
    """One project of the server. data: as it was read last."""

    def __init__(self, transport: Transport, data: Mapping[str, Any]) -> None:
        self._transport = transport
        self.data = dict(data)

    def __repr__(self) -> str:
        return f"<Project {self.slug} ({self.protocol})>"

    @property
    def slug(self) -> str:
        return str(self.data["slug"])

    @property
    def title(self) -> str:
        return str(self.data["title"])

    @property
    def protocol(self) -> str:
        """authoring, labelling or assessment."""
        return str(self.data["protocol"])

    def refresh(self) -> Project:
        """Read it again."""
        self.data = self._transport.get(self._at())
        return self

    def update(self, **changes: Any) -> Project:
        """Change title, description, language, guidelines_en, guidelines_zh, archived.

        Raises Changed if somebody changed the project since it was read: refresh(), then decide again.
        """
        if "version" not in self.data:  # of a list
            self.refresh()
        sent = {"version": self.data["version"], **changes}
        self.data = self._transport.send("PATCH", self._at(), body=sent)
        return self

    def _at(self, *parts: str) -> str:
        return "/".join(["projects", *(quote(part, safe="") for part in (self.slug, *parts)), ""])

    # ---- settings and people -----------------------------------------------------------------------------------------

    @property
    def settings(self) -> Mapping[str, Any]:
        """How dialogues are labelled or written here. Raises LapidaryError for a study."""
        settings: Mapping[str, Any] = self._transport.get(self._settings_address())
        return settings

    def update_settings(self, **changes: Any) -> Mapping[str, Any]:
        """Change some settings; returns all. The same again changes nothing, so a lost request is repeated."""
        address = self._settings_address()
        settings: Mapping[str, Any] = self._transport.send("PATCH", address, body=changes, repeatable=True)
        return settings

    def _settings_address(self) -> str:
        if self.protocol not in WITH_SETTINGS:
            raise LapidaryError(
                f"The API has no settings of a project with the protocol {self.protocol}.",
                "Change them on its page Settings.",
            )
        return self._at(self.protocol)

    @property
    def questions(self) -> Mapping[str, Any]:
        """The questions that new work uses, with their version; of a labelling project."""
        schema: Mapping[str, Any] = self._transport.get(self._at("schemas", "current"))
        return schema

    def set_questions(self, content: Mapping[str, Any] | str) -> Mapping[str, Any]:
        """Save questions, as an object or YAML, as the version that new work uses."""
        sent = {"yaml": content} if isinstance(content, str) else {"content": dict(content)}
        body = {"id": str(uuid4()), **sent}
        saved: Mapping[str, Any] = self._transport.post(self._at("schemas"), body, repeatable=True)
        return saved

    def people(self) -> Rows[Person]:
        """The members."""
        return Rows(self._transport, self._at("members"), Person.read)

    def add_person(self, who: str, roles: Sequence[str]) -> Person:
        """Give somebody with an account these roles. who: sign-in name or email address."""
        body = {"who": who, "roles": list(roles)}
        return Person.read(self._transport.post(self._at("members"), body, repeatable=True))

    def set_roles(self, username: str, roles: Sequence[str]) -> None:
        """Give a member exactly these roles."""
        self._transport.send("PUT", self._at("members", username), body={"roles": list(roles)})

    def change_person(
        self, username: str, *, group: str | None = None, reading_languages: Sequence[str] | None = None
    ) -> Person:
        """Change a member's group (empty: none) or the languages that they read (empty: all); None: as it is."""
        changes: dict[str, Any] = {"group": group, "reading_languages": reading_languages}
        body = {name: value for name, value in changes.items() if value is not None}
        return Person.read(self._transport.send("PATCH", self._at("members", username), body=body))

    def remove_person(self, username: str) -> None:
        """End a membership."""
        self._transport.send("DELETE", self._at("members", username))

    def invite(self, username: str, roles: Sequence[str], *, email: str = "") -> str:
        """Create an account; returns its one-time password, which is shown this once."""
        body = {"id": str(uuid4()), "username": username, "email": email, "roles": list(roles)}
        return str(self._transport.post(self._at("invitations"), body, repeatable=True)["one_time_password"])

    # ---- dialogues and labels ----------------------------------------------------------------------------------------

    def import_dialogues(
        self,
        dialogues: Iterable[DialogueLike],
        *,
        format: str = "messages",
        name: str = "dialogues.jsonl",
        on_error: str = "skip",
        language: str = "",
        map: str = "",
        wait: bool = True,
        progress: bool = True,
    ) -> Import:
        """Import dialogues of any iterable: rows of the format, or lists of messages.

        A dialogue with an id is stored once, however often it is sent. on_error: "skip" refused rows, which errors()
        lists, or "stop" and store nothing. language: of dialogues that name none, such as "zh-Hans"; empty: none.
        map: for the format "json", the keys, such as "utterances=messages,text=message".
        """
        with tempfile.TemporaryFile() as file:
            write_rows(dialogues, file)
            return self._import(
                file,
                {"format": format, "name": name, "on_error": on_error, "language": language, "map": map},
                wait=wait,
                progress=progress,
            )

    def import_file(
        self,
        path: str | Path,
        *,
        format: str,
        on_error: str = "skip",
        language: str = "",
        map: str = "",
        wait: bool = True,
        progress: bool = True,
    ) -> Import:
        """Import a file as it is, in any format of the server.

        language: of dialogues that name none, such as "zh-Hans"; empty: none. map: for the format "json", the keys,
        such as "utterances=messages,text=message".
        """
        with Path(path).open("rb") as file:
            return self._import(
                file,
                {
                    "format": format,
                    "name": Path(path).name,
                    "on_error": on_error,
                    "language": language,
                    "map": map,
                },
                wait=wait,
                progress=progress,
            )

    def _import(
        self,
        file: IO[bytes],
        options: Mapping[str, str],
        *,
        wait: bool,
        progress: bool,
    ) -> Import:

        def from_its_beginning() -> IO[bytes]:
            file.seek(0)
            return file

        address = self._at("imports")
        sent = self._transport.send(
            "POST",
            address,
            params={"id": str(uuid4()), **options},
            content=from_its_beginning,
            repeatable=True,
        )
        started = Import(self._transport, sent)
        return started.wait(progress=progress) if wait else started

    def imports(self) -> Rows[Import]:
        """The imports, newest first."""
        return Rows(self._transport, self._at("imports"), lambda data: Import(self._transport, data))

    def dialogues(self, *, texts: bool = True, start: str = "", **filters: Any) -> Rows[Dialogue]:
        """The dialogues in the order in which they were added. texts: with utterances, without candidates.

        filters: state, review_state, origin, split, language, domain, topic, action, import_job. start: a bookmark.
        """
        params = {"texts": texts, **filters}
        return Rows(self._transport, self._at("dialogues"), Dialogue.read, params, start=start)

    def candidates(self, *, start: str = "") -> Rows[CandidateSet]:
        """The candidates of every turn, with what was sent there. start: a bookmark."""
        return Rows(self._transport, self._at("candidate-sets"), CandidateSet.read, start=start)

    def labels(
        self,
        *,
        follow: bool = False,
        every: float = 2.0,
        idle_seconds: float | None = None,
        start: str = "",
    ) -> Rows[Label]:
        """The final labels in the order in which they came about.

        follow: go on when people have labelled more, looking every so many seconds; idle_seconds without a new label
        end it. Every label comes once; one that replaces an earlier one of its dialogue comes again, with a new id.
        """
        address = self._at("labels")
        if not follow:
            return Rows(self._transport, address, Label.read, start=start)
        return FollowedRows(
            self._transport,
            address,
            Label.read,
            {"follow": True},
            start=start,
            every=every,
            idle_seconds=idle_seconds,
        )

    def claim(self) -> Assignment | None:
        """The next dialogue for you to label; None if nothing is left for you at the moment."""
        return claim(self._transport, self.slug)

    # ---- jobs, exports and snapshots ---------------------------------------------------------------------------------

    def jobs(self, **filters: str) -> Rows[Job]:
        """The jobs, newest first. filters: state, kind."""
        return Rows(self._transport, self._at("jobs"), lambda data: Job(self._transport, data), filters)

    def export(
        self,
        format: str,
        *,
        file_type: str = "jsonl",
        wait: bool = True,
        progress: bool = True,
        **choices: Any,
    ) -> Export:
        """Export in a format of the project. choices: splits, include_unreviewed, snapshot, seed … (see the API)."""
        snapshot = choices.pop("snapshot", None)
        about = {"snapshot": snapshot.id if isinstance(snapshot, Snapshot) else snapshot} if snapshot else {}
        body = {"id": str(uuid4()), "format": format, "file_type": file_type, **about, **choices}
        started = Export(self._transport, self._transport.post(self._at("exports"), body, repeatable=True))
        return started.wait(progress=progress) if wait else started

    def dataset(self, format: str, *, progress: bool = True, **choices: Any) -> datasets.Dataset:
        """An export as a datasets.Dataset. Needs lapidary[data]."""
        return self.export(format, file_type="parquet", progress=progress, **choices).to_dataset()

    def frame(self, format: str, *, progress: bool = True, **choices: Any) -> pandas.DataFrame:
        """An export as a data frame. Needs lapidary[data]."""
        return self.export(format, file_type="parquet", progress=progress, **choices).to_pandas()

    def exports(self) -> Rows[Export]:
        """The exports, newest first."""
        return Rows(self._transport, self._at("exports"), lambda data: Export(self._transport, data))

    def take_snapshot(
        self, name: str = "", *, wait: bool = True, progress: bool = True, **choices: Any
    ) -> Snapshot:
        """Freeze dialogues. choices: splits, include_unreviewed, seed."""
        body = {"id": str(uuid4()), "name": name, **choices}
        taken = Snapshot(self._transport, self._transport.post(self._at("snapshots"), body, repeatable=True))
        return taken.wait(progress=progress) if wait else taken

    def snapshots(self) -> Rows[Snapshot]:
        """The snapshots, newest first."""
        return Rows(self._transport, self._at("snapshots"), lambda data: Snapshot(self._transport, data))

    # ---- models ------------------------------------------------------------------------------------------------------

    def models(self) -> Rows[Model]:
        """The trained models, newest first."""
        return Rows(self._transport, self._at("models"), Model.read)

    def push_model(
        self, folder: str | Path, *, name: str = "", note: str = "", parent: str = "", progress: bool = True
    ) -> Model:
        """Upload the folder that a training wrote and register its model; the server tries it out before.

        Calling it again goes on with the upload; a model with the same files is returned without sending it again.
        """
        files = read_model_folder(Path(folder))
        sha256 = files.sha256()
        for model in self.models():
            if model.sha256 == sha256 and model.has_files:
                return model
        sent = upload(self._transport, self.slug, files, progress=progress)
        chosen = {"name": name, "note": note, "parent": parent}
        body = {"id": str(uuid4()), "upload": sent, **{key: value for key, value in chosen.items() if value}}
        started = self._transport.post(self._at("models"), body, repeatable=True)
        job = Job(self._transport, self._transport.get(f"jobs/{started['id']}/")).wait(progress=progress)
        return Model.read(self._transport.get(f"models/{job.result['model']}/"))

    def promote(
        self, model: Model | str, *, reason: str = "", expected_current: str | None = IN_USE
    ) -> Promotion:
        """Have the next candidates written by this model.

        expected_current: the model that you saw in use, None: the server's own; by default the one in use now. Raises
        Changed if it is another one.
        """
        slug = model.slug if isinstance(model, Model) else model
        current = self._generator_in_use() if expected_current is IN_USE else expected_current
        body = {"id": str(uuid4()), "model": slug, "reason": reason, "expected_current": current}
        tries = 0
        while True:
            try:
                return Promotion.read(self._transport.post(self._at("promotions"), body, repeatable=True))
            except NotReady as loading:  # a worker is loading it
                tries += 1
                if loading.code != "still_loading" or tries >= LOADING_TRIES:
                    raise
                self._transport.retries.sleep(LOADING_PAUSE)

    def _generator_in_use(self) -> str | None:
        if self.protocol != "authoring":
            return None  # the server refuses the promotion, and says why
        current: str | None = self.settings["generator"]
        return current

    def promotions(self) -> Rows[Promotion]:
        """How the project's model changed, newest first."""
        return Rows(self._transport, self._at("promotions"), Promotion.read)
