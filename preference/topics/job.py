"""A tagging run as a job: write the dialogues, follow the tagger, store the topics."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.storage.shared_files import Beat, no_beat
from dialogues.services.topics import remove_tags
from jobs.models import Job
from jobs.progress import JobCancelled, Progress
from preference import child_process
from preference.evaluators.catalogue import SERVER_KEY, specification
from preference.evaluators.job import LineCounter
from preference.evaluators.models import EvaluatorName
from preference.registry.files import folder_of_model, read_json
from preference.topics.files import folder_of_tagging
from preference.topics.models import TaggingRun
from preference.topics.selectors import rows_to_tag
from preference.topics.services.tagging import finish_tagging

JUDGES, TAGGER = "preference.training.evaluators", "preference.training.topics"
DIALOGUES, TOPICS, CATEGORIES, LOG = "dialogues.jsonl", "topics.jsonl", "categories.json", "tagging.log"
STOP_SECONDS = 5.0  # the topics are on disk batch by batch
BEAT_EVERY = 500  # rows between two heartbeats while the dialogues are written


def run_tagging_job(job: Job, progress: Progress) -> dict[str, Any]:
    """Tag the dialogues; running it again after a kill or a cancellation goes on behind the last written topic."""
    run = TaggingRun.objects.select_related("project", "model", "job").get(job=job)
    folder = folder_of_tagging(run)
    folder.mkdir(parents=True, exist_ok=True)
    child_process.kill_orphan(folder)
    total = _write_dialogues(run, folder / DIALOGUES, progress)
    progress.start(total=total, unit="dialogues")
    if total:
        _tag(run, folder, progress)
    description = read_json(folder / f"{TOPICS}.run.json").get("evaluator", {})
    try:
        rows = _tagged_rows(folder / TOPICS)
        finish_tagging(run=run, rows=rows, description=description, beat=progress.heartbeat)
    except JobCancelled:
        remove_tags(job=job)
        raise
    shutil.rmtree(folder, ignore_errors=True)
    return {"tagged": run.tagged, "unanswered": run.unanswered}


def _tag(run: TaggingRun, folder: Path, progress: Progress) -> None:
    keys = [str(name)] if (name := run.settings.get(SERVER_KEY)) else []
    lines = LineCounter(folder / TOPICS)
    module = TAGGER if run.model else JUDGES
    process = child_process.start(module, arguments_of(run, folder, progress.beat), folder, LOG, keys=keys)
    status = child_process.follow(process, progress, lines.count, seconds=STOP_SECONDS)
    if status:
        raise child_process.failure(folder / LOG, status, "tagging_failed")
    progress.report(lines.count())


def arguments_of(run: TaggingRun, folder: Path, beat: Beat = no_beat) -> list[str]:
    """Arguments of the tagger's command."""
    files = ["--data", str(folder / DIALOGUES), "--output", str(folder / TOPICS), "--resume"]
    if run.model:
        return ["tag", "--model", str(folder_of_model(run.model, beat)), *files]
    categories = folder / CATEGORIES
    categories.write_text(json.dumps(run.categories, ensure_ascii=False), encoding="utf-8")
    judge = specification(EvaluatorName.JUDGE, run.settings)
    return ["label", "--evaluator", judge, "--categories", str(categories), *files]


def _write_dialogues(run: TaggingRun, path: Path, progress: Progress) -> int:
    """Write the dialogues, unless an earlier attempt did: a resumed run tags the same ones. Returns their number."""
    if not path.exists():
        unfinished = path.with_suffix(".part")
        with unfinished.open("w", encoding="utf-8") as file:
            for number, row in enumerate(rows_to_tag(run.project, replaces=run.replaces)):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                if number % BEAT_EVERY == 0:
                    progress.report(0)
        unfinished.replace(path)
    return LineCounter(path).count()


def _tagged_rows(path: Path) -> Iterator[dict[str, Any]]:
    if path.is_file():
        with path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)
