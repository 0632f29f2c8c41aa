"""`manage.py train`: train a model on a snapshot, in the foreground; the same job that the page and the API start."""

import sys
import time
from argparse import RawDescriptionHelpFormatter
from typing import Any
from uuid import UUID, uuid4

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from common.refusals import Refusal
from jobs.models import Job, JobState
from jobs.services import run_job
from preference.data.selectors.snapshots import snapshot_named
from preference.registry.files import folder_of_model
from preference.registry.models import ModelKind
from preference.runs.assessor_options import BASELINES
from preference.runs.files import folder_of_run
from preference.runs.models import TrainingRun
from preference.runs.services.trainings import resume_training, start_training
from preference.runs.trainers import recipe_names
from projects.models import Project

SAY_EVERY = 3.0  # seconds
EPILOG = """Ctrl-C writes a checkpoint and stops; --resume ID continues from it. The model is registered at the end,
and its evaluation waits for a worker of the queue "training".
Exit code: 0 done, 1 failed, 2 wrong arguments, 130 stopped.

Examples:
  manage.py train chit-chat --snapshot "Week 12" --recipe quick --set epochs=2
  manage.py train chit-chat --snapshot "Week 12" --model /models/qwen --lora --processes 4
  manage.py train chit-chat --snapshot "Week 12" --kind paireval
  manage.py train quality --snapshot "May" --kind assessor --question quality --models majority gru
  manage.py train quality --snapshot "May" --kind topics
"""


class Command(BaseCommand):
    help = "Train a model on a snapshot of a project, in the foreground."
    _printed_at = 0.0

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EPILOG
        add = parser.add_argument
        add("project", metavar="PROJECT", help="short name of the project")
        add("--snapshot", metavar="NAME", help="name or id of the snapshot")
        add(
            "--kind",
            choices=ModelKind.values,
            default=ModelKind.JOINT,
            help="joint, paireval: on an authoring project; assessor: on a labelling project; "
            "topics: on both (default: joint)",
        )
        add(
            "--model",
            default="",
            help="trained model, folder or hub id to start from (default: the project's own; assessor, topics: none)",
        )
        add(
            "--recipe",
            choices=recipe_names(),
            default="",
            help="default: the paper's, diamante for joint, paper for paireval, diqad for assessor and topics",
        )
        add("--question", default="", help="assessor: what it learns; its final labels are 0, 1 and 2")
        add(
            "--models",
            nargs="+",
            default=[],
            choices=BASELINES,
            help="assessor, topics: models to compare (default: all)",
        )
        add(
            "--set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="change a setting; may be repeated",
        )
        add("--lora", action="store_true", help="train adapters and the head only")
        add("--seed", type=int, default=1, help="of sampling, order, and new weights (default: 1)")
        add(
            "--processes",
            type=int,
            metavar="N",
            help="joint, paireval: processes that divide every step (default: one for each visible GPU, on a CPU one)",
        )
        add("--resume", type=UUID, metavar="ID", help="continue a stopped training")
        add("--background", action="store_true", help="leave it to a worker of the queue training")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            run = self._start_run(options)
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        self.stdout.write(f"{run.pk}  {run.folder}")
        if options["background"]:
            return
        try:
            job = run_job(job_id=run.job_id, watch=self._print_progress)
        except KeyboardInterrupt:
            message = _("Stopped. Continue with --resume %(id)s.") % {"id": run.pk}
            raise CommandError(message, returncode=130) from None
        self._print_result(run, job)

    def _start_run(self, options: dict[str, Any]) -> TrainingRun:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project “{options['project']}”.")
        queued = options["background"]
        if options["resume"]:
            run = TrainingRun.objects.filter(project=project, pk=options["resume"]).first()
            if run is None:
                raise CommandError(_("There is no such training."))
            return resume_training(run=run, actor=None, enqueue=queued)
        if not options["snapshot"]:
            raise CommandError(_("Name a snapshot: --snapshot NAME."), returncode=2)
        return start_training(
            run_id=uuid4(),
            project=project,
            actor=None,
            snapshot=snapshot_named(project, options["snapshot"]),
            kind=options["kind"],
            question=options["question"],
            models=options["models"],
            model=options["model"],
            recipe=options["recipe"],
            changes=_changes(options["set"]),
            is_lora=options["lora"],
            seed=options["seed"],
            processes=options["processes"],
            enqueue=queued,
        )

    def _print_progress(self, job: Job) -> None:
        if time.monotonic() - self._printed_at < SAY_EVERY:
            return
        self._printed_at = time.monotonic()
        run = TrainingRun.objects.get(job=job)
        loss = f"  loss {run.latest['loss']:.4f}" if "loss" in run.latest else ""
        self.stderr.write(f"{job.done} / {job.total or '?'}{loss}")
        sys.stderr.flush()

    def _print_result(self, run: TrainingRun, job: Job) -> None:
        run.refresh_from_db()
        if job.state != JobState.DONE:
            log = _("Its log: %(path)s") % {"path": folder_of_run(run) / "train.log"}
            raise CommandError(f"{job.error} {job.remedy}\n{log}")
        self.stdout.write(f"{run.model.slug}  {folder_of_model(run.model)}")


def _changes(settings: list[str]) -> dict[str, str]:
    wrong = [setting for setting in settings if "=" not in setting]
    if wrong:
        raise CommandError(
            _("%(setting)s is not a setting: write NAME=VALUE.") % {"setting": wrong[0]}, returncode=2
        )
    return dict(setting.split("=", 1) for setting in settings)
