"""People, a bilingual project and something to do, for `make demo`. Safe to repeat."""

from typing import Any
from uuid import UUID, uuid5

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from accounts.models import User
from annotation.services.planning import create_project, plan_dialogues
from projects.models import Membership, Project, Role

PASSWORD = "lapidary-demo"  # noqa: S105 - printed by `make demo`, refused in production
NAMESPACE = UUID("6f0d6a2e-5d0c-4b7e-9b1e-3d2c5a7f1e55")
PLANNED = 60
PEOPLE = [
    ("ann", "Ann Meyer", "en", [Role.ANNOTATOR]),
    ("lina", "李娜", "zh-hans", [Role.ANNOTATOR]),
    ("carlos", "Carlos Ruiz", "en", [Role.CONTROLLER]),
    ("tina", "Tina Wang", "zh-hans", [Role.TRAINER]),
    ("eric", "Eric Olsen", "en", [Role.ENGINEER]),
    ("mara", "Mara Novak", "en", [Role.MANAGER]),
]


class Command(BaseCommand):
    help = "Make the demo people and the demo project (nothing happens to what is there already)."

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("The demo logins are public; this is refused with PRODUCTION=1.")
        people = {name: self._person(name, shown, language) for name, shown, language, _roles in PEOPLE}
        project = self._project(people["mara"])
        for name, _shown, _language, roles in PEOPLE:
            Membership.objects.get_or_create(project=project, user=people[name], defaults={"roles": roles})
        for name, _shown, _language, roles in PEOPLE:
            self.stdout.write(f"{name:8} {PASSWORD}  {', '.join(str(role.label) for role in roles)}")

    def _person(self, username: str, shown: str, language: str) -> User:
        person, created = User.objects.get_or_create(
            username=username, defaults={"display_name": shown, "language": language}
        )
        if created:
            person.set_password(PASSWORD)
            person.save(update_fields=["password"])
        return person

    def _project(self, manager: User) -> Project:
        project = Project.objects.filter(slug="demo").first()
        if project is None:
            project = create_project(
                slug="demo",
                preset="diamante",
                title="Chit-chat 闲聊",
                description="Write chats with the model that ships with Lapidary. 和 Lapidary 自带的模型一起写闲聊。",
                actor=manager,
            )
        plan_dialogues(project=project, actor=manager, count=PLANNED, plan_id=uuid5(NAMESPACE, "plan"))
        return project
