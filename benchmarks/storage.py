"""Export and snapshot into an object store, against the same into a folder: seconds and memory.

    python -m benchmarks.storage [--dialogues 2000] [--rounds 3] [--json]      # all of it: --dialogues 100000

Authored dialogues of four utterances with candidates, on a real database, and a real S3-compatible server (SeaweedFS)
on this machine, which takes its processor time from the same cores. Every job runs in a process of its own, which has
done the same job once before, as a worker has that has run for a while. Memory: what the process has at rest, with the
store's library, and what the job takes beyond that at its peak, as the kernel reports them. Folder and store take
turns. Ratio: the median time with the store divided by that with the folder. Goal: at most 1.5, with the same memory.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, Final
from uuid import uuid4

from benchmarks.database import scratch_database, set_up
from benchmarks.labelling_data import SAYINGS, peak_mb, start_new_peak
from benchmarks.reporting import command_line, print_figures

SLUG: Final = "bench"
WORK: Final = ("export", "snapshot")
PLACES: Final = ("folder", "store")
CANDIDATES: Final = 7


@dataclass(frozen=True, slots=True)
class Run:
    """One job. rest_mb: memory of the process before it. job_mb: what the job took beyond that at its peak."""

    what: str
    place: str
    seconds: float
    rest_mb: float
    job_mb: float
    file_mb: float


def write_dialogues(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as out:
        for number in range(count):
            row = {"dialogue_id": f"d{number}", "conversation": list(conversation(number))}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def conversation(number: int) -> Iterator[dict[str, Any]]:
    yield {"utterance": f"{number}: {SAYINGS[0]}", "response_candidates": []}
    for turn in (1, 2, 3):
        candidates = [f"{number} {turn} {place}: {SAYINGS[place % 4]}" for place in range(CANDIDATES)]
        yield {
            "utterance": candidates[2], "response_candidates": candidates, "action": "select", "source": 2,
        }  # fmt: skip


def fill(path: Path, count: int) -> None:
    """A project with these dialogues."""
    from annotation.project_setup.services import create_project
    from dialogues.services.imports import start_import

    project = create_project(slug=SLUG, preset="diamante", actor=None)
    write_dialogues(path, count)
    with path.open("rb") as source:
        job = start_import(
            project=project, actor=None, source=source, name=path.name, format="diamante",
            submission_id=uuid4(), enqueue=False,
        )  # fmt: skip
    run(job.pk)


def run_child(what: str, place: str, folder: Path, url: str) -> Run:
    """Run this module as a child process on this database, as another host."""
    from tests.processes import database_url

    environment = {**os.environ, "DATABASE_URL": database_url(), "FILES_ROOT": str(folder / place)}
    environment["STORAGE_URL"] = url if place == "store" else ""
    command = [sys.executable, "-m", "benchmarks.storage", "--child", what]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Run(what, place, **json.loads(done.stdout.splitlines()[-1]))


def measure_child(what: str) -> dict[str, Any]:
    run(start(what))  # imports what the job needs, and connects
    job_id = start(what)
    gc.collect()
    rest_mb, started = start_new_peak(), time.perf_counter()
    done = run(job_id)
    seconds = round(time.perf_counter() - started, 3)
    memory = {"rest_mb": rest_mb, "job_mb": round(peak_mb() - rest_mb, 1)}
    return {"seconds": seconds, **memory, "file_mb": round(done.result["bytes"] / 1e6, 1)}


def run(job_id: Any) -> Any:
    """Run a job to its end. Returns its row."""
    from jobs.models import JobState
    from jobs.services import run_job

    done = run_job(job_id=job_id)
    assert done.state == JobState.DONE, done.error
    return done


def start(what: str) -> Any:
    """The id of the job, which no worker knows of."""
    from django.db import transaction

    from accounts.models import User
    from preference.data.services.exports import start_export
    from preference.data.services.snapshots import take_snapshot
    from projects.models import Project

    project = Project.objects.get(slug=SLUG)
    if what == "snapshot":
        return take_snapshot(
            snapshot_id=uuid4(), project=project, actor=None, include_unreviewed=True, enqueue=False
        ).job_id
    actor, _created = User.objects.get_or_create(username="bench")
    with transaction.atomic():
        return start_export(
            export_id=uuid4(), project=project, actor=actor, format="diamante", include_unreviewed=True
        ).job_id


def measure(count: int, rounds: int) -> dict[str, Any]:
    from tests.object_store import run_object_server

    runs: list[Run] = []
    with tempfile.TemporaryDirectory() as scratch, scratch_database():
        folder = Path(scratch)
        fill(folder / "dialogues.jsonl", count)
        with run_object_server(folder / "server") as server:
            for number, what in product(range(rounds), WORK):
                order = PLACES if number % 2 == 0 else PLACES[::-1]
                runs += [run_child(what, place, folder, server.url()) for place in order]
    return figures(runs) | {"dialogues": count, "rounds": rounds, "runs": [asdict(run) for run in runs]}


def figures(runs: list[Run]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for what in WORK:
        of_place = {
            place: [run for run in runs if (run.what, run.place) == (what, place)] for place in PLACES
        }
        seconds = {place: median(run.seconds for run in of_place[place]) for place in PLACES}
        rest = {place: median(run.rest_mb for run in of_place[place]) for place in PLACES}
        memory = {place: median(run.job_mb for run in of_place[place]) for place in PLACES}
        found[what] = {
            "file_mb": of_place["folder"][0].file_mb,
            **{f"{place}_s": round(seconds[place], 2) for place in PLACES},
            "ratio": round(seconds["store"] / seconds["folder"], 2),
            **{f"{place}_rest_mb": rest[place] for place in PLACES},
            **{f"{place}_job_mb": memory[place] for place in PLACES},
        }
    return found


def show(found: dict[str, Any]) -> None:
    print(f"{found['dialogues']} dialogues, medians of {found['rounds']} rounds")
    print(
        f"{'':10}{'file MB':>9}{'folder s':>10}{'store s':>9}{'ratio':>7}{'MB at rest':>14}{'MB of the job':>16}"
    )
    for what in WORK:
        row = found[what]
        print(
            f"{what:10}{row['file_mb']:9}{row['folder_s']:10}{row['store_s']:9}{row['ratio']:7}"
            f"{row['folder_rest_mb']:8} {row['store_rest_mb']:5}{row['folder_job_mb']:10} {row['store_job_mb']:5}"
        )


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--dialogues", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", choices=WORK)
    options = parser.parse_args()
    set_up()
    if options.child:
        print(json.dumps(measure_child(options.child)))
        return
    print_figures(measure(options.dialogues, options.rounds), as_json=options.json, show=show)


if __name__ == "__main__":
    main()
