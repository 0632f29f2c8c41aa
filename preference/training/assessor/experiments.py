"""What DiQAD finds out about its best model: new domains, feelings at the end, and how much data it needs.

leave_one_out   Table 4: trained without a domain, tested on it
perturb         Table 5 and Figure 3: a sentence that shows satisfaction, or the opposite, at the end of every dialogue
curve           Figure 4: number of training dialogues, longest input, and number of weights
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from preference.training.assessor.data import LabelledDialogue, Turn, Turns
from preference.training.assessor.figures import Figures, chosen, distribution, mean_shift, metrics
from preference.training.assessor.input_text import QUESTION, RESPONSE, sides
from preference.training.assessor.jobs import Job, JobResult, Jobs
from preference.training.assessor.splits import check_labels, shuffled
from preference.training.assessor.task import PredictionTask
from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _

TABLE_4 = ("accuracy", "uar", "spearman", "pearson", "f1")
CURVE_METRICS = ("accuracy", "f1")
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # of the training dialogues
LEAST_SAMPLE = 10  # training dialogues; fewer say nothing
LENGTH_PARTS = (8, 4, 2, 1)  # the longest input is divided by these
LEAST_LENGTH = 8
# What is appended, by language; the paper's words, and their translation in its footnotes 5 and 6.
SENTIMENTS: dict[str, dict[str, tuple[Turn, ...]]] = {
    "positive": {
        "zh": (Turn(QUESTION, "好的多谢!"), Turn(RESPONSE, "不谢!")),
        "en": (Turn(QUESTION, "ok thanks!"), Turn(RESPONSE, "you are welcome!")),
    },
    "negative": {
        "zh": (Turn(QUESTION, "不是这样的."),),
        "en": (Turn(QUESTION, "I don't think so."),),
    },
}

# Table 4


def domains_to_leave_out(dialogues: Sequence[LabelledDialogue], wanted: str) -> list[str]:
    """wanted: `domain` for every domain in turn, or the name of one. Raises TrainingError if it does not occur."""
    found = sorted({dialogue.domain for dialogue in dialogues if dialogue.domain})
    if not found:
        raise TrainingError(
            _("No dialogue names its domain."), _("Add `domain` to the rows, or leave out --leave-out.")
        )
    if wanted == "domain":
        return found
    if wanted not in found:
        raise TrainingError(
            _("No dialogue is of the domain %(domain)s.") % {"domain": wanted},
            _("Use one of %(domains)s, or `domain` for each in turn.") % {"domains": ", ".join(found)},
        )
    return [wanted]


def job_without_domain(job: Job, domain: str) -> Job:
    """The same training without this domain, tested on it. The best epoch is chosen without it, too."""

    def others(dialogues: Iterable[LabelledDialogue]) -> tuple[LabelledDialogue, ...]:
        return tuple(dialogue for dialogue in dialogues if dialogue.domain != domain)

    test = tuple(dialogue for dialogue in job.test if dialogue.domain == domain)
    return dataclasses.replace(job, train=others(job.train), valid=others(job.valid), test=test, keep=False)


def leave_one_out(jobs: Jobs, job: Job, full: JobResult, domains: Sequence[str]) -> list[Figures]:
    """A row for each domain: the metrics of the model that has seen it beside those of one that has not."""
    return [_leave_out(jobs, job, full, domain) for domain in domains]


def _leave_out(jobs: Jobs, job: Job, full: JobResult, domain: str) -> Figures:
    reduced = job_without_domain(job, domain)
    places = [place for place, dialogue in enumerate(job.test) if dialogue.domain == domain]
    row: Figures = {
        "domain": domain,
        "train_without": len(reduced.train),
        "train_removed": len(job.train) - len(reduced.train),
        "n": len(places),
        "with": None,
        "without": None,
    }
    if not places:
        return row | {"reason": _("No test dialogue is of this domain.")}
    gold = [dialogue.label for dialogue in reduced.test]
    row["with"] = chosen(metrics(gold, full.test[places], jobs.task), TABLE_4)
    return row | _attempt(
        lambda: {"without": chosen(metrics(gold, _run_checked(jobs, reduced).test, jobs.task), TABLE_4)}
    )


def can_be_trained(job: Job) -> bool:
    """Whether enough dialogues are left."""
    return len({dialogue.label for dialogue in job.train}) > 1 and bool(job.valid)


def _run_checked(jobs: Jobs, job: Job) -> JobResult:
    """Run a job on part of the dialogues. Raises TrainingError if too few are left."""
    check_labels(job.train)
    if not job.valid:
        raise TrainingError(_("No validation dialogue is left."))
    return jobs.run(job)


def _attempt(measure: Callable[[], Figures]) -> Figures:
    """The result, or the reason for its absence: one impossible training must not end an experiment."""
    try:
        return measure()
    except TrainingError as error:
        return {"reason": error.cause}


# Table 5, Figure 3


def language_of(turns: Turns) -> str:
    """zh if at least a tenth of the letters is Chinese, else en."""
    letters = [letter for turn in turns for letter in turn.content if letter.isalpha()]
    chinese = sum("\u3400" <= letter <= "\u9fff" for letter in letters)
    return "zh" if letters and chinese * 10 >= len(letters) else "en"


def with_sentiment(turns: Turns, sentiment: str) -> list[Turn]:
    """The dialogue with the sentence at its end, in the dialogue's language."""
    return [*_with_plain_roles(turns), *SENTIMENTS[sentiment][language_of(turns)]]


