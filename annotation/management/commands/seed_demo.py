"""People, bilingual projects, dialogues in every state and open tasks, for `make demo`. Safe to repeat."""

import io
import json
from typing import Any
from uuid import UUID, uuid5

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from accounts.models import User
from annotation.authoring.services.planning import plan_dialogues
from annotation.demo.accepted_batch import create_accepted_batch
from annotation.demo.dialogue_scripts import load_candidates, load_scripts
from annotation.demo.dialogue_writer import script_id, write_dialogue
from annotation.demo.labelling_projects import (
    create_helpdesk_project,
    create_quality_project,
    cut_quality_batches,
    import_quality_dialogues,
    label_quality_project,
)
from annotation.demo.scripted_project import create_scripted_project
from annotation.project_setup.services import create_project
from annotation.tasks.models.work import Assignment
from common.refusals import Refusal
from dialogues.models import Dialogue
from dialogues.services.imports import start_import
from generation.demo_model.corpus import write_corpus
from jobs.services import run_job
from projects.models import Membership, Project, Role

PASSWORD = "lapidary-demo"  # noqa: S105 - printed by `make demo`, refused in production
NAMESPACE = UUID("6f0d6a2e-5d0c-4b7e-9b1e-3d2c5a7f1e55")
PLANNED = 60  # dialogues left for people to write
IMPORTED = 8
DESCRIPTION = (
    "Write chats with the model that ships with Lapidary. 和 Lapidary 自带的模型一起写闲聊。\n\n"
    "Demo data: what “demo robots” wrote in the last two weeks was made up, its times and verdicts too. "
    "演示数据：“演示机器人”近两周的对话、时间与审核结论均为虚构。"
)
PEOPLE = [
    ("ann", "Ann Meyer", "en", [Role.ANNOTATOR]),
    ("lina", "李娜", "zh-hans", [Role.ANNOTATOR]),
    ("carlos", "Carlos Ruiz", "en", [Role.CONTROLLER]),
    ("tina", "Tina Wang", "zh-hans", [Role.TRAINER]),
    ("eric", "Eric Olsen", "en", [Role.ENGINEER]),
    ("mara", "Mara Novak", "en", [Role.MANAGER]),
]
# By their names in the scripts: user name and display name. Nobody can sign in as a robot.
ROBOTS = {
    "ada": ("demo-robot-ada", "demo robot Ada"),
    "bert": ("demo-robot-bert", "demo robot Bert"),
    "cleo": ("demo-robot-cleo", "demo robot Cleo"),
    "dora": ("demo-robot-dora", "demo robot Dora"),
    "小玉": ("demo-robot-xiaoyu", "演示机器人 小玉"),
    "小安": ("demo-robot-xiaoan", "演示机器人 小安"),
    "小禾": ("demo-robot-xiaohe", "演示机器人 小禾"),
    "小棠": ("demo-robot-xiaotang", "演示机器人 小棠"),
}


class Command(BaseCommand):
    help = (
        "Create the demo people, the demo projects and their dialogues. Does not change what exists already."
    )

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("The demo logins are public; this is refused with PRODUCTION=1.")
        people = {
            name: self._person(name, display_name, language)
            for name, display_name, language, _roles in PEOPLE
        }
        # First, because lists begin with the newest project.
        scripted = create_scripted_project(people["mara"], people["eric"])
        project = self._project(people["mara"])
        quality = self._quality_project(people)
        helpdesk = create_helpdesk_project(people["mara"], people["eric"])
        for demo_project in (project, helpdesk, quality, scripted):
            for name, _display_name, _language, roles in PEOPLE:
                Membership.objects.get_or_create(
                    project=demo_project, user=people[name], defaults={"roles": roles}
                )
        robots = [self._robot(quality, *ROBOTS[name]) for name in ("cleo", "小禾")]
        label_quality_project(quality, people["ann"], robots)
        cut_quality_batches(quality, people["mara"])
        try:
            with transaction.atomic():
                self._write_dialogues(project, people)
        except Refusal as refusal:  # in an older demo Ann has as many open dialogues as allowed
            self.stderr.write(f"The demo dialogues were not written: {refusal}")
        self._import_chats(project, people["eric"])
        for name, _display_name, _language, roles in PEOPLE:
            self.stdout.write(f"{name:8} {PASSWORD}  {', '.join(str(role.label) for role in roles)}")

    def _person(self, username: str, display_name: str, language: str) -> User:
        person, created = User.objects.get_or_create(
            username=username, defaults={"display_name": display_name, "language": language}
        )
        if created:
            person.set_password(PASSWORD)
            person.save(update_fields=["password"])
        return person

    def _robot(self, project: Project, username: str, display_name: str) -> User:
        robot, created = User.objects.get_or_create(
            username=username, defaults={"display_name": display_name, "imported": True}
        )
        if created:
            robot.set_unusable_password()
            robot.save(update_fields=["password"])
        Membership.objects.get_or_create(project=project, user=robot, defaults={"roles": [Role.ANNOTATOR]})
        return robot

    def _project(self, manager: User) -> Project:
        project = Project.objects.filter(slug="demo").first()
        if project is None:
            project = create_project(
                slug="demo",
                preset="diamante",
                title="Chit-chat 闲聊",
                description=DESCRIPTION,
                actor=manager,
            )
        plan_dialogues(project=project, actor=manager, count=PLANNED, plan_id=uuid5(NAMESPACE, "plan"))
        return project

    def _quality_project(self, people: dict[str, User]) -> Project:
        """First the batch that scripts labelled, so that the dialogues for people are in the batches after it."""
        quality = create_quality_project(people["mara"])
        if not Dialogue.objects.filter(project=quality).exists():
            create_accepted_batch(
                quality, engineer=people["eric"], trainer=people["tina"], controller=people["carlos"]
            )
            import_quality_dialogues(quality, people["eric"])
        return quality

    def _write_dialogues(self, project: Project, people: dict[str, User]) -> None:
        to_write = load_scripts()
        if Assignment.objects.filter(claim_id=script_id(to_write[0], "claim")).exists():
            return
        plan = uuid5(NAMESPACE, "written")
        plan_dialogues(project=project, actor=people["mara"], count=len(to_write), plan_id=plan, priority=-1)
        robots = {name: self._robot(project, *names) for name, names in ROBOTS.items()}
        candidates = load_candidates()
        for script in to_write:
            write_dialogue(
                script,
                author=(people | robots)[script.author],
                expert=people.get(script.expert),
                project=project,
                others=candidates[script.key],
            )

    def _import_chats(self, project: Project, engineer: User) -> None:
        """Import a small file with two broken lines, so that the pages of imports have something to show."""
        rows = [
            {
                "id": f"demo-{n}",
                "language": language,
                "messages": [{"role": role, "content": text} for role, text in messages],
            }
            for n, (language, messages) in enumerate(write_corpus(7, IMPORTED))
        ]
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        lines[3:3] = ['{"id": "demo-broken", "messages": [', '{"id": "demo-empty", "messages": []}']
        job = start_import(
            project=project,
            actor=engineer,
            source=io.BytesIO("\n".join(lines).encode()),
            name="old-chats.jsonl",
            format="messages",
            submission_id=uuid5(NAMESPACE, "import"),
            enqueue=False,
        )
        run_job(job_id=job.pk)
