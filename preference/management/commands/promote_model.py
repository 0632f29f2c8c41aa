"""`manage.py promote_model`: choose a project's model from the command line, or roll the last choice back."""

from typing import Any
from uuid import uuid4

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from common.refusals import Refusal
from preference.registry.models import Promotion, RegisteredModel
from preference.registry.selectors.trained_models import current_model
from preference.registry.services.promotion import promote_model, roll_back
from projects.models import Project


class Command(BaseCommand):
    help = "Use a trained model for a project's next candidates. Workers need no restart."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="short name of the project")
        parser.add_argument("model", metavar="MODEL", nargs="?", default="", help="name of a trained model")
        parser.add_argument(
            "--roll-back", action="store_true", help="go back to the model before the last promotion"
        )
        parser.add_argument("--reason", default="", help="stored with the promotion")

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project “{options['project']}”.")
        if bool(options["model"]) == options["roll_back"]:
            raise CommandError(_("Name a model, or use --roll-back."), returncode=2)
        try:
            promotion = self._promote(project, options)
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        before, after = (
            generator.slug if generator else _("the server's own model")
            for generator in (promotion.before, promotion.after)
        )
        self.stdout.write(f"{project.slug}: {before} → {after}")

    def _promote(self, project: Project, options: dict[str, Any]) -> Promotion:
        current = current_model(project)
        values: dict[str, Any] = {
            "promotion_id": uuid4(),
            "project": project,
            "actor": None,
            "expected_current": current.name if current else None,
            "reason": options["reason"],
        }
        if options["roll_back"]:
            return roll_back(**values)
        model = RegisteredModel.objects.filter(slug=options["model"]).first()
        if model is None:
            raise CommandError(_("There is no model “%(name)s”.") % {"name": options["model"]})
        return promote_model(model=model, **values)
