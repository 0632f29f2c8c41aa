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
from django.utils.translation import gettext_lazy, ngettext

from common.refusals import Refusal
from dialogues.models import Split
from preference.data.formats.catalogue import FORMATS
from preference.data.formats.writing import Manifest, Source, export, manifest_path, write_export_file
from preference.data.models.exports import FileType, FormatName, LeadingTurns
from preference.data.selectors.frozen_dialogues import FrozenDialogues, frozen_dialogues, verify_snapshot
from preference.data.selectors.selection import Preview, Selection
from preference.data.selectors.snapshots import snapshot_named
from preference.data.selectors.sources import preview_source, select_source
from preference.data.selectors.study import WELL_RATED
from preference.data.services.exports import (
    build_draw_settings,
    build_filters,
    check_file_type,
    check_format,
    check_run,
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
    return f"""Formats (JSON Lines, dialeval one JSON array; UTF-8; or Parquet, where a value without a single
type is JSON text in its column):
{formats}

Which dialogues leave: in authoring (diamante, sft, judgements) finished ones that the experts passed;
--include-unreviewed adds those that no expert has judged yet. Vetoed dialogues never leave. In labelling (dialeval,
diqad, judgements) those that have a final label; --include-unreviewed adds the others. A dialogue's split was assigned
once, by a hash of its id. diqad leaves out dialogues labelled -1, -2 (private data) or phone (abandoned) and counts
them in the manifest; --include-withheld adds them. Of a study (assessment, judgements, sft, preference) the
conversations of assignments that ended paid leave; a file of the format assessment holds one run (--run).

quadruples, preference, reward and kto draw replies of other dialogues of the same split; quadruples also draws one of
the candidates that are least similar to what was sent. The same --seed and --epoch give the same draws; another
epoch gives others. With --snapshot the rows come from that frozen data set (take_snapshot) instead of the project.

FILE is replaced only when all of it is written; a full disk or Ctrl-C leaves nothing behind.
FILE.manifest.json beside it holds format, filters, number of dialogues and rows, bytes, SHA-256, code version and time;
with --output - the manifest is written to standard error, as one JSON line.
Exit code: 0 written, 1 nothing written, 2 wrong arguments, 130 stopped with Ctrl-C.

Example:
  manage.py export_dataset chit-chat --format sft --split train --output train.jsonl
  manage.py export_dataset chit-chat --format preference --file-type parquet --output pairs.parquet
"""


_PRIVATE = gettext_lazy(
    "Dialogues not exported: %(n)d labelled as private or abandoned (--include-withheld)."
)
# By protocol: why dialogues count as unreviewed, and as withheld.
_REASONS = {
    Protocol.AUTHORING: (
        gettext_lazy("Dialogues not exported: %(n)d that no expert has judged (--include-unreviewed)."),
        _PRIVATE,
    ),
    Protocol.LABELLING: (
        gettext_lazy(
            "Dialogues not exported: %(n)d without a final label that can be exported (--include-unreviewed)."
        ),
        _PRIVATE,
    ),
    Protocol.ASSESSMENT: (
        "",
        gettext_lazy(
            "Conversations not exported: %(n)d that were not rated well enough, without texts, with the degraded "
            "system, or by participants who failed the reliability test (--least-score)."
        ),
    ),
}


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
            "--format", required=True, choices=list(FORMATS), help="format of the rows, see below"
        )
        parser.add_argument(
            "--split",
            action="append",
            default=[],
            choices=Split.values,
            help="only this split; may be repeated (default: all)",
        )
        parser.add_argument(
            "--include-unreviewed",
            action="store_true",
            help="include finished dialogues that no expert has judged yet, such as imported ones",
        )
        parser.add_argument(
            "--include-withheld",
            action="store_true",
            help="in diqad, include dialogues labelled -1, -2 (private data) or phone (abandoned)",
        )
        parser.add_argument("--run", type=int, metavar="N", help="of a study, only the run with this number")
        parser.add_argument(
            "--least-score",
            type=float,
            metavar="SCORE",
            help=f"of a study, the mean score (0-100) from which a conversation is in sft and preference"
            f" (default: {WELL_RATED:g})",
        )
        parser.add_argument(
            "--file-type", default=FileType.JSONL.value, choices=FileType.values, help="default: jsonl"
        )
        parser.add_argument("--snapshot", metavar="ID", help="export this snapshot: its id or name")
        parser.add_argument("--seed", type=int, default=0, help="of random draws (default: 0)")
        parser.add_argument(
            "--epoch", type=int, default=0, help="every epoch has other random draws (default: 0)"
        )
        parser.add_argument(
            "--no-random",
            action="store_true",
            help="in preference, reward and kto, leave out pairs with a random reply of another dialogue",
        )
        parser.add_argument(
            "--leading-assistant",
            default=LeadingTurns.KEEP.value,
            choices=LeadingTurns.values,
            help="in sft, preference, reward and kto, what becomes of the assistant's turns before the first of the"
            " user, which many chat templates refuse: kept (default), merged into that turn, or dropped",
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
                "draws": build_draw_settings(
                    options["seed"],
                    options["epoch"],
                    not options["no_random"],
                    options["leading_assistant"],
                ),
            }
            manifest = self._write(options["format"], source, options["output"], write)
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        left_out = Preview()
        if not isinstance(source, FrozenDialogues):
            left_out = preview_source(project, source.filters, options["format"])
        self._report(manifest, left_out, options["output"], project.protocol)
        if isinstance(source, Selection) and options["format"] == FormatName.DIQAD:
            self._report_unlabelled(source.count_unlabelled())

    def _write(self, format: str, source: Source, output: str, write: dict[str, Any]) -> Manifest:
        total, shape = source.count(), FORMATS[format]
        self._shown = time.monotonic()

        def at(dialogues: int) -> None:
            self._show_progress(dialogues, total)

        with self._refusals(output):
            if output == STDOUT:
                manifest = export(shape, source, sys.stdout.buffer, at, **write)
                sys.stdout.buffer.flush()
                return manifest
            return write_export_file(_check_regular_file(Path(output)), shape, source, at, **write)

    @contextlib.contextmanager
    def _refusals(self, output: str) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            raise CommandError(_("Stopped. No file was written."), returncode=130) from None
        except BrokenPipeError:
            # As with `| head`. Without this Python would report the broken pipe again when it closes standard output.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise CommandError(_("The program that read standard output has ended.")) from None
        except OSError as error:
            raise CommandError(_cannot_write(output, error)) from error
        finally:
            self._clear_progress()

    def _show_progress(self, done: int, total: int) -> None:
        """Overwrite one line on a terminal; elsewhere, as in a log, print a line every five seconds."""
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

    def _report(self, manifest: Manifest, left_out: Preview, output: str, protocol: str) -> None:
        if output == STDOUT:
            self.stderr.write(json.dumps(manifest.as_json(), ensure_ascii=False))
        else:
            rows = ngettext("%(n)d row", "%(n)d rows", manifest.rows) % {"n": manifest.rows}
            dialogues = ngettext("%(n)d dialogue", "%(n)d dialogues", manifest.dialogues)
            counts = f"{rows}, {dialogues % {'n': manifest.dialogues}}"
            self.stderr.write(f"{counts}: {output}\n{_('Manifest:')} {manifest_path(Path(output))}")
        for line in [*_skipped_lines(manifest), *_left_out_lines(left_out, protocol)]:
            self.stderr.write(line)

    def _report_unlabelled(self, count: int) -> None:
        if count:
            line = ngettext(
                "%(n)d row has no label (null). To train an assessor, export without --include-unreviewed.",
                "%(n)d rows have no label (null). To train an assessor, export without --include-unreviewed.",
                count,
            )
            self.stderr.write(line % {"n": count})


