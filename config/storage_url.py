"""STORAGE_URL: where shared files are, as Django's STORAGES wants it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

EXAMPLE: Final = "s3://bucket/prefix?endpoint=https://minio.example.org:9000"
OPTIONS: Final = {"endpoint", "region", "downloads"}
DOWNLOADS: Final = {"": False, "streamed": False, "signed": True}


@dataclass(frozen=True, slots=True)
class StorageUrl:
    """location: before every name in the bucket. Without keys, boto3 finds them (AWS_ACCESS_KEY_ID, a role, ...).

    signed_downloads: browsers get an address of the store that is signed for some minutes, so they must reach it.
    """

    bucket: str
    location: str
    endpoint: str
    region: str
    key: str
    secret: str
    signed_downloads: bool


def parse_storage_url(url: str) -> StorageUrl | None:
    """None for "": files are on a disk. Raises ImproperlyConfigured, without the address, which may have a key."""
    if not url:
        return None
    try:
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    except ValueError:
        raise _not_understood("") from None
    _check(parts, options)
    return StorageUrl(
        bucket=parts.hostname or "",
        location=parts.path.strip("/"),
        endpoint=options.get("endpoint", ""),
        region=options.get("region", ""),
        key=unquote(parts.username or ""),
        secret=unquote(parts.password or ""),
        signed_downloads=DOWNLOADS[options.get("downloads", "")],
    )


def _check(parts: SplitResult, options: dict[str, str]) -> None:
    endpoint = urlsplit(options.get("endpoint", "https://s3"))
    if (
        parts.scheme != "s3"
        or not parts.hostname
        or not endpoint.hostname
        or endpoint.scheme not in ("http", "https")
    ):
        raise _not_understood("")
    # Otherwise a part of a secret would count as a name, and messages would show it.
    if "@" in parts.path:
        raise _not_understood("Write / in a key as %2F.")
    if endpoint.username is not None:
        raise _not_understood("Write the keys before the bucket, not into the endpoint.")
    if bool(parts.username) != bool(parts.password):
        raise _not_understood("Name both keys or neither.")
    if unknown := sorted(set(options) - OPTIONS):
        raise _not_understood(f"It has no option {unknown[0]}; it has {', '.join(sorted(OPTIONS))}.")
    if options.get("downloads", "") not in DOWNLOADS:
        raise _not_understood("downloads is “streamed” or “signed”.")


def _not_understood(why: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(
        f"STORAGE_URL is not understood. {why} Write it as {EXAMPLE}, or leave it out for a disk.".replace(
            "  ", " "
        )
    )


def shared_storage(url: StorageUrl | None, root: Path, name: str) -> dict[str, Any]:
    """The entry of STORAGES for the files below a folder; name: "files" or "models"."""
    if url is None:
        return {"BACKEND": "common.storage.shared_disk.SharedDisk", "OPTIONS": {"location": str(root)}}
    return {
        "BACKEND": "common.storage.object_store.ObjectStore",
        "OPTIONS": {
            "root": str(root),
            "bucket_name": url.bucket,
            "location": f"{url.location}/{name}".strip("/"),
            "endpoint_url": url.endpoint or None,
            "region_name": url.region or ("us-east-1" if url.endpoint else None),
            "access_key": url.key or None,
            "secret_key": url.secret or None,
            "addressing_style": "path" if url.endpoint else "auto",
            "signed_downloads": url.signed_downloads,
        },
    }
