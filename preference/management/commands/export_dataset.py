"""Write a project's data in the foreground: progress on standard error, rows in a file or on standard output."""

import contextlib
import json
import os
import sys
import time
from argparse import RawDescriptionHelpFormatter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from common.refusals import Refusal
from dialogues.models import Split
from preference.data.formats.catalogue import FORMATS
from preference.data.formats.writing import Manifest, Source, export, manifest_path, write_export_file
from preference.data.models.exports import FileType
from preference.data.selectors.frozen_dialogues import FrozenDialogues, frozen, verified
from preference.data.selectors.selection import Preview, Selection, preview, select
from preference.data.selectors.snapshots import snapshot_named
from preference.data.services.exports import (
    build_draw_settings,
    build_filters,
    check_file_type,
    check_format,
    snapshot_filters,
)
from projects.models import Project, Protocol

LOG_EVERY = 5.0  # seconds
SHOW_EVERY = 0.5  # on a terminal
STDOUT = "-"


def _epilog() -> str:
    formats = "\n\n".join(
        f"  {each.name}\n    {each.description}\n    {each.example}" for each in FORMATS.values()
    )
    return f"""Formats (JSON Lines, dialeval one JSON array; UTF-8; or Parquet, where a value that has no one type is a
column of JSON text):
{formats}

Which dialogues leave: in authoring (diamante, sft, judgements) finished ones that the experts passed;
--include-unreviewed adds those that no expert has judged yet. Vetoed dialogues never leave. In labelling (dialeval,
diqad, judgements) those that have a final label; --include-unreviewed adds the others. A dialogue's split was assigned
once, by a hash of its id. diqad keeps back dialogues labelled -1, -2 (private data) or phone (abandoned) and counts
them in the manifest; --include-withheld adds them.

quadruples, preference, reward and kto draw replies of other dialogues of the same split; quadruples also draws one of
the candidates that are least similar to what was sent. The same --seed and --epoch draw the same; another epoch draws
anew. With --snapshot the rows come from that frozen data set (take_snapshot), not from the project as it is.

FILE is replaced only when all of it is written; when the disk is full, or with Ctrl-C, nothing is left behind.
FILE.manifest.json beside it holds format, filters, number of dialogues and rows, bytes, SHA-256, code version and time;
with --output - the manifest is written to standard error, as one JSON line.
Exit code: 0 written, 1 nothing written, 2 wrong arguments, 130 stopped with Ctrl-C.

Example:
  manage.py export_dataset chit-chat --format sft --split train --output train.jsonl
  manage.py export_dataset chit-chat --format preference --file-type parquet --output pairs.parquet
"""


