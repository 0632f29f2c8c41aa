"""An evaluation as a job: start the evaluator, store its report."""

import shutil
from pathlib import Path
from typing import Any

from common.storage.shared_files import Beat, no_beat
from jobs.models import Job
from jobs.progress import Progress
from preference import child_process
from preference.data.selectors.frozen_dialogues import fetched_snapshot
from preference.evaluation.files import folder_of_evaluation
from preference.evaluation.models import Evaluation
from preference.registry.files import HEAD, folder_of_model, read_json
from preference.registry.models import RegisteredModel

EVALUATOR = "preference.training.joint.evaluation"
LOG, REPORT = "evaluation.log", "report.json"
STOP_SECONDS = 5.0  # nothing to save


def run_evaluation_job(job: Job, progress: Progress) -> dict[str, Any]:
    """Run the evaluator and store its report; running it again after a kill starts over."""
    row = Evaluation.objects.select_related("snapshot", "model").get(job=job)
    folder = folder_of_evaluation(row)
    folder.mkdir(parents=True, exist_ok=True)
    child_process.kill_orphan(folder)
    process = child_process.start(EVALUATOR, arguments_of(row, folder, progress.beat), folder, LOG)
    status = child_process.follow(process, progress, seconds=STOP_SECONDS)
    row.report = read_json(folder / REPORT)
    if status or not row.report:
        raise child_process.failure(folder / LOG, status, "evaluation_failed")
    row.save(update_fields=["report"])
    shutil.rmtree(folder, ignore_errors=True)
    return {"turns": row.report.get("n_turns")}


def arguments_of(row: Evaluation, folder: Path, beat: Beat = no_beat) -> list[str]:
    """Arguments of the evaluator.

    A base model without a preference head gets an untrained one, and reads dialogues as the model trained from it does.
    """
    model = str(folder_of_model(row.model, beat)) if row.model else row.base
    arguments = ["--data", str(fetched_snapshot(row.snapshot, beat)), "--model", model, "--split", row.split]
    arguments += ["--output", str(folder / REPORT)]
    if not (Path(model) / HEAD).is_file():
        arguments.append("--untrained-head")
        arguments += ["--chat-template"] if _trained_with_template(row) else []
    return arguments


def _trained_with_template(row: Evaluation) -> bool:
    """Whether the newest model that was trained from this base on this snapshot keeps the base's chat template."""
    trained = RegisteredModel.objects.filter(project=row.project, snapshot=row.snapshot, base=row.base)
    newest = trained.order_by("-pk").first()
    return bool(newest and newest.config.get("recipe", {}).get("chat_template"))
