"""Import and export of labelled dialogues: seconds, first byte and peak memory, by size of the project.

    python -m benchmarks.labelling_data [--sizes 10000 100000] [--json]

Dialogues of four utterances with three annotators each, as a `dialeval` file, on a real database. Every import and
export runs in a process of its own, whose peak memory the kernel reports. Bound of an export: a scan of its utterances.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from benchmarks.database import scratch_database, set_up
from benchmarks.reporting import command_line, print_figures

FORMATS = ("dialeval", "diqad", "judgements")
ANNOTATORS = 3
SAYINGS = [
    "My phone has had no sound since the update, not even for calls. What can I do?",
    "昨天升级之后手机一直没有声音,打电话也听不见,请问怎么处理?",
    "Please hold both buttons for ten seconds; if it stays silent, send us the number on the box.",
    "您好,请先长按电源键十秒重启,如果还是没有声音,请把序列号私信发给我们。",
]
NUGGETS = {"customer": ["CNUG0", "CNUG", "CNUG*", "CNaN"], "helpdesk": ["HNUG", "HNUG*", "HNaN"]}


@dataclass(frozen=True, slots=True)
class Run:
    """One import or export. first_byte: seconds until its first row was written; None for an import."""

    what: str
    size: int
    seconds: float
    first_byte: float | None
    peak_mb: float
    file_mb: float


class TimedStream:
    """A binary stream that notes when it was first written to."""

    def __init__(self, out: IO[bytes]) -> None:
        self.out, self.first_write = out, 0.0

    def write(self, line: bytes) -> int:
        self.first_write = self.first_write or time.perf_counter()
        return self.out.write(line)


def write_file(path: Path, size: int) -> None:
    random_source = random.Random(20261)
    with path.open("w", encoding="utf-8") as out:
        for number in range(size):
            out.write("[\n" if not number else ",\n")
            out.write(json.dumps(make_entry(number, random_source), ensure_ascii=False))
        out.write("\n]\n")


def make_entry(number: int, random_source: random.Random) -> dict[str, Any]:
    senders = ["customer", "helpdesk"] * 2
    turns = [
        {"sender": sender, "utterances": [f"{number}: {random_source.choice(SAYINGS)}"]} for sender in senders
    ]
    annotations = [
        {
            "nugget": [random_source.choice(NUGGETS[sender]) for sender in senders],
            "quality": {name: random_source.randint(-2, 2) for name in "ASE"},
        }
        for _person in range(ANNOTATORS)
    ]
    return {"id": f"d{number}", "turns": turns, "annotations": annotations}


def peak_mb() -> float:
    """Peak memory of this process, without its parent, as the kernel counts it."""
    return _memory_mb("VmHWM")


def start_new_peak() -> float:
    """Forget the peak so far. Returns the memory that the process has now."""
    Path("/proc/self/clear_refs").write_text("5")  # man 5 proc
    return _memory_mb("VmRSS")


def _memory_mb(name: str) -> float:
    status = Path("/proc/self/status").read_text()
    match = re.search(rf"{name}:\s+(\d+) kB", status)
    assert match, status
    return round(int(match[1]) / 1024, 1)


def run_child(what: str, slug: str, file: Path, size: int) -> Run:
    """Run this module as a child process on this database."""
    from tests.processes import database_url

    command = [sys.executable, "-m", "benchmarks.labelling_data", "--child", what, slug, str(file)]
    environment = {**os.environ, "DATABASE_URL": database_url(), "FILES_ROOT": str(file.parent / "files")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Run(what, size, **json.loads(done.stdout.splitlines()[-1]))


def measure_child(what: str, slug: str, file: Path) -> dict[str, Any]:
    measured = run_import(slug, file) if what == "import" else run_export(what, slug, file)
    return {**measured, "peak_mb": peak_mb(), "file_mb": round(file.stat().st_size / 1e6, 1)}


def run_import(slug: str, file: Path) -> dict[str, Any]:
    from dialogues.services.imports import start_import
    from jobs.models import JobState
    from jobs.services import run_job
    from projects.models import Project

    project, started = Project.objects.get(slug=slug), time.perf_counter()
    with file.open("rb") as source:
        job = start_import(
            project=project, actor=None, source=source, name=file.name, format="dialeval",
            submission_id=uuid4(), enqueue=False,
        )  # fmt: skip
    done = run_job(job_id=job.pk)
    assert done.state == JobState.DONE, done.error
    return {"seconds": round(time.perf_counter() - started, 2), "first_byte": None}


def run_export(format: str, slug: str, file: Path) -> dict[str, Any]:
    from preference.data.formats.catalogue import FORMATS as EXPORT_FORMATS
    from preference.data.formats.writing import export
    from preference.data.selectors.selection import Filters, select
    from projects.models import Project

    project, started = Project.objects.get(slug=slug), time.perf_counter()
    with file.open("wb") as out:
        stream = TimedStream(out)
        export(EXPORT_FORMATS[format], select(project, Filters()), stream)  # type: ignore[arg-type]
    first = stream.first_write - started
    return {"seconds": round(time.perf_counter() - started, 2), "first_byte": round(first, 3)}


def scan_seconds(slug: str) -> float:
    """Seconds for the database alone to send what a `dialeval` export is made of, dialogue by dialogue."""
    from django.db import connection

    utterances_query = (
        "COPY (SELECT d.external_id, u.speaker, u.text, u.metadata FROM dialogues_dialogue d JOIN dialogues_utterance u"
        " ON u.dialogue_id = d.id JOIN projects_project p ON p.id = d.project_id WHERE p.slug = %s"
        " ORDER BY d.id, u.position) TO STDOUT"
    )
    answers_query = (
        "COPY (SELECT s.answers FROM annotation_submission s JOIN projects_project p ON p.id = s.project_id"
        " WHERE p.slug = %s) TO STDOUT"
    )
    started = time.perf_counter()
    with connection.cursor() as cursor:
        for statement in (utterances_query, answers_query):
            with cursor.copy(statement, [slug]) as rows:
                for _data in rows:
                    pass
    return round(time.perf_counter() - started, 2)


def run(sizes: list[int]) -> dict[str, Any]:
    from django.db import connection

    from annotation.project_setup.services import create_project

    runs: list[Run] = []
    with scratch_database(), tempfile.TemporaryDirectory() as folder:
        for size in sorted(sizes):
            slug, file = f"helpdesk-{size}", Path(folder) / f"{size}.json"
            create_project(slug=slug, preset="dialeval", actor=None)
            write_file(file, size)
            runs.append(run_child("import", slug, file, size))
            with connection.cursor() as cursor:
                cursor.execute("ANALYZE")
            for format in FORMATS:
                target = Path(folder) / f"{size}.{format}"
                runs.append(run_child(format, slug, target, size))
                if format == "dialeval":
                    assert json.loads(target.read_bytes()) == json.loads(file.read_bytes()), (
                        "not the same file"
                    )
                target.unlink()
            file.unlink()
        database_seconds = scan_seconds(slug)
    return summarize(runs, database_seconds)


def summarize(runs: list[Run], database_seconds: float) -> dict[str, Any]:
    """memory_ratio_WHAT: peak memory of the largest project divided by that of the smallest."""
    smallest, largest = (pick(run.size for run in runs) for pick in (min, max))
    peak = {(run.what, run.size): run.peak_mb for run in runs}
    ratios = {
        f"memory_ratio_{what}": round(peak[what, largest] / peak[what, smallest], 2)
        for what in ("import", *FORMATS)
    }
    return {"runs": [asdict(run) for run in runs], "database_alone_seconds": database_seconds, **ratios}


def show(figures: dict[str, Any]) -> None:
    print(f"{'what':>12} {'dialogues':>10} {'seconds':>8} {'first byte':>10} {'peak MB':>8} {'file MB':>8}")
    for row in figures["runs"]:
        first = "" if row["first_byte"] is None else f"{row['first_byte']:.3f} s"
        print(
            f"{row['what']:>12} {row['size']:>10,} {row['seconds']:>8} {first:>10} {row['peak_mb']:>8}"
            f" {row['file_mb']:>8}"
        )
    for name, value in figures.items():
        if name != "runs":
            print(f"{name}: {value}")


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--child", nargs=3, metavar=("WHAT", "PROJECT", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    set_up()
    if options.child:
        what, slug, file = options.child
        print(json.dumps(measure_child(what, slug, Path(file))))
        return
    figures = run(options.sizes)
    print_figures(figures, as_json=options.json, show=show)


if __name__ == "__main__":
    main()
