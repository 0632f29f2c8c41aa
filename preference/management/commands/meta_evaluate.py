"""`manage.py meta_evaluate`: which evaluators agree with a project's people, and how much that is worth."""

import json
from argparse import RawDescriptionHelpFormatter
from typing import Any
from uuid import UUID, uuid4

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from common.refusals import Refusal
from jobs.models import JobState
from jobs.services import run_job
from preference.evaluators.models import MetaEvaluation
from preference.evaluators.selectors.meta_evaluations import titles_of
from preference.evaluators.services.meta_evaluations import start_meta_evaluation
from preference.training.meta.table import table
from projects.models import Project

EPILOG = """Evaluators are compared with the final labels of a labelling project, or, system by system, with the ratings
of an assessment. Their scores are those of the project's page "Evaluators" or of its API.

Exit code: 0 compared, 1 refused, 2 wrong arguments, 130 stopped with Ctrl-C.

Examples:
  manage.py meta_evaluate quality
  manage.py meta_evaluate quality --question quality --json
"""


class Command(BaseCommand):
    help = "Compare evaluators with what a project's people judged."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EPILOG
        parser.add_argument("project", metavar="PROJECT", help="short name of the project")
        parser.add_argument(
            "--question", default="", help="what people answered (default: the first question)"
        )
        parser.add_argument(
            "--runs",
            nargs="+",
            default=[],
            type=UUID,
            metavar="ID",
            help="scoring runs (default: the newest of each evaluator)",
        )
        parser.add_argument("--json", action="store_true", help="print the report as JSON, not as tables")

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(_("There is no project “%(slug)s”.") % {"slug": options["project"]})
        try:
            evaluation = start_meta_evaluation(
                evaluation_id=uuid4(),
                project=project,
                actor=None,
                question=options["question"],
                runs=options["runs"],
                enqueue=False,
            )
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        report = self._report(evaluation)
        as_text = json.dumps(report, ensure_ascii=False, indent=2) if options["json"] else table(report)
        self.stdout.write(as_text)

    def _report(self, evaluation: MetaEvaluation) -> dict[str, Any]:
        """The report with titles of the evaluators in place of their runs' ids."""
        try:
            job = run_job(job_id=evaluation.job_id)
        except KeyboardInterrupt:
            raise CommandError(_("Stopped. Nothing was kept."), returncode=130) from None
        if job.state != JobState.DONE:
            raise CommandError(f"{job.error} {job.remedy}".strip() or _("Stopped. Nothing was kept."))
        evaluation.refresh_from_db()
        text = json.dumps(evaluation.report)
        for name, title in titles_of(evaluation).items():
            text = text.replace(json.dumps(name), json.dumps(title))
        report: dict[str, Any] = json.loads(text)
        return {"project": evaluation.project.slug, "question": evaluation.question, **report}
