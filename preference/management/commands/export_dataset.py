import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.errors import Refusal
from dialogues.models import Split
from preference.exports import FORMATS, format_named
from preference.exports.selection import select
from preference.exports.writing import export, export_to, manifest_path
from preference.services import checked_filters
from projects.models import Project


class Command(BaseCommand):
    help = "Write a project's dialogues to a file, one JSON row per line, with a manifest beside it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", help="short name of the project")
        parser.add_argument("--format", required=True, choices=sorted(FORMATS), help="shape of the rows")
        parser.add_argument(
            "--split", action="append", default=[], choices=Split.values, help="only this split; may be given more than once"
        )
        parser.add_argument(
            "--include-unreviewed", action="store_true", help="also finished dialogues that no expert has passed yet"
        )
        parser.add_argument(
            "--output", default="-", metavar="FILE", help="where to write; - is standard output (default), its manifest goes to standard error"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project “{options['project']}”. See: manage.py create_project --help")
        try:
            selection = select(project, checked_filters(options["split"], options["include_unreviewed"]))
            shape = format_named(options["format"])
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        if options["output"] == "-":
            manifest = export(shape, selection, sys.stdout.buffer)
            self.stderr.write(json.dumps(manifest.as_json(), ensure_ascii=False))
            return
        path = Path(options["output"])
        try:
            manifest = export_to(path, shape, selection)
        except OSError as error:
            raise CommandError(f"{path} could not be written: {error.strerror}. Nothing was left behind.") from error
        self.stderr.write(f"{manifest.rows} rows to {path}; manifest: {manifest_path(path)}")
        if not manifest.rows and not options["include_unreviewed"]:
            self.stderr.write("Only dialogues that experts passed are exported; --include-unreviewed takes the others too.")
