"""`manage.py backup`: the database, files and models, while people work."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from common.refusals import Refusal
from operations.backup.errors import BackupError
from operations.backup.manifest import MANIFEST, Manifest
from operations.backup.writing import verify_backup, write_backup
from operations.lines import human_size


class Command(BaseCommand):
    help = "Back up the database, files and models to a folder. People may go on working."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "folder", type=Path, metavar="DIR", help="a new folder, or one of a cut-off backup"
        )
        models = parser.add_mutually_exclusive_group()
        models.add_argument(
            "--models",
            dest="models",
            action="store_true",
            default=True,
            help="with MODELS_ROOT (the default)",
        )
        models.add_argument("--no-models", dest="models", action="store_false", help="without MODELS_ROOT")
        parser.add_argument(
            "--verify",
            action="store_true",
            help="read every file back and compare its SHA-256; of a finished backup, only that",
        )

    def handle(self, *args: Any, folder: Path, models: bool, verify: bool, **options: Any) -> None:
        folder = folder.absolute()
        try:
            if verify and (folder / MANIFEST).exists():
                manifest = verify_backup(folder, self.stdout.write)
                self.stdout.write(f"The backup of {manifest.created_at} is complete and unchanged.")
                return
            manifest = write_backup(folder, with_models=models, write=self.stdout.write)
            if verify:
                verify_backup(folder, self.stdout.write)
        except (BackupError, Refusal) as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(f"The database does not answer: {str(error).strip()}") from error
        except OSError as error:
            raise CommandError(
                f"The backup was cut off: {error}. Free some space or choose another disk, then run this again."
            ) from error
        self.report(folder, manifest)

    def report(self, folder: Path, manifest: Manifest) -> None:
        size = human_size(sum(file.bytes for file in manifest.files.values()))
        rows = sum(manifest.rows.values())
        self.stdout.write(f"Finished: {folder} ({rows} rows, {len(manifest.files) - 1} files, {size})")
        if manifest.missing:
            self.stdout.write(
                f"{len(manifest.missing)} files that the database names were not on disk, for example "
                f"{manifest.missing[0]}; {MANIFEST} lists them."
            )
        self.stdout.write("SECRET_KEY is not in it: keep it, and the rest of the environment, elsewhere.")
