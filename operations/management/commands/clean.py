"""`manage.py clean`: delete leftovers by age."""

from argparse import RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from common.refusals import Refusal
from operations.lines import human_size
from operations.retention.ages import ABOUT, DEFAULTS, NEVER, chosen_ages
from operations.retention.kinds import Amount
from operations.retention.services import clean


class Command(BaseCommand):
    help = "Delete leftovers that are older than their age; never snapshots, models, dialogues, labels or events."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        lines = [f"  {kind:12} {days:3} days  {ABOUT[kind]}" for kind, days in DEFAULTS.items()]
        return super().create_parser(
            prog_name,
            subcommand,
            formatter_class=RawDescriptionHelpFormatter,
            epilog="\n".join(["kinds and their default ages:", *lines]),
            **kwargs,
        )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="count, and delete nothing")
        parser.add_argument(
            "--only", action="append", default=[], choices=list(DEFAULTS), help="this kind; repeatable"
        )
        parser.add_argument(
            "--keep",
            action="append",
            default=[],
            metavar="KIND=DAYS",
            help=f"another age than RETENTION says, for example exports=30 or exports={NEVER}; repeatable",
        )

    def handle(self, *args: Any, dry_run: bool, only: list[str], keep: list[str], **options: Any) -> None:
        try:
            ages = chosen_ages(dict(_pair(text) for text in keep))
        except ValueError as error:
            raise CommandError(str(error)) from error
        total = Amount()
        try:
            for kind, amount in clean(ages, only=only, dry_run=dry_run):
                total += amount
                age = f"older than {ages[kind]} days"
                self.stdout.write(f"{kind:12} {age:22} {amount.count:>8} {human_size(amount.bytes):>10}")
        except Refusal as refusal:
            raise CommandError(f"{refusal} Then run this again.") from refusal
        except DatabaseError as error:
            raise CommandError(f"The database does not answer: {str(error).strip()}") from error
        verb = "Would delete" if dry_run else "Deleted"
        self.stdout.write(f"{verb} {total.count} leftovers, {human_size(total.bytes)} on disk.")


def _pair(text: str) -> tuple[str, str]:
    kind, equals, days = text.partition("=")
    if not equals:
        raise ValueError(f"--keep {text} is not understood. Write KIND=DAYS.")
    return kind, days
