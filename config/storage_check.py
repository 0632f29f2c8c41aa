"""What `doctor` finds out about the object store of STORAGE_URL, by writing and reading there."""

import secrets
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, cast

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
    SSLError,
)
from django.conf import settings
from django.utils.translation import gettext as _

from common.storage.object_store import REFUSED, ObjectStore
from common.storage.shared_files import shared_files, shared_models
from config.findings import Finding

SLOW: Final = 1.0  # seconds, for writing, reading and deleting a few bytes


def storage() -> Iterable[Finding]:
    """Nothing is said about a disk; see doctor.disk."""
    if not settings.STORAGE:
        return
    for store in (shared_files(), shared_models()):
        finding = _try(cast("ObjectStore", store))
        yield finding
        if finding.state == "problem":
            return


def _try(store: ObjectStore) -> Finding:
    """Write an object, read it back and delete it."""
    name = f"{store.location}/.lapidary-doctor-{secrets.token_hex(8)}"
    try:
        list(store.listed(name))
    except (ClientError, BotoCoreError) as error:
        return _unreadable(error, store)
    began = time.monotonic()
    probe, content = {"Bucket": store.bucket_name, "Key": name}, secrets.token_bytes(32)
    try:
        store.client.put_object(**probe, Body=content)
        read = store.client.get_object(**probe)["Body"].read()
    except (ClientError, BotoCoreError) as error:
        return _unwritable(error, store)
    finally:
        with suppress(ClientError, BotoCoreError):
            store.client.delete_object(**probe)
    return _judge(store, read == content, bool(_left(store, name)), time.monotonic() - began)


def _left(store: ObjectStore, name: str) -> list[Any]:
    with suppress(ClientError, BotoCoreError):
        return list(store.listed(name))
    return []


def _judge(store: ObjectStore, is_same: bool, is_left: bool, seconds: float) -> Finding:
    words = {"place": _place(store), "ms": round(seconds * 1000)}
    if not is_same:
        what = _("The object store gives back other bytes than were written ({place}).")
        return Finding("problem", what.format(**words), _("Ask whoever runs it."))
    if is_left:
        what = _("The key may not delete objects in {place}.")
        return Finding("problem", what.format(**words), _("Allow s3:DeleteObject there."))
    what = _("The object store answers: {place} was written, read and cleaned up in {ms} ms.").format(**words)
    if seconds > SLOW:
        return Finding("warning", what, _("It is slow: look for one that is nearer."))
    return Finding("ok", what)


def _unreadable(error: ClientError | BotoCoreError, store: ObjectStore) -> Finding:
    code = _code(error)
    words = {"bucket": store.bucket_name, "code": code, "error": _reason(error), "server": _server()}
    if code == "NoSuchBucket":
        what = _("The bucket {bucket} of STORAGE_URL does not exist on {server}.")
        return Finding("problem", what.format(**words), _("Create it, or correct its name."))
    if code == "RequestTimeTooSkewed":
        what = _("The clock of this machine differs too much from that of {server}.")
        return Finding("problem", what.format(**words), _("Set the clock, for example with NTP."))
    if code in REFUSED:
        what = _("The object store {server} refuses the key of STORAGE_URL for the bucket {bucket} ({code}).")
        remedy = _(
            "Correct the key, or allow it s3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject there."
        )
        return Finding("problem", what.format(**words), remedy)
    return _away(error, words)


def _away(error: ClientError | BotoCoreError, words: Mapping[str, str]) -> Finding:
    if isinstance(error, NoCredentialsError):
        what = _("No key for the object store is set, neither in STORAGE_URL nor in the environment.")
        return Finding("problem", what, _("Set: {setting}").format(setting="STORAGE_URL=s3://key:secret@…"))
    if isinstance(error, SSLError):
        what = _("The certificate of the object store {server} is not accepted: {error}")
        return Finding("problem", what.format(**words), _("Name its authority in AWS_CA_BUNDLE."))
    if isinstance(error, EndpointConnectionError | ConnectTimeoutError | ReadTimeoutError):
        what = _("The object store {server} does not answer: {error}")
        return Finding(
            "problem", what.format(**words), _("Start it, or correct the endpoint in STORAGE_URL.")
        )
    what = _("The object store {server} cannot be used: {error}")
    return Finding("problem", what.format(**words), _("Look at its log."))


def _unwritable(error: ClientError | BotoCoreError, store: ObjectStore) -> Finding:
    what = _("The object store can be read, but not written ({place}): {error}")
    return Finding(
        "problem",
        what.format(place=_place(store), error=_reason(error)),
        _("Allow the key s3:PutObject and s3:GetObject there, and look for free space."),
    )


def _code(error: ClientError | BotoCoreError) -> str:
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, ClientError) else ""


def _reason(error: ClientError | BotoCoreError) -> str:
    """In one line, without the addresses that botocore repeats."""
    if code := _code(error):
        return f"{code} {error.response['Error'].get('Message', '')}".strip()
    return str(error).strip().partition("\n")[0][:200]


def _place(store: ObjectStore) -> str:
    return f"{store.bucket_name}/{store.location}"


def _server() -> str:
    return (settings.STORAGE and settings.STORAGE.endpoint) or "Amazon S3"
