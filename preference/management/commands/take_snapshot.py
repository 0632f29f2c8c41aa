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
from preference.data.formats.snapshot import copy_to
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.frozen_dialogues import FILES, folder_of_snapshot, verified
from preference.data.selectors.shortages import shortages_on_card
from preference.data.selectors.snapshots import snapshot_named
from preference.data.services.snapshots import take_snapshot
from projects.models import Project

EPILOG = f"""The folder holds {", ".join(FILES)} and is listed on the project's page of snapshots.
No later work in the project changes it. python -m preference.training.joint --data FOLDER trains on it;
export_dataset --snapshot ID makes other shapes of it.

Exit code: 0 taken (or whole, with --verify), 1 refused, 2 wrong arguments, 130 stopped with Ctrl-C.

Examples:
  manage.py take_snapshot chit-chat --name "May" --output may
  manage.py take_snapshot chit-chat --verify May
"""


class Command(BaseCommand):
    help = "Freeze a project's dialogues with a card and a hash, for training."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EPILOG
        parser.add_argument("project", metavar="PROJECT", help="short name of the project")
        parser.add_argument("--name", default="", help="default: the project and the time")
        parser.add_argument(
            "--splits", nargs="+", default=[], choices=Split.values, help="only these (default: all)"
        )
        parser.add_argument(
            "--include-unreviewed",
            action="store_true",
            help="also finished dialogues that no expert has judged yet, such as imported ones",
        )
        parser.add_argument("--seed", type=int, default=0, help="kept with it, for what is drawn from it")
        parser.add_argument("--output", metavar="FOLDER", help="copy it there too; a new or empty folder")
        parser.add_argument(
            "--verify", metavar="ID", help="take nothing; check the files of this snapshot, by id or name"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(_("There is no project “%(slug)s”.") % {"slug": options["project"]})
        try:
            if options["verify"]:
                folder = verified(snapshot_named(project, options["verify"]))
                self.stdout.write(_("%(folder)s is what was written.") % {"folder": folder})
                return
            self._take(project, options)
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal

    def _take(self, project: Project, options: dict[str, Any]) -> None:
        target = _empty(Path(options["output"])) if options["output"] else None
        names = ("name", "splits", "include_unreviewed", "seed")
        about = {name: options[name] for name in names}
        made = take_snapshot(snapshot_id=uuid4(), project=project, actor=None, enqueue=False, **about)
        snapshot = self._finished(made.pk)
        if target:
            try:
                copy_to(snapshot, target)
            except OSError as error:
                raise CommandError(_cannot_copy(target, error)) from error
        self._report(snapshot, target)

    def _finished(self, snapshot_id: UUID) -> Snapshot:
        try:
            job = run_job(job_id=snapshot_id, watch=self._show)
        except KeyboardInterrupt:
            raise CommandError(_("Stopped. Nothing was kept."), returncode=130) from None
        if job.state != JobState.DONE:
            raise CommandError(f"{job.error} {job.remedy}".strip() or _("Stopped. Nothing was kept."))
        return Snapshot.objects.select_related("project").get(pk=snapshot_id)

    def _show(self, job: Job) -> None:
        self.stderr.write(_("%(done)d of %(total)d dialogues") % {"done": job.done, "total": job.total or 0})

    def _report(self, snapshot: Snapshot, target: Path | None) -> None:
        total = snapshot.card["splits"][-1]
        said = _("%(dialogues)d dialogues, %(replies)d turns to learn from, %(bytes)d bytes")
        self.stderr.write(said % {**total, "bytes": snapshot.bytes})
        self.stderr.write(f"SHA-256 {snapshot.sha256}")
        for one in shortages_on_card(snapshot.card):
            self.stderr.write(f"! {one.text()}")
        self.stdout.write(f"{snapshot.pk} {target or folder_of_snapshot(snapshot)}")


def _empty(folder: Path) -> Path:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CommandError(_("%(folder)s is not empty. Name a new folder.") % {"folder": folder})
    return folder


def _cannot_copy(folder: Path, error: OSError) -> str:
    said = _("The snapshot is taken, but %(folder)s could not be written: %(reason)s.")
    return said % {"folder": folder, "reason": error.strerror or error}
