"""An installation on a disk goes into an object store, is backed up from there, and restored into another one."""

from io import StringIO
from pathlib import Path
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from accounts.models import User
from common.storage.shared_files import shared_files, shared_models
from operations.backup.copying import files_to_copy, hash_file
from operations.backup.errors import BackupError
from operations.backup.manifest import DUMP, read_manifest
from operations.backup.restoring import _check_folders
from operations.backup.writing import verify_backup, write_backup
from preference.registry.models import RegisteredModel
from preference.registry.uploads import PARTS, UPLOADS
from tests.object_store import ObjectServer, use_object_store
from tests.operations.backup.test_backup_and_restore import quiet, rows_of
from tests.operations.installation import Installation


def published() -> str:
    out = StringIO()
    call_command("publish_files", stdout=out)
    return out.getvalue()


def in_the_store() -> dict[str, int]:
    both = {"files": shared_files(), "models": shared_models()}
    return {
        f"{name}/{stored.path.relative_to(files.root)}": stored.bytes
        for name, files in both.items()
        for stored in files.stored_in(files.root)
    }


def test_files_are_published_backed_up_and_restored_between_stores(
    stored_model: RegisteredModel, elsewhere: Installation, settings: Settings, object_server: ObjectServer,
    tmp_path: Path,
) -> None:  # fmt: skip
    with pytest.raises(CommandError, match="STORAGE_URL is empty"):
        published()
    here, on_disk = settings.FILES_ROOT, dict[str, str]()
    for name, root in {"files": here, "models": settings.MODELS_ROOT}.items():
        on_disk |= {f"{name}/{path.relative_to(root)}": hash_file(path) for path in files_to_copy(root)}
    url, there = object_server.url(uuid4().hex), object_server.url(uuid4().hex)
    use_object_store(settings, url, here)
    assert f"Published {len(on_disk)} files" in published()
    assert "Published 0 files" in published()

    half_sent = shared_models().root / UPLOADS / "1" / str(uuid4()) / PARTS / "0" / f"{0:020d}"
    shared_models().write(half_sent, b"rows")
    use_object_store(settings, url, tmp_path / "another host")
    folder = tmp_path / "backup"
    write_backup(folder, with_models=True, write=quiet)
    manifest = verify_backup(folder, quiet)
    copied = {name: file.sha256 for name, file in manifest.files.items() if name != DUMP}
    assert (copied, manifest.missing) == (on_disk, [])

    run = elsewhere.manage("restore", folder, STORAGE_URL=there)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "The object store answers" in run.stdout
    assert rows_of(elsewhere.database) == manifest.rows
    assert not [path for path in elsewhere.files.rglob("*") if path.is_file()], "the host keeps no copy"
    use_object_store(settings, there, elsewhere.files)
    assert in_the_store().keys() == on_disk.keys()


def test_a_store_that_holds_something_else_is_not_restored_into(
    olga: User, settings: Settings, object_server: ObjectServer, tmp_path: Path
) -> None:
    write_backup(tmp_path / "backup", with_models=True, write=quiet)
    use_object_store(settings, object_server.url(uuid4().hex), tmp_path / "there")
    foreign = tmp_path / "there" / "exports" / "foreign"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("of another installation")
    shared_files().hand_over(foreign)
    with pytest.raises(BackupError, match="The object store is not empty") as refused:
        _check_folders(read_manifest(tmp_path / "backup"))
    assert "another bucket or prefix in STORAGE_URL" in str(refused.value)
