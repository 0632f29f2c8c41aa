"""`manage.py embedded`: show or stop the embedded servers."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from config import embedded


class Command(BaseCommand):
    requires_system_checks = ()
    help = (
        "Show or stop the embedded PostgreSQL and Redis, which run if DATABASE_URL and REDIS_URL are not set."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["status", "stop"], help="what to do")

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        if action == "stop":
            self.stdout.write("stopped" if embedded.stop(settings.VAR) else "was not running")
            return
        home = embedded.locate(settings.VAR)
        self.stdout.write(f"data:    {home.root}")
        self.stdout.write(f"sockets: {home.sockets}")
        for server, runs in embedded.running(home).items():
            self.stdout.write(f"{server}: {'running' if runs else 'not running'}")
