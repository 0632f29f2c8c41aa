"""Import a file in the foreground: progress and refused rows on standard error, the result on standard output."""

import json
import sys
import time
import uuid
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any, BinaryIO, cast

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from common.refusals import Refusal
from dialogues.import_reports import MAX_REPORTED_ERRORS
from dialogues.parsing.formats import FORMATS
from dialogues.parsing.lines import Rewound
from dialogues.parsing.parsed_dialogue import Limits
from dialogues.selectors import import_errors, phase_of
from dialogues.services.imports import HEAD_BYTES, guess_format_or_refuse, start_import
from jobs.models import Job, JobState
from jobs.services import run_job
from projects.models import Project

LOG_EVERY = 5.0  # seconds


def _epilog() -> str:
    limits = Limits()
    formats = "\n".join(f"  {format.name:<11}{format.description}" for format in FORMATS.values())
    examples = "\n".join(
        f"  {format.name}:\n    " + format.example.strip().replace("\n", "\n    ")
        for format in FORMATS.values()
    )
    return f"""Without --format it is guessed from the file; --map means the format json. A file may be packed
with gzip.

--map names the keys of JSON of any shape, as paths: dialogues=data.items,utterances=messages,speaker=role,text=content.
  dialogues   from the whole file to the list of dialogues; * for every key; left out: the top, or one dialogue a line
  utterances  from a dialogue to its utterances; left out: the dialogue is the list
  speaker     from an utterance; left out: A and B alternate
  text        from an utterance; left out: the utterance is the text
  id          of the dialogue; with parent, of the message
  parent      id of the message that a message answers; every thread of the trees becomes a dialogue

Formats (UTF-8; a byte order mark and Windows line breaks are tolerated):
{formats}

A dialogue whose id the project already has is not changed and counts as "already there"; so does a dialogue without
an id whose content the project already has. Importing a file twice is therefore harmless.
A key "language" with a code such as zh-Hans is the language of the dialogue; --language never replaces it.
A key "split" with train, valid or test is kept; otherwise the split depends on the id, the same in every project.
A key or column "topic" with the id or the name of one of the project's topics becomes the topic of the dialogue.
Refused, with the line number: an utterance of more than {limits.utterance_chars:,} characters, a dialogue of more than
{limits.utterances:,} utterances, a line of more than {limits.line_bytes // 1024**2} MB, an empty text, a control
character, another encoding.
The first {MAX_REPORTED_ERRORS} refused rows are listed. Exit code: 0 imported (standard error lists skipped rows),
1 nothing imported, 2 wrong arguments, 130 stopped with Ctrl-C.

Examples of each format:
{examples}
"""


class Command(BaseCommand):
    _progress_written: float
    help = "Import dialogues from a file into a project."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = _epilog()
        parser.add_argument("project", metavar="PROJECT", help="short name of the project")
        parser.add_argument("file", metavar="FILE", help="file to import, - for standard input")
        parser.add_argument(
            "--format", choices=list(FORMATS), help="what is in the file, see below; default: guessed"
        )
        parser.add_argument(
            "--map",
            default="",
            metavar="NAME=PATH,…",
            help="where things are in JSON of any shape, see below",
        )
        parser.add_argument(
            "--on-error",
            choices=["skip", "stop"],
            default="skip",
            help="skip: leave refused rows out and import the others (default); stop: import nothing if any is refused",
        )
        parser.add_argument(
            "--language",
            default="",
            metavar="CODE",
            help="language of the dialogues for which the file names none, such as zh-Hans or en; default: they have"
            " none, and go to everybody",
        )
        parser.add_argument(
            "--run", type=int, metavar="N", help="number of the run, for ratings; default: the next number"
        )
        parser.add_argument("--json", action="store_true", help="write the result as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project “{options['project']}”.")
        job = self._import(project, options)
        self._list_errors(job, options["file"])
        if job.state != JobState.DONE:
            raise CommandError(f"{job.error or _('The import was cancelled.')} {job.remedy}".strip())
        self.stdout.write(json.dumps(job.result, ensure_ascii=False) if options["json"] else _summary(job))

    def _import(self, project: Project, options: dict[str, Any]) -> Job:
        stream = _open(options["file"])
        try:
            head = stream.read(HEAD_BYTES)
            job = start_import(
                project=project,
                actor=None,
                source=cast(BinaryIO, Rewound(head, stream)),
                name=options["file"],
                format=options["format"] or self._guess(options, head),
                map=options["map"],
                on_error=options["on_error"],
                language=options["language"],
                run=options["run"],
                submission_id=uuid.uuid4(),
                enqueue=False,
            )
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        finally:
            stream.close()
        self._progress_written = time.monotonic()
        try:
            return run_job(job_id=job.pk, watch=self._show_progress)
        except KeyboardInterrupt:
            message = _("Stopped. What was stored stays; import the file again to continue.")
            raise CommandError(message, returncode=130) from None
        finally:
            self._clear_progress()

    def _guess(self, options: dict[str, Any], head: bytes) -> str:
        if options["map"]:
            return "json"
        format = guess_format_or_refuse(options["file"], head)
        self.stderr.write(_("Read as %(format)s.") % {"format": format})
        return format

    def _show_progress(self, job: Job) -> None:
        """On a terminal, one line that is overwritten; otherwise, as in a log, a line every five seconds."""
        terminal = self.stderr.isatty()
        if not job.total or (not terminal and time.monotonic() - self._progress_written < LOG_EVERY):
            return
        self._progress_written = time.monotonic()
        phase = _("Checking") if phase_of(job) == "checking" else _("Storing")
        line = f"{phase} {100 * job.done // job.total:3d} %, " + _("%(n)d stored") % {
            "n": job.result.get("stored", 0)
        }
        self.stderr.write(f"\r{line} " if terminal else line, ending="" if terminal else "\n")
        self.stderr.flush()

    def _clear_progress(self) -> None:
        if self.stderr.isatty():
            self.stderr.write("\r" + " " * 60 + "\r", ending="")

    def _list_errors(self, job: Job, file: str) -> None:
        for error in import_errors(job):
            self.stderr.write(f"{file}:{error}")
        more = job.result.get("refused", 0) - len(job.result.get("errors", []))
        if more > 0:
            self.stderr.write(_("… and %(n)d more refused rows.") % {"n": more})


def _open(file: str) -> BinaryIO:
    if file == "-":
        return sys.stdin.buffer
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}.") from error


def _summary(job: Job) -> str:
    if job.result["same_as"]:
        return _("This file was imported before; its dialogues are all there: %(n)d.") % {
            "n": job.result["dialogues"]
        }
    if job.result["run"]:
        return _(
            "Run %(run)d: dialogues imported: %(stored)d, already there: %(there)d, rows refused: %(refused)d."
        ) % {
            "run": job.result["run"],
            "stored": job.result["stored"],
            "there": job.result["already_there"],
            "refused": job.result["refused"],
        }
    return _("Dialogues imported: %(stored)d, already there: %(there)d, rows refused: %(refused)d.") % {
        "stored": job.result["stored"],
        "there": job.result["already_there"],
        "refused": job.result["refused"],
    }
