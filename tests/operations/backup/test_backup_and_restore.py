"""A backup that is written while people work, restored into another database and other folders."""

import json
import re
import stat
from pathlib import Path
from threading import Event, Thread
from uuid import uuid4

import httpx
import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from pytest_django.fixtures import Settings

from accounts.models import User
from annotation.labelling.models.labels import Submission
from annotation.labelling.services.submissions import SentLabels, submit_labels
from annotation.tasks.services.claiming import claim_next_task
from jobs.folders import MARKER
from operations.backup.copying import hash_file
from operations.backup.errors import BackupError
from operations.backup.manifest import DUMP, MANIFEST, read_manifest
from operations.backup.programs import find_programs
from operations.backup.restoring import restore_backup
from operations.backup.writing import UNFINISHED, verify_backup, write_backup
from preference.data.models.exports import Export
from preference.registry.models import RegisteredModel
from projects.models import Project
from tests.operations.installation import Installation
from tests.processes import Stack, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
ANSWERS = {
    "dialogue": {"A": 1, "S": 0, "E": 2},
    "utterances": {"0": {"nugget": "CNUG0"}, "1": {"nugget": "HNUG"}},
}


def quiet(_line: str) -> None:
    pass


def write_quietly(folder: Path, *, with_models: bool = True) -> None:
    write_backup(folder, with_models=with_models, write=quiet)


def label_until(stopped: Event, project: Project, olga: User) -> None:
    """Claim and label, one dialogue after another."""
    try:
        while not stopped.is_set():
            claimed = claim_next_task(annotator=olga, project=project, claim_id=uuid4())
            sent = SentLabels(id=uuid4(), schema=1, answers=ANSWERS)
            submit_labels(annotator=olga, assignment_id=claimed.pk, sent=sent)
    finally:
        connections.close_all()


def rows_of(database: str) -> dict[str, int]:
    """Rows by table."""
    with psycopg.connect(database) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        counts = {}
        for (name,) in tables:
            (counts[name],) = connection.execute(f'SELECT count(*) FROM "{name}"').fetchall()[0]
    return counts


def restored(elsewhere: Installation, folder: Path) -> str:
    run = elsewhere.manage("restore", folder)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_a_backup_while_people_label_is_restored_elsewhere(
    helpdesk: Project,
    olga: User,
    stored_model: RegisteredModel,
    elsewhere: Installation,
    tmp_path: Path,
    settings: Settings,
) -> None:
    folder, stopped = tmp_path / "backup", Event()
    upload = settings.FILES_ROOT / "imports" / str(uuid4())
    upload.parent.mkdir()
    upload.write_text("rows")
    upload.chmod(0o640)
    (settings.FILES_ROOT / MARKER).write_text("of this folder only")
    labeller = Thread(target=label_until, args=[stopped, helpdesk, olga])
    labeller.start()
    wait_until(Submission.objects.exists, 10, "the first labels")
    try:
        write_backup(folder, with_models=True, write=quiet)
    finally:
        stopped.set()
        labeller.join()
    manifest = verify_backup(folder, quiet)
    restored(elsewhere, folder)
    assert rows_of(elsewhere.database) == manifest.rows
    assert 1 <= manifest.rows["annotation_submission"] <= Submission.objects.count()
    assert manifest.missing == []
    assert stat.S_IMODE((elsewhere.files / "imports" / upload.name).stat().st_mode) == 0o640
    assert {
        f"files/{path.relative_to(elsewhere.files)}".replace("files/models/", "models/"): hash_file(path)
        for path in elsewhere.files.rglob("*")
        if path.is_file()
    } == {name: file.sha256 for name, file in manifest.files.items() if name != DUMP}


def sign_in(client: httpx.Client) -> None:
    page = client.get("/accounts/login/")
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert token
    form = {"login": "olga", "password": "correct horse battery", "csrfmiddlewaretoken": token[1]}
    assert client.post("/accounts/login/", data=form).status_code == 302


def test_a_restored_installation_works(
    olga: User, stored_model: RegisteredModel, elsewhere: Installation, tmp_path: Path
) -> None:
    write_quietly(tmp_path / "backup")
    assert "Every migration is applied." in restored(elsewhere, tmp_path / "backup")
    export = Export.objects.get()
    with Stack(tmp_path / "there", elsewhere.database, elsewhere.environment()["REDIS_URL"]) as stack:
        stack.web()
        with httpx.Client(base_url=stack.url, timeout=60, trust_env=False) as client:
            sign_in(client)
            for address in ("/", "/p/helpdesk/", "/p/helpdesk/exports/"):
                assert client.get(address, follow_redirects=True).status_code == 200, address
            file = client.get(f"/p/helpdesk/exports/{export.pk}/file/")
            assert file.content == (elsewhere.files / "exports" / export.path).read_bytes()
    rows = elsewhere.manage("export_dataset", "helpdesk", "--format", "judgements", "--include-unreviewed")
    assert rows.returncode == 0, rows.stderr


