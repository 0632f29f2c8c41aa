from typing import Any
from uuid import uuid4

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import User
from annotation.authoring.services.planning import plan_dialogues
from annotation.project_setup.presets.registry import PRESETS
from annotation.project_setup.services import create_project
from common.refusals import Refusal
from projects.models import DialogueLanguage


class Command(BaseCommand):
    help = "Create a project from a preset."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="short name: lowercase letters, digits, - and _")
        parser.add_argument(
            "--preset", required=True, choices=sorted(PRESETS), help="what the project starts with"
        )
        parser.add_argument("--title", default="", help="shown to people (default: the short name)")
        parser.add_argument(
            "--language",
            default=DialogueLanguage.MIXED,
            choices=DialogueLanguage.values,
            help="of the dialogues (default: mul)",
        )
        parser.add_argument(
            "--manager", metavar="USERNAME", help="its manager (default: nobody; superusers can manage it)"
        )
        parser.add_argument(
            "--dialogues", type=int, default=0, metavar="N", help="plan N dialogues to be written"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        manager = self._person(options["manager"])
        try:
            project = create_project(
                slug=options["name"],
                preset=options["preset"],
                title=options["title"],
                language=options["language"],
                actor=manager,
            )
            if options["dialogues"]:
                plan_dialogues(project=project, actor=manager, count=options["dialogues"], plan_id=uuid4())
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        self.stdout.write(f"Created project {project.slug} ({project.protocol}, preset {project.preset}).")
        if manager is None:
            self.stdout.write(
                "It has no manager: only superusers see it. One of them adds a manager on its page Members; "
                "--manager USERNAME does it at once."
            )

    def _person(self, username: str | None) -> User | None:
        if not username:
            return None
        person = User.objects.filter(username=username).first()
        if person is None:
            raise CommandError(
                f"There is no user “{username}”. Create one with: manage.py create_user {username}"
            )
        return person
