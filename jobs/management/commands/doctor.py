"""`manage.py doctor`: the problems of this installation and their remedies, in plain words."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import translation
from django.utils.translation import gettext as _

from config import doctor

MARKS = {"ok": "ok     ", "warning": "warning", "problem": "PROBLEM"}


class Command(BaseCommand):
    help = "Check this installation and say how to fix its problems. Exit code 1 if there are any."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print a JSON list instead of lines")
        parser.add_argument(
            "--quick", action="store_true", help="do not load the models, which takes seconds"
        )
        parser.add_argument(
            "--mail-to", default="", help="send a message to this address (default: send nothing)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with translation.override(doctor.terminal_language()):
            self.print_findings(**options)

    def print_findings(self, **options: Any) -> None:
        findings = []
        for finding in doctor.examine(quick=options["quick"], mail_to=options["mail_to"]):
            findings.append(finding)
            if not options["json"]:
                self.stdout.write(f"{MARKS[finding.state]}  {finding.what}  {finding.remedy}".rstrip())
        if options["json"]:
            self.stdout.write(doctor.as_json(findings))
        problems = sum(finding.state == "problem" for finding in findings)
        if problems:
            raise CommandError(_("{count} to fix").format(count=problems))
