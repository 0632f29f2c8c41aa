"""`manage.py password_link NAME`: a one-time link with which a person sets a new password."""

from typing import Any
from uuid import uuid4

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from accounts.services import find_person
from common.refusals import Refusal
from projects.password_links.services import make_operator_link


class Command(BaseCommand):
    help = "Print a link with which a person sets a new password. It works once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="sign-in name or email address")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            link = make_operator_link(actor=None, user=find_person(options["name"]), link_id=uuid4())
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        until = timezone.localtime(link.expires_at)
        self.stdout.write(f"For {link.user.username}, until {until:%Y-%m-%d %H:%M %Z}, once:")
        self.stdout.write(link.url)
