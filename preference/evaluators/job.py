"""A scoring run as a job: write the replies, follow the evaluator, store its scores."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from annotation.labelling.models.labels import LabellingSettings
from common.refusals import Refusal
from common.storage.shared_files import Beat, no_beat
from jobs.models import Job
from jobs.progress import Progress
from preference import child_process
from preference.evaluators.catalogue import KINDS, QUESTION, SERVER_KEY, Needs, specification
from preference.evaluators.comparisons import draw_comparisons
from preference.evaluators.files import folder_of_scoring
from preference.evaluators.models import EvaluatorName, ScoringRun
from preference.evaluators.selectors.replies import reply_rows
from preference.evaluators.services.scoring import store_scores
from preference.registry.files import folder_of_model, read_json

EVALUATORS = "preference.training.evaluators"
REPLIES, SCORES, LOG = "replies.jsonl", "scores.jsonl", "scoring.log"
COMPARISONS, QUESTIONS = "comparisons.jsonl", "schema.json"
STOP_SECONDS = 5.0  # the scores are on disk batch by batch
BEAT_EVERY = 500  # rows between two heartbeats while the replies are written


def run_scoring_job(job: Job, progress: Progress) -> dict[str, Any]:
    """Score the replies; running it again after a kill or a cancellation goes on behind the last written score."""
    run = ScoringRun.objects.select_related("project", "model").get(job=job)
    folder = folder_of_scoring(run)
    folder.mkdir(parents=True, exist_ok=True)
    child_process.kill_orphan(folder)
    total = _write_replies(run, folder / REPLIES, progress)
    progress.start(total=total, unit="replies")
    keys = [str(name)] if (name := run.settings.get(SERVER_KEY)) else []
    lines = LineCounter(folder / SCORES)
    process = child_process.start(
        EVALUATORS, arguments_of(run, folder, progress.beat), folder, LOG, keys=keys
    )
    status = child_process.follow(process, progress, lines.count, seconds=STOP_SECONDS)
    if status:
        raise child_process.failure(folder / LOG, status, "scoring_failed")
    progress.report(lines.count())
    description = read_json(folder / f"{SCORES}.run.json").get("evaluator", {})
    store_scores(run=run, rows=_score_rows(folder), description=description)
    shutil.rmtree(folder, ignore_errors=True)
    return {"scored": run.scored, "unscored": run.unscored}


class LineCounter:
    """Counts the lines of a growing file, reading every byte once."""

    def __init__(self, path: Path) -> None:
        self._path, self._at, self._lines = path, 0, 0

    def count(self) -> int:
        if self._path.is_file():
            with self._path.open("rb") as file:
                file.seek(self._at)
                new = file.read()
            self._at += len(new)
            self._lines += new.count(b"\n")
        return self._lines


def arguments_of(run: ScoringRun, folder: Path, beat: Beat = no_beat) -> list[str]:
    """Arguments of the evaluator's command."""
    model = str(folder_of_model(run.model, beat)) if run.model else run.base
    paths: dict[str, Path] = {}
    if run.evaluator == EvaluatorName.PAIREVAL and not (Path(model) / COMPARISONS).is_file():
        paths["comparisons"] = folder / COMPARISONS
        draw_comparisons(
            folder / REPLIES, folder / COMPARISONS, count=run.settings["k"], seed=run.settings["seed"]
        )
    text = specification(run.evaluator, run.settings, model, **paths)
    if KINDS[run.evaluator].needs == Needs.SERVER and run.settings[QUESTION]:
        text += f",questions={_write_schema(run, folder)},only={run.settings[QUESTION]}"
    data, output = str(folder / REPLIES), str(folder / SCORES)
    return ["score", "--evaluator", text, "--data", data, "--output", output, "--resume"]


def _write_schema(run: ScoringRun, folder: Path) -> Path:
    settings = LabellingSettings.objects.select_related("schema").get(project=run.project)
    if settings.schema is None:
        raise Refusal(
            "no_schema",
            _("The project no longer has a schema."),
            _("Give the project a schema, or leave the question out."),
        )
    path = folder / QUESTIONS
    path.write_text(json.dumps(settings.schema.content, ensure_ascii=False), encoding="utf-8")
    return path


def _write_replies(run: ScoringRun, path: Path, progress: Progress) -> int:
    """Write the replies, unless an earlier attempt did: a resumed run scores the same rows. Returns their number."""
    if not path.exists():
        unfinished = path.with_suffix(".part")
        with unfinished.open("w", encoding="utf-8") as file:
            for number, row in enumerate(reply_rows(run.project, run.target)):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                if number % BEAT_EVERY == 0:
                    progress.report(0)
        unfinished.replace(path)
    return LineCounter(path).count()


def _score_rows(folder: Path) -> Iterator[dict[str, Any]]:
    """The rows of the evaluator, each with the dialogue of its reply; both files have the same order."""
    with (
        (folder / REPLIES).open(encoding="utf-8") as replies,
        (folder / SCORES).open(encoding="utf-8") as scores,
    ):
        for reply, score in zip(map(json.loads, replies), map(json.loads, scores), strict=True):
            yield {**score, "dialogue": reply["dialogue"]}
