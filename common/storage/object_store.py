"""An S3-compatible object store, with a copy on each host of what is used there."""

import logging
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO, Final, cast
from uuid import uuid4

import boto3
from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from storages.backends.s3 import S3Storage

from common.refusals import Refusal
from common.storage.copies import delete_unused_copies, is_time_to_look, make_writable, mark_used, note_copy
from common.storage.shared_disk import remove_from_disk
from common.storage.shared_files import Beat, Opened, StoredFile, no_beat
from common.storage.transfers import run_transfer

log = logging.getLogger(__name__)

SIGNED_SECONDS: Final = 600  # in which a download has to begin
# A store that hangs holds a request or a job for two minutes, not for ever.
CLIENT: Final = Config(
    connect_timeout=5,
    read_timeout=30,
    retries={"mode": "standard", "max_attempts": 4},
    signature_version="s3v4",
    max_pool_connections=64,  # downloads that threads of a web server stream at a time
)
# One part after the other takes no memory worth naming, four at a time take 12 MB, boto3's ten 29 MB. Models are
# downloaded in four parts, because a worker waits for them; exports and snapshots are sent beside other work.
UPLOAD: Final = TransferConfig(use_threads=False)
DOWNLOAD: Final = TransferConfig(max_concurrency=4)
MISSING: Final = {"404", "NoSuchKey", "NotFound"}
OUT_OF_RANGE: Final = {"416", "InvalidRange"}
FULL: Final = {"QuotaExceeded", "InsufficientStorage", "XMinioStorageFull", "507", "EntityTooLarge"}
REFUSED: Final = {
    "403", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "AllAccessDisabled",
}  # fmt: skip


