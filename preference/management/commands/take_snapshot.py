"""Freeze a project's dialogues in the foreground: a folder with its card and hash, which trainings read."""

from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from common.refusals import Refusal
from dialogues.models import Split
from jobs.models import Job, JobState
from jobs.services import run_job
from preference.data.formats.snapshot import copy_snapshot
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.frozen_dialogues import FILES, folder_of_snapshot, verify_snapshot
from preference.data.selectors.shortages import shortages_on_card
from preference.data.selectors.snapshots import snapshot_named
from preference.data.services.snapshots import take_snapshot
from projects.models import Project

EPILOG = f"""The folder holds {", ".join(FILES)} and is listed on the project's page of snapshots.
No later work in the project changes it. python -m preference.training.joint --data FOLDER trains on it;
export_dataset --snapshot ID exports it in other formats. Of a labelling project it holds the final labels, and
every judgement under a pseudonym.

Exit code: 0 taken (or intact, with --verify), 1 refused, 2 wrong arguments, 130 stopped with Ctrl-C.

Examples:
  manage.py take_snapshot chit-chat --name "May" --output may
  manage.py take_snapshot chit-chat --verify May
"""


class Command(BaseCommand):
    help = "Freeze a project's dialogues or final labels with a card and a hash, for training."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EPILOG
        parser.add_argument("project", metavar="PROJECT", help="short name of the project")
        parser.add_argument("--name", default="", help="default: the project and the time")
        parser.add_argument(
            "--splits", nargs="+", default=[], choices=Split.values, help="only these splits (default: all)"
        )
        parser.add_argument(
            "--include-unreviewed",
            action="store_true",
            help="include finished dialogues that no expert has judged yet, such as imported ones",
        )
        parser.add_argument(
            "--seed", type=int, default=0, help="default seed for random draws from the snapshot"
        )
        parser.add_argument("--output", metavar="FOLDER", help="also copy it to this new or empty folder")
        parser.add_argument(
            "--verify", metavar="ID", help="take no snapshot, but check the files of this one, by id or name"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(_("There is no project “%(slug)s”.") % {"slug": options["project"]})
        try:
            if options["verify"]:
                folder = verify_snapshot(snapshot_named(project, options["verify"]))
                self.stdout.write(_("%(folder)s is intact.") % {"folder": folder})
                return
            self._take(project, options)
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal

    def _take(self, project: Project, options: dict[str, Any]) -> None:
        target = _check_empty(Path(options["output"])) if options["output"] else None
        names = ("name", "splits", "include_unreviewed", "seed")
        choices = {name: options[name] for name in names}
        snapshot = take_snapshot(snapshot_id=uuid4(), project=project, actor=None, enqueue=False, **choices)
        snapshot = self._run_to_end(snapshot.pk)
        if target:
            try:
                copy_snapshot(snapshot, target)
            except OSError as error:
                raise CommandError(_cannot_copy(target, error)) from error
        self._report(snapshot, target)

    def _run_to_end(self, snapshot_id: UUID) -> Snapshot:
        try:
            job = run_job(job_id=snapshot_id, watch=self._print_progress)
        except KeyboardInterrupt:
            raise CommandError(_("Stopped. Nothing was kept."), returncode=130) from None
        if job.state != JobState.DONE:
            raise CommandError(f"{job.error} {job.remedy}".strip() or _("Stopped. Nothing was kept."))
        return Snapshot.objects.select_related("project").get(pk=snapshot_id)

    def _print_progress(self, job: Job) -> None:
        self.stderr.write(_("%(done)d of %(total)d dialogues") % {"done": job.done, "total": job.total or 0})

    def _report(self, snapshot: Snapshot, target: Path | None) -> None:
        total = snapshot.card["splits"][-1]
        template = _("%(dialogues)d dialogues, %(replies)d turns to learn from, %(bytes)d bytes")
        if snapshot.is_labelled:
            template = _("%(dialogues)d labelled dialogues, %(bytes)d bytes")
        self.stderr.write(template % {**total, "bytes": snapshot.bytes})
        self.stderr.write(f"SHA-256 {snapshot.sha256}")
        for shortage in shortages_on_card(snapshot.card):
            self.stderr.write(f"! {shortage.text()}")
        self.stdout.write(f"{snapshot.pk} {target or folder_of_snapshot(snapshot)}")


def _check_empty(folder: Path) -> Path:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CommandError(_("%(folder)s is not empty. Name a new folder.") % {"folder": folder})
    return folder


def _cannot_copy(folder: Path, error: OSError) -> str:
    template = _("The snapshot is taken, but %(folder)s could not be written: %(reason)s.")
    return template % {"folder": folder, "reason": error.strerror or error}