def _source(project: Project, options: dict[str, Any]) -> Source:
    """The dialogues to export. Raises Refusal."""
    check_format(project, options["format"], of_snapshot=bool(options["snapshot"]))
    if options["snapshot"]:
        snapshot = snapshot_named(project, options["snapshot"])
        verify_snapshot(snapshot)
        return frozen_dialogues(snapshot, snapshot_filters(snapshot, project, options["split"]).splits)
    check_run(project, options["format"], options["run"])
    filters = build_filters(
        options["split"],
        options["include_unreviewed"],
        options["include_withheld"],
        run=options["run"],
        least_score=options["least_score"],
    )
    return select_source(project, filters)


def _skipped_lines(manifest: Manifest) -> list[str]:
    """Lines about turns that gave no row or no random pair."""
    templates = {
        "no_candidates": _("%(n)d turns had no candidate that differs from what was sent."),
        "no_user_turn": _("For %(n)d turns nothing was left before the reply without the assistant's turns."),
        "no_other_dialogue": _("For %(n)d turns no other dialogue of the split had a reply to draw."),
    }
    return [templates[reason] % {"n": n} for reason, n in manifest.skipped.items()]


def _cannot_write(output: str, error: OSError) -> str:
    reason = error.strerror or error
    if output == STDOUT:
        template = _("Standard output could not be written: %(reason)s. The output is incomplete.")
        return template % {"reason": reason}
    template = _("%(file)s could not be written: %(reason)s. Nothing was left behind.")
    remedy = _("Free some space, or name another place with --output.")
    return f"{template % {'file': output, 'reason': reason}} {remedy}"


def _check_regular_file(path: Path) -> Path:
    """Raise CommandError for a device or a pipe: replacing it by a file would break it for everybody."""
    if path.exists() and not path.is_file():
        raise CommandError(
            _("%(path)s is not a file. Name a file, or - for standard output.") % {"path": path}
        )
    return path


def _left_out_lines(left_out: Preview, protocol: str) -> list[str]:
    """Lines about dialogues that were left out, except those of other splits, which were not requested."""
    unreviewed, withheld = _REASONS[Protocol(protocol)]
    templates = [
        (left_out.unreviewed, unreviewed),
        (left_out.withheld, withheld),
        (left_out.vetoed, gettext_lazy("Dialogues not exported: %(n)d that an expert vetoed.")),
    ]
    return [str(template) % {"n": n} for n, template in templates if n]