class Command(BaseCommand):
    help = (
        "Write a project's dialogues or judgements to a file, one JSON row a line, with a manifest beside it."
    )
    _shown: float

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = _epilog()
        parser.add_argument("project", metavar="PROJECT", help="short name of the project")
        parser.add_argument(
            "--format", required=True, choices=list(FORMATS), help="shape of the rows, see below"
        )
        parser.add_argument(
            "--split",
            action="append",
            default=[],
            choices=Split.values,
            help="only this split; may be given more than once (default: all)",
        )
        parser.add_argument(
            "--include-unreviewed",
            action="store_true",
            help="also finished dialogues that no expert has judged yet, such as imported ones",
        )
        parser.add_argument(
            "--include-withheld",
            action="store_true",
            help="in diqad, also dialogues labelled -1, -2 (private data) or phone (abandoned)",
        )
        parser.add_argument(
            "--file-type", default=FileType.JSONL.value, choices=FileType.values, help="default: jsonl"
        )
        parser.add_argument("--snapshot", metavar="ID", help="from this snapshot: its id, or its name")
        parser.add_argument("--seed", type=int, default=0, help="of what is drawn at random (default: 0)")
        parser.add_argument("--epoch", type=int, default=0, help="what is drawn in this epoch (default: 0)")
        parser.add_argument(
            "--no-random",
            action="store_true",
            help="in preference, reward and kto, no pairs with a random reply of another dialogue",
        )
        parser.add_argument(
            "--output", default=STDOUT, metavar="FILE", help="where to write; - is standard output (default)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project “{options['project']}”.")
        try:
            source = _source(project, options)
            write = {
                "file_type": check_file_type(options["file_type"]),
                "draws": build_draw_settings(options["seed"], options["epoch"], not options["no_random"]),
            }
            manifest = self._written(options["format"], source, options["output"], write)
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        seen = Preview()
        if isinstance(source, Selection):
            seen = preview(project, source.filters, options["format"])
        self._report(manifest, seen, options["output"], labels=project.protocol == Protocol.LABELLING)

    def _written(self, format: str, source: Source, output: str, write: dict[str, Any]) -> Manifest:
        total, shape = source.count(), FORMATS[format]
        self._shown = time.monotonic()

        def at(dialogues: int) -> None:
            self._show_progress(dialogues, total)

        with self._refusals(output):
            if output == STDOUT:
                manifest = export(shape, source, sys.stdout.buffer, at, **write)
                sys.stdout.buffer.flush()
                return manifest
            return write_export_file(_regular(Path(output)), shape, source, at, **write)

    @contextlib.contextmanager
    def _refusals(self, output: str) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            raise CommandError(_("Stopped. No file was written."), returncode=130) from None
        except BrokenPipeError:
            # Whoever read has enough, as `head` does; Python would complain once more when it closes the pipe.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise CommandError(_("The reader of standard output went away.")) from None
        except OSError as error:
            raise CommandError(_cannot_write(output, error)) from error
        finally:
            self._clear_progress()

    def _show_progress(self, done: int, total: int) -> None:
        """One line that is written over on a terminal; elsewhere, as in a log, a line every five seconds."""
        terminal = self.stderr.isatty()
        if time.monotonic() - self._shown < (SHOW_EVERY if terminal else LOG_EVERY):
            return
        self._shown = time.monotonic()
        line = _("%(done)d of %(total)d dialogues") % {"done": done, "total": total}
        self.stderr.write(f"\r{line} " if terminal else line, ending="" if terminal else "\n")
        self.stderr.flush()

    def _clear_progress(self) -> None:
        if self.stderr.isatty():
            self.stderr.write("\r" + " " * 60 + "\r", ending="")

    def _report(self, manifest: Manifest, seen: Preview, output: str, *, labels: bool) -> None:
        if output == STDOUT:
            self.stderr.write(json.dumps(manifest.as_json(), ensure_ascii=False))
        else:
            rows = ngettext("%(n)d row", "%(n)d rows", manifest.rows) % {"n": manifest.rows}
            dialogues = ngettext("%(n)d dialogue", "%(n)d dialogues", manifest.dialogues)
            counted = f"{rows}, {dialogues % {'n': manifest.dialogues}}"
            self.stderr.write(f"{counted}: {output}\n{_('Manifest:')} {manifest_path(Path(output))}")
        for line in [*_skipped(manifest), *_why_not(seen, labels=labels)]:
            self.stderr.write(line)


def _source(project: Project, options: dict[str, Any]) -> Selection | FrozenDialogues:
    """What is read. Raises Refusal."""
    check_format(project, options["format"], of_snapshot=bool(options["snapshot"]))
    if options["snapshot"]:
        snapshot = snapshot_named(project, options["snapshot"])
        verified(snapshot)
        return frozen(snapshot, snapshot_filters(snapshot, project, options["split"]).splits)
    return select(
        project,
        build_filters(options["split"], options["include_unreviewed"], options["include_withheld"]),
    )


def _skipped(manifest: Manifest) -> list[str]:
    """Turns that gave no row, or no random pair."""
    said = {
        "no_candidates": _("%(n)d turns had no candidate that differs from what was sent."),
        "no_other_dialogue": _("For %(n)d turns no other dialogue of the split had a reply to draw."),
    }
    return [said[reason] % {"n": n} for reason, n in manifest.skipped.items()]


def _cannot_write(output: str, error: OSError) -> str:
    reason = error.strerror or error
    if output == STDOUT:
        said = _("Standard output could not be written: %(reason)s. What it got is not complete.")
        return said % {"reason": reason}
    said = _("%(file)s could not be written: %(reason)s. Nothing was left behind.")
    remedy = _("Free some space, or name another place with --output.")
    return f"{said % {'file': output, 'reason': reason}} {remedy}"


def _regular(path: Path) -> Path:
    """Replacing a device or a pipe by a file would break it for everybody."""
    if path.exists() and not path.is_file():
        raise CommandError(
            _("%(path)s is not a file. Name a file, or - for standard output.") % {"path": path}
        )
    return path


def _why_not(seen: Preview, *, labels: bool) -> list[str]:
    """Why dialogues stayed; silent about those that were not asked for."""
    lines = []
    if seen.unreviewed:
        said = _("Not exported: %(n)d that no expert has judged (--include-unreviewed).")
        if labels:
            said = _("Not exported: %(n)d without a final label that may leave (--include-unreviewed).")
        lines.append(said % {"n": seen.unreviewed})
    if seen.withheld:
        lines.append(
            _("Not exported: %(n)d labelled as private or abandoned (--include-withheld).")
            % {"n": seen.withheld}
        )
    if seen.vetoed:
        lines.append(_("Not exported: %(n)d that an expert vetoed.") % {"n": seen.vetoed})
    return lines
