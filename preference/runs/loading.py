"""Trying a model's folder out before it is registered."""

import json
from pathlib import Path

from django.utils.translation import gettext as _

from generation.models import BackendKind
from jobs.models import Job
from jobs.progress import Progress
from preference import child_process
from preference.runs.files import MODEL
from preference.runs.services.registration import generator_options

CHECKER, CHECK_LOG = "config.model_check", "check.log"
CHECK_STOP_SECONDS = 5.0


def check_loads(folder: Path, job: Job, progress: Progress, *, remedy: str) -> dict[str, str]:
    """Load the folder's model in a process of its own, as a worker would: its version, or fault and remedy.

    remedy: if that process ends without a word.
    """
    log = folder / CHECK_LOG
    log.unlink(missing_ok=True)
    options = json.dumps(generator_options(folder / MODEL))
    process = child_process.start(CHECKER, [BackendKind.HF, options], folder, CHECK_LOG)
    child_process.follow(process, progress, lambda: job.done, CHECK_STOP_SECONDS)
    lines = [line for line in child_process.lines_of(log) if line.startswith("{")]
    if not lines:
        return {"fault": _("The model could not be loaded for a test."), "remedy": remedy}
    answer = json.loads(lines[-1])
    if cause := answer.get("cause"):
        return {"fault": cause, "remedy": answer["remedy"]}
    return {"version": answer["version"][:200]}