def test_only_the_owner_can_read_a_backup(stored_model: RegisteredModel, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    write_quietly(folder)
    modes = {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in (folder, *folder.rglob("*"))}
    assert modes == {(True, 0o700), (False, 0o600)}


def test_models_can_be_left_out_and_a_changed_secret_key_is_mentioned(
    stored_model: RegisteredModel, elsewhere: Installation, tmp_path: Path
) -> None:
    write_quietly(tmp_path / "backup", with_models=False)
    assert not (tmp_path / "backup" / "models").exists()
    run = elsewhere.manage("restore", tmp_path / "backup", SECRET_KEY="another " * 8)
    assert run.returncode == 0, run.stderr
    assert "The backup has no models" in run.stdout
    assert "SECRET_KEY differs from that of the backup" in run.stdout


def test_a_file_that_is_gone_is_listed(
    stored_model: RegisteredModel, tmp_path: Path, settings: Settings
) -> None:
    export = Export.objects.get()
    (settings.FILES_ROOT / "exports" / export.path).unlink()
    write_quietly(tmp_path / "backup")
    assert read_manifest(tmp_path / "backup").missing == [f"files/exports/{export.path}"]


def test_a_cut_off_backup_is_recognised_and_begins_again(
    stored_model: RegisteredModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "backup"

    def fail(*_arguments: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("operations.backup.places.copy_file", fail)
        with pytest.raises(OSError, match="No space"):
            write_quietly(folder)
    assert (folder / UNFINISHED).exists()
    with pytest.raises(BackupError, match="holds no finished backup"):
        restore_backup(folder, quiet)
    (folder / "files" / "old").mkdir(parents=True)
    write_quietly(folder)
    assert not (folder / UNFINISHED).exists()
    assert not (folder / "files" / "old").exists()
    verify_backup(folder, quiet)


def test_a_finished_backup_and_other_folders_are_never_overwritten(
    stored_model: RegisteredModel, tmp_path: Path, settings: Settings
) -> None:
    write_quietly(tmp_path / "backup")
    with pytest.raises(BackupError, match="already holds a finished backup"):
        write_quietly(tmp_path / "backup")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").touch()
    with pytest.raises(BackupError, match="is not empty"):
        write_quietly(tmp_path / "other")
    with pytest.raises(BackupError, match="is inside"):
        write_quietly(settings.FILES_ROOT / "backup")


def test_a_damaged_backup_is_not_restored(
    stored_model: RegisteredModel, elsewhere: Installation, tmp_path: Path
) -> None:
    folder = tmp_path / "backup"
    write_quietly(folder)
    name = next(name for name in read_manifest(folder).files if name.startswith("models/"))
    (folder / name).write_text("damaged")
    run = elsewhere.manage("restore", folder)
    assert run.returncode == 1
    assert f"1 files of the backup are missing or damaged: {name}." in run.stderr
    assert rows_of(elsewhere.database) == {}
    assert not elsewhere.files.exists()
    with pytest.raises(CommandError, match="missing or damaged"):
        call_command("backup", str(folder), "--verify")


def test_a_database_with_tables_is_not_overwritten(olga: User, tmp_path: Path) -> None:
    write_quietly(tmp_path / "backup")
    with pytest.raises(BackupError, match="is not empty, and nothing is ever overwritten"):
        restore_backup(tmp_path / "backup", quiet)


def test_a_restore_goes_on_behind_the_files_of_a_cut_off_one(
    stored_model: RegisteredModel, elsewhere: Installation, tmp_path: Path
) -> None:
    write_quietly(tmp_path / "backup")
    dump = tmp_path / "backup" / DUMP
    # A dump that pg_restore cannot read to its end, but whose hash is that of the manifest.
    whole = dump.read_bytes()
    replace_dump(dump, whole[: len(whole) // 2])
    cut_off = elsewhere.manage("restore", tmp_path / "backup")
    assert cut_off.returncode == 1
    assert "was not restored and is still empty" in cut_off.stderr
    assert rows_of(elsewhere.database) == {}
    replace_dump(dump, whole)
    (elsewhere.files / MARKER).write_text("made by a server that was started too early")
    restored(elsewhere, tmp_path / "backup")


def replace_dump(dump: Path, content: bytes) -> None:
    dump.write_bytes(content)
    manifest = json.loads((dump.parent / MANIFEST).read_text())
    manifest["files"][DUMP] |= {"bytes": len(content), "sha256": hash_file(dump)}
    (dump.parent / MANIFEST).write_text(json.dumps(manifest))


def test_foreign_files_are_not_mixed_with_those_of_the_backup(
    stored_model: RegisteredModel, elsewhere: Installation, tmp_path: Path
) -> None:
    write_quietly(tmp_path / "backup")
    foreign = elsewhere.files / "exports" / "other" / "rows.jsonl"
    foreign.parent.mkdir(parents=True)
    foreign.touch()
    run = elsewhere.manage("restore", tmp_path / "backup")
    assert f"{foreign} is not from this backup" in run.stderr
    assert rows_of(elsewhere.database) == {}


def test_a_backup_of_newer_code_is_refused(olga: User, tmp_path: Path) -> None:
    write_quietly(tmp_path / "backup")
    path = tmp_path / "backup" / MANIFEST
    manifest = json.loads(path.read_text())
    manifest["migrations"]["projects"].append("0999_tomorrow")
    path.write_text(json.dumps(manifest))
    with pytest.raises(BackupError, match=r"newer than this code.*projects\.0999_tomorrow"):
        restore_backup(tmp_path / "backup", quiet)


def test_programs_that_are_too_old_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BackupError, match="of PostgreSQL 99 or newer are needed; installed: "):
        find_programs(99)
    monkeypatch.setattr("operations.backup.programs._folders", lambda: iter(()))
    with pytest.raises(BackupError, match="they are not installed"):
        find_programs(15)


def test_a_pooled_connection_is_refused(settings: Settings, tmp_path: Path) -> None:
    settings.DATABASE_POOLER = "transaction"
    with pytest.raises(BackupError, match="transaction pooler"):
        write_quietly(tmp_path / "backup")
