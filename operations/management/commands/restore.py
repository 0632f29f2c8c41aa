"""`manage.py restore`: a backup into an empty database and empty folders."""

from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from common.refusals import Refusal
from config import doctor
from config.storage_check import storage
from operations.backup.errors import BackupError
from operations.backup.manifest import Manifest
from operations.backup.restoring import compare_restored, restore_backup, secret_key_differs


class Command(BaseCommand):
    help = (
        "Restore a backup into an empty database and empty folders. Stop the web servers and workers first."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, metavar="DIR", help="a folder that `backup` wrote")
        parser.add_argument(
            "--migrate", action="store_true", help="run migrate afterwards, if this code is newer"
        )

    def handle(self, *args: Any, folder: Path, migrate: bool, **options: Any) -> None:
        try:
            manifest = restore_backup(folder.absolute(), self.stdout.write)
            differences = list(compare_restored(manifest))
        except (BackupError, Refusal) as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(f"The database does not answer: {str(error).strip()}") from error
        except OSError as error:
            raise CommandError(
                f"The restore was cut off: {error}. Run it again: files that are complete are kept."
            ) from error
        if migrate:
            call_command("migrate", interactive=False, stdout=self.stdout)
        self.report(manifest, differences)

    def report(self, manifest: Manifest, differences: list[str]) -> None:
        """Say what was restored, and what doctor would say about the database and the disk."""
        rows = sum(manifest.rows.values())
        self.stdout.write(
            f"Restored the backup of {manifest.created_at}: {rows} rows, {len(manifest.files) - 1} files."
        )
        if not manifest.has_models:
            self.stdout.write("The backup has no models: restore MODELS_ROOT from elsewhere.")
        if manifest.missing:
            self.stdout.write(f"{len(manifest.missing)} files were missing when it was written.")
        if secret_key_differs(manifest):
            self.stdout.write(
                "SECRET_KEY differs from that of the backup: everybody must sign in again, and the pseudonyms in "
                "exports change. Set the old one to keep them."
            )
        for finding in (*doctor.database(), *doctor.migrations(), *storage(), *doctor.disk()):
            self.stdout.write(f"{finding.what}  {finding.remedy}".rstrip())
        if differences:
            raise CommandError("The restored data differ from the backup:\n" + "\n".join(differences[:20]))
