"""`manage.py share_model`: let another project use a project's trained model, or no longer."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from common.refusals import Refusal
from generation.models import Generator
from generation.sharing import share_generator, stop_sharing
from projects.models import Project


class Command(BaseCommand):
    help = "Share a project's trained model with another project. Ask the managers of both first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("model", metavar="MODEL", help="name of a trained model")
        parser.add_argument("project", metavar="PROJECT", help="short name of the project that may use it")
        parser.add_argument("--stop", action="store_true", help="no longer share it")

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project “{options['project']}”.")
        generator = Generator.objects.filter(slug=options["model"]).first()
        if generator is None:
            raise CommandError(_("There is no model “%(name)s”.") % {"name": options["model"]})
        try:
            act = stop_sharing if options["stop"] else share_generator
            act(actor=None, generator=generator, project=project)
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        may = "may no longer use" if options["stop"] else "may use"
        self.stdout.write(f"{project.slug} {may} {generator.slug}.")
