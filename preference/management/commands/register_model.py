"""`manage.py register_model`: register a model that was trained elsewhere, in the foreground; the API starts the same
job.
"""

import sys
import time
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from common.refusals import Refusal
from jobs.models import Job, JobState
from jobs.services import run_job
from preference.registry.files import folder_of_model
from preference.registry.models import RegisteredModel
from preference.registry.services.incoming import start_registration
from projects.models import Project

SAY_EVERY = 3.0  # seconds
EPILOG = """FOLDER is what `python -m preference.training.joint --output FOLDER` wrote, here or on another machine.
It is hashed, copied below MODELS_ROOT, read again and loaded to try it out. The same files again give the
same model. FOLDER stays and may be deleted afterwards.
Exit code: 0 done, 1 failed, 2 wrong arguments, 130 stopped.

Example:
  manage.py register_model /mnt/run7b --project chit-chat --name qwen-7b --note "8 GPUs, 3 hours"
"""


class Command(BaseCommand):
    help = "Register a model that was trained elsewhere."
    _printed_at = 0.0

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EPILOG
        add = parser.add_argument
        add("folder", metavar="FOLDER", type=Path, help="--output of the training, or the folder model in it")
        add("--project", metavar="SLUG", required=True, help="short name of the project that gets the model")
        add("--name", default="", help="of the model (default: that of the folder)")
        add(
            "--snapshot",
            default="",
            metavar="ID",
            help="the project's snapshot that it was trained on (default: the one with the same SHA-256)",
        )
        add(
            "--parent",
            default="",
            metavar="MODEL",
            help="the registered model that it began from (default: the project's model with the same weights)",
        )
        add(
            "--evaluation",
            default=None,
            type=Path,
            metavar="FILE",
            help="report of an evaluation (default: evaluation.json in FOLDER, if there is one)",
        )
        add("--note", default="", help="shown with the model")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            job = self._start(options)
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        try:
            job = run_job(job_id=job.pk, watch=self._print_progress)
        except KeyboardInterrupt:
            raise CommandError(_("Stopped. Nothing was registered."), returncode=130) from None
        if job.state != JobState.DONE:
            raise CommandError(f"{job.error} {job.remedy}".strip() or _("Stopped. Nothing was registered."))
        model = RegisteredModel.objects.get(slug=job.result["model"])
        self.stdout.write(f"{model.slug}  {folder_of_model(model)}")

    def _start(self, options: dict[str, Any]) -> Job:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project “{options['project']}”.")
        evaluation = options["evaluation"]
        return start_registration(
            registration_id=uuid4(),
            project=project,
            actor=None,
            folder=str(options["folder"].absolute()),
            evaluation=str(evaluation.absolute()) if evaluation else "",
            **{name: options[name] for name in ("name", "snapshot", "parent", "note")},
            enqueue=False,
        )

    def _print_progress(self, job: Job) -> None:
        if time.monotonic() - self._printed_at < SAY_EVERY:
            return
        self._printed_at = time.monotonic()
        self.stderr.write(f"{job.done >> 20} / {(job.total or 0) >> 20} MB")
        sys.stderr.flush()
