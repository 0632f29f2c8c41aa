"""The demo study, for `make demo`: systems, a run of scripted participants, an open run. Safe to repeat."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from accounts.models import User
from assessment.demo.collection import create_demo_collection
from assessment.demo.study import create_demo_study, join_address
from projects.models import Membership, Project


class Command(BaseCommand):
    help = "Create the demo study, after seed_demo; prints a link to take part."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--bots", default="http://127.0.0.1:8600", help="where `python -m assessment.demo.bots` listens"
        )
        parser.add_argument(
            "--server", default="", help="address of this server, for the link; default: PUBLIC_URL"
        )

    @transaction.atomic
    def handle(self, *args: Any, bots: str, server: str, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("The demo's participants are scripts; this is refused with PRODUCTION=1.")
        corpus = Project.objects.filter(slug="demo").first()
        manager = User.objects.filter(username="mara").first()
        if corpus is None or manager is None:
            raise CommandError("The demo project is missing. Run `manage.py seed_demo` first.")
        study = create_demo_study(manager, corpus, bots)
        rating = create_demo_collection(study, corpus, manager)
        for project in (study, rating):
            for member in corpus.memberships.exclude(user__imported=True):
                Membership.objects.get_or_create(
                    project=project, user=member.user, defaults={"roles": member.roles}
                )
        address = join_address(study, server or settings.PUBLIC_URL, "you")
        self.stdout.write(f"\nRate chatbots as a participant, in about two minutes:\n{address}")
