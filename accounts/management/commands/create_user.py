import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.services import ONE_TIME_PASSWORD_DAYS, create_user, make_superuser
from common.refusals import Refusal


class Command(BaseCommand):
    help = "Create an account. Prints a one-time password, with which the person chooses their own."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help="the sign-in name")
        parser.add_argument("--email", default="", help="also for signing in, and for a forgotten password")
        parser.add_argument("--display-name", default="", help="shown to others (default: the sign-in name)")
        parser.add_argument(
            "--language",
            default="",
            choices=[code for code, _name in settings.LANGUAGES],
            help="of the interface (default: as the browser)",
        )
        parser.add_argument(
            "--superuser",
            action="store_true",
            help="manages every project and may use the administration pages; also for an account that exists",
        )
        parser.add_argument(
            "--password-stdin",
            action="store_true",
            help="read the password from standard input instead of making a one-time one",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["superuser"] and self._promote(options["username"]):
            return
        password = sys.stdin.readline().rstrip("\r\n") if options["password_stdin"] else None
        if password == "":
            raise CommandError("There was no password on standard input.")
        try:
            user, plain = create_user(
                username=options["username"],
                email=options["email"],
                display_name=options["display_name"],
                language=options["language"],
                password=password,
                is_superuser=options["superuser"],
            )
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        self.stdout.write(f"Account {user.username} created. Sign in at {settings.PUBLIC_URL}/")
        if password is None:
            self.stdout.write(f"One-time password, valid for {ONE_TIME_PASSWORD_DAYS} days: {plain}")

    def _promote(self, username: str) -> bool:
        """Make an account that exists a superuser; its password and the rest stay. Returns whether there is one."""
        try:
            user = make_superuser(username=username)
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        if user is not None:
            self.stdout.write(
                f"Account {user.username} exists and is a superuser now. Its password and the rest stay as they were."
            )
        return user is not None