class ObjectStore(S3Storage):  # type: ignore[misc]
    """Objects named like the files below `root`, after the storage's `location`. See SharedFiles."""

    is_remote = True

    def __init__(self, *, root: str, signed_downloads: bool, **options: Any) -> None:
        super().__init__(
            client_config=CLIENT,
            file_overwrite=True,
            querystring_expire=SIGNED_SECONDS,
            **options,
        )
        self.root = Path(root)
        self.signed_downloads = signed_downloads
        self._clients: dict[int, Any] = {}  # by process

    @property
    def client(self) -> Any:
        """Of this process: threads may share a client, which takes 16 MB, but a forked child not its connections."""
        process = os.getpid()
        if process not in self._clients:
            self._clients[process] = self._new_client()
        return self._clients[process]

    def _new_client(self) -> Any:
        session = boto3.Session(aws_access_key_id=self.access_key, aws_secret_access_key=self.secret_key)
        addressing = Config(s3={"addressing_style": self.addressing_style})
        return session.client(
            "s3",
            region_name=self.region_name,
            endpoint_url=self.endpoint_url,
            config=self.client_config.merge(addressing),
        )

    def publish(self, path: Path, beat: Beat = no_beat, *, leaves_copy: bool = False) -> None:
        for file in [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file()):
            beat(0)  # a worker that has stood still may have lost its job
            with _refusals():
                run_transfer(partial(self._upload, file), beat)
            if leaves_copy:
                note_copy(self.root, file)

    def hand_over(self, path: Path, beat: Beat = no_beat) -> None:
        try:
            self.publish(path, beat)
        finally:
            remove_from_disk(path)

    def fetch(self, path: Path, beat: Beat = no_beat) -> bool:
        missing = []
        with _refusals():
            for key, size in self._objects_at(path):
                target = self.root / self._relative(key)
                if target.is_file() and target.stat().st_size == size:
                    mark_used(target)
                else:
                    missing.append((key, target))
            if missing and is_time_to_look(self.root):
                delete_unused_copies(self.root)
            for key, target in missing:
                run_transfer(partial(self._download, key, target), beat)
        return bool(missing)

    def exists_anywhere(self, path: Path) -> bool:
        if path.is_file():
            return True
        with _refusals():
            return any(key == self._key(path) for key, _size in self._objects_at(path))

    def open_from(self, path: Path, begin: int = 0) -> Opened:
        where = {"Bucket": self.bucket_name, "Key": self._key(path)}
        with _refusals():
            try:
                found = self.client.get_object(**where, **({"Range": f"bytes={begin}-"} if begin else {}))
            except ClientError as error:
                if _code(error) in OUT_OF_RANGE:
                    raise EOFError from error
                raise _as_missing(error) from error
        size = begin + found["ContentLength"]
        return Opened(cast("BinaryIO", found["Body"]), size, found["ETag"].strip('"'))

    def read(self, path: Path) -> bytes:
        with _refusals(), closing(self.open_from(path).file) as stored:
            return stored.read()

    def write(self, path: Path, content: bytes) -> None:
        with _refusals():
            self.client.put_object(Bucket=self.bucket_name, Key=self._key(path), Body=content)

    def signed_url(self, path: Path, *, content_type: str, name: str = "") -> str:
        if not self.signed_downloads:
            return ""
        disposition = content_disposition_header(True, name or path.name)
        parameters = {
            "Bucket": self.bucket_name,
            "Key": self._key(path),
            "ResponseContentDisposition": disposition,
            "ResponseContentType": content_type,
        }
        with _refusals():  # keys that a role gives are fetched first
            return str(
                self.client.generate_presigned_url("get_object", Params=parameters, ExpiresIn=SIGNED_SECONDS)
            )

    def remove(self, path: Path, *, or_refuse: bool = False) -> None:
        remove_from_disk(path)
        try:
            with _refusals():
                for key, _size in self._objects_at(path):
                    self.client.delete_object(Bucket=self.bucket_name, Key=key)
        except Refusal as refusal:
            if or_refuse:
                raise
            log.warning("The object store still holds %s: %s", path.relative_to(self.root), refusal)

    def names_in(self, folder: Path) -> set[str]:
        prefix = self._key(folder) + "/"
        with _refusals():
            keys = [found["Key"] for found in self.listed(prefix)]
        here = {path.name for path in folder.glob("*")}
        return here | {key.removeprefix(prefix).partition("/")[0] for key in keys}

    def stored_in(self, folder: Path) -> Iterator[StoredFile]:
        with _refusals():
            for found in self.listed(self._key(folder) + "/"):
                path = self.root / self._relative(found["Key"])
                yield StoredFile(path, found["Size"], found["LastModified"].timestamp())

    def listed(self, prefix: str) -> Iterator[dict[str, Any]]:
        """What the store says of the objects whose names begin so.

        Without the empty ones that end with a slash: consoles make them where somebody creates a folder.
        """
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket_name, Prefix=prefix)
        for page in pages:
            yield from (found for found in page.get("Contents", ()) if not found["Key"].endswith("/"))

    def _key(self, path: Path) -> str:
        """Without a slash at the end, which that of the root itself would have."""
        name: str = self._normalize_name(str(path.relative_to(self.root)))
        return name.rstrip("/")

    def _relative(self, key: str) -> str:
        return key.removeprefix(self.location).lstrip("/")

    def _objects_at(self, path: Path) -> list[tuple[str, int]]:
        """Key and bytes of the object of this name, and of those below it."""
        key = self._key(path)
        found = [(each["Key"], each["Size"]) for each in self.listed(key)]
        return [(name, size) for name, size in found if name == key or name.startswith(key + "/")]

    def _upload(self, file: Path, beat: Beat) -> None:
        self.client.upload_file(str(file), self.bucket_name, self._key(file), Callback=beat, Config=UPLOAD)

    def _download(self, key: str, target: Path, beat: Beat) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        make_writable(target.parent)
        part = target.with_name(f".{target.name}.{uuid4().hex}.part")
        try:
            self.client.download_file(self.bucket_name, key, str(part), Callback=beat, Config=DOWNLOAD)
            part.chmod(0o600)  # dialogues of real people
            part.replace(target)
            note_copy(self.root, target)
        finally:
            part.unlink(missing_ok=True)


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _as_missing(error: ClientError) -> Exception:
    return FileNotFoundError() if _code(error) in MISSING else error


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn the errors of the store into refusals that say what an operator can do."""
    try:
        yield
    except ClientError as error:
        raise _refusal_of(error) from error
    except (BotoCoreError, Boto3Error) as error:
        cause = error.__cause__ or error.__context__
        raise (_refusal_of(cause) if isinstance(cause, ClientError) else _away()) from error


def _refusal_of(error: ClientError) -> Refusal:
    code = _code(error)
    if code in REFUSED:
        return _refusal(
            "storage_refused",
            _("The object store refused the access (%(code)s).") % {"code": code},
            _(
                "Ask the operator to check the access key and the bucket's policy; “manage.py doctor” tries them."
            ),
        )
    if code in FULL:
        return _refusal(
            "storage_full",
            _("The object store has no room left (%(code)s).") % {"code": code},
            _("Ask the operator to free some space, then try it again."),
            status=HTTPStatus.INSUFFICIENT_STORAGE,
        )
    if code == "NoSuchBucket":
        return _refusal(
            "storage_away",
            _("The bucket of STORAGE_URL does not exist."),
            _("Ask the operator to create it."),
        )
    return _away(code)


def _away(code: str = "") -> Refusal:
    return _refusal(
        "storage_away",
        _("The object store does not answer (%(code)s).") % {"code": code}
        if code
        else _("The object store does not answer."),
        _("Try it again in a moment; “manage.py doctor” shows what is wrong."),
    )


def _refusal(code: str, message: str, remedy: str, status: int = HTTPStatus.SERVICE_UNAVAILABLE) -> Refusal:
    return Refusal(code, message, remedy, status=status)