def _with_plain_roles(turns: Turns) -> list[Turn]:
    """Roles replaced by question and response: what is appended must not change how the others are read."""
    return [Turn(side, turn.content) for side, turn in zip(sides(turns), turns, strict=True)]


def perturb(jobs: Jobs, job: Job, full: JobResult) -> Figures:
    """Metrics against the unchanged labels, the predicted distribution before and after, and its mean shift."""
    gold = [dialogue.label for dialogue in job.test]
    rows: Figures = {
        "original": {
            "metrics": chosen(metrics(gold, full.test, jobs.task), TABLE_4),
            "distribution": distribution(full.test),
        }
    }
    for sentiment in SENTIMENTS:
        changed = jobs.predict(job, [with_sentiment(dialogue.turns, sentiment) for dialogue in job.test])
        rows[sentiment] = {
            "metrics": chosen(metrics(gold, changed, jobs.task), TABLE_4),
            "distribution": distribution(changed),
            "shift": mean_shift(full.test, changed, jobs.task),
        }
    return rows


# Figure 4


def data_jobs(job: Job) -> list[tuple[int, int, Job]]:
    """(training dialogues, seed, job) for every size of the curve; a smaller sample is part of every larger one."""
    found = []
    everything = len(job.train)
    sizes = {min(everything, max(LEAST_SAMPLE, round(share * everything))) for share in SHARES}
    for size in sorted(sizes):
        for number in range(job.recipe.curve_seeds):
            seed = job.recipe.seed + number
            sample = job.train if size == everything else tuple(shuffled(job.train, seed)[:size])
            recipe = dataclasses.replace(job.recipe, seed=seed)
            found.append((size, seed, dataclasses.replace(job, train=sample, recipe=recipe, keep=False)))
    return found


def length_jobs(job: Job) -> list[tuple[int, Job]]:
    """(longest input in tokens, job); none for a model that reads everything."""
    if not job.is_neural:
        return []
    lengths = sorted({max(LEAST_LENGTH, job.recipe.max_length // part) for part in LENGTH_PARTS})
    return [
        (
            length,
            dataclasses.replace(job, recipe=dataclasses.replace(job.recipe, max_length=length), keep=False),
        )
        for length in lengths
    ]


def learning_curve(jobs: Jobs, job: Job) -> list[Figures]:
    """A row for each number of training dialogues: the values of every seed, and their mean."""
    runs: dict[int, list[Figures]] = {}
    for size, seed, part in data_jobs(job):
        runs.setdefault(size, []).append({"seed": seed, **_curve_point(jobs, part)})
    return [{"train": size, "runs": found, "mean": _means(found)} for size, found in runs.items()]


def length_curve(jobs: Jobs, job: Job) -> list[Figures]:
    """A row for each longest input."""
    return [{"max_length": length, **_curve_point(jobs, part)} for length, part in length_jobs(job)]


def size_curve(results: Iterable[tuple[Job, JobResult]], task: PredictionTask) -> list[Figures]:
    """A row for each network of the table, by number of weights."""
    rows = [
        {
            "model": job.model,
            "parameters": result.parameters,
            **_values(job, result, task),
        }
        for job, result in results
        if result.parameters is not None
    ]
    return sorted(rows, key=lambda row: int(row["parameters"]))


def _curve_point(jobs: Jobs, job: Job) -> Figures:
    """Values on the test split, or null and a reason."""

    def measure() -> Figures:
        return _values(job, _run_checked(jobs, job), jobs.task)

    return dict.fromkeys(CURVE_METRICS) | _attempt(measure)


def _values(job: Job, result: JobResult, task: PredictionTask) -> dict[str, Any]:
    """CURVE_METRICS on the test split, without intervals."""
    figures = metrics([dialogue.label for dialogue in job.test], result.test, task, replicates=0)
    return {name: figures[name]["value"] for name in CURVE_METRICS}


def _means(runs: Sequence[Figures]) -> Figures:
    """Over the seeds; null if none of them has a value."""
    known = {name: [run[name] for run in runs if run[name] is not None] for name in CURVE_METRICS}
    return {name: float(np.mean(values)) if values else None for name, values in known.items()}
