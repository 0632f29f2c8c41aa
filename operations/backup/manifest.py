"""manifest.json of a backup. It is written last, so a folder without it is not a backup."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.utils.crypto import salted_hmac

from operations.backup.errors import BackupError
from operations.backup.private_files import create_private_file, sync_file, sync_folder

MANIFEST, DUMP = "manifest.json", "database.dump"
FORMAT = "lapidary-backup/1"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """bytes, sha256: of the copy in the backup. mode: permissions of the original."""

    bytes: int
    sha256: str
    mode: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds.

    postgres, pg_dump: major versions of the server and of the program that wrote the dump. migrations: applied ones by
    app. rows: by table. files: by path in the backup, the dump included. missing: files that the database names and
    that were not on disk. secret_key: fingerprint of SECRET_KEY, which is not in the backup.
    """

    created_at: str
    code_version: str
    postgres: int
    pg_dump: int
    migrations: dict[str, list[str]]
    rows: dict[str, int]
    files: dict[str, StoredFile]
    has_models: bool
    missing: list[str]
    secret_key: str


def secret_key_fingerprint() -> str:
    """Tells two values of SECRET_KEY apart without revealing them."""
    return salted_hmac("operations.backup", "fingerprint", algorithm="sha256").hexdigest()[:16]


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write it to disk and give it its name in one step."""
    partial = folder / f"{MANIFEST}.part"
    with create_private_file(partial) as file:
        file.write(json.dumps({"format": FORMAT, **asdict(manifest)}, ensure_ascii=False, indent=1).encode())
        sync_file(file)
    partial.replace(folder / MANIFEST)
    sync_folder(folder)


def read_manifest(folder: Path) -> Manifest:
    """Raises BackupError if the folder holds no finished backup of this format."""
    try:
        content: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BackupError(
            f"{folder} holds no finished backup: {MANIFEST} is missing. It is written last, so this backup was cut "
            "off, or this is another folder."
        ) from None
    except (OSError, ValueError) as error:
        raise BackupError(f"{folder / MANIFEST} cannot be read: {error}") from error
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise BackupError(f"{folder / MANIFEST} is not of the format {FORMAT}, which this version reads.")
    try:
        files = {name: StoredFile(**about) for name, about in content.pop("files").items()}
        return Manifest(**content, files=files)
    except (AttributeError, KeyError, TypeError) as error:
        raise BackupError(f"{folder / MANIFEST} is damaged: {error}") from error
