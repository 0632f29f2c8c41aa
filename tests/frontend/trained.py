"""What trainings and evaluations leave behind, without training or evaluating anything."""

import json
import math
from typing import Any
from uuid import uuid4

from jobs.models import Job, JobState
from preference.data.models.snapshots import Snapshot
from preference.evaluation.models import Evaluation
from preference.registry.models import RegisteredModel
from preference.runs.files import CURVE, LOG, folder_of_run
from preference.runs.models import TrainingRun
from preference.training.joint.recipe import quick
from projects.models import Project

STEPS = 120
ACTIONS = ("select", "revise", "rewrite")


def learns(
    run: TrainingRun,
    steps: int = STEPS,
    made: int = STEPS,
    state: str = JobState.DONE,
    *,
    validate_every: int = 0,
    ease: float = 1.0,
) -> TrainingRun:
    """The files and rows of a training that made so many steps; its loss falls.

    validate_every: steps between two validations, 0: none. ease: how fast it learns.
    """
    folder = folder_of_run(run)
    folder.mkdir(parents=True, exist_ok=True)
    lines = [line(step, steps, ease) for step in range(1, made + 1)]
    for one in lines[validate_every - 1 :: validate_every] if validate_every else []:
        one["valid"] = held_out(one["step"], ease)
    (folder / CURVE).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / LOG).write_text("540 dialogues, 3780 quadruples an epoch.\nstep 1 of 120, loss 4.1\n")
    (folder / "training.json").write_text(json.dumps(explanation()))
    Job.objects.filter(pk=run.job_id).update(state=state, done=made, total=steps, unit="steps")
    RegisteredModel.objects.filter(training_run=run).update(metrics=lines[-1] if lines else {})
    TrainingRun.objects.filter(pk=run.pk).update(
        latest=lines[-1] if lines else {},
        layout="trees",
        message="3 turns have a context of more than 256 tokens; they are encoded apart from the rest.",
    )
    return TrainingRun.objects.select_related("job", "project", "snapshot").get(pk=run.pk)


def held_out(step: int, ease: float) -> dict[str, float]:
    """After a while the loss on held-out turns rises again."""
    nll = 2.5 + 1.2 * math.exp(-step * ease / 30) + 0.004 * step * ease
    ranking = 0.5 + 0.2 * math.exp(-step * ease / 50)
    first = 0.15 + 0.3 * (1 - math.exp(-step * ease / 40))
    return {
        "loss": nll + ranking, "nll": nll, "ranking": ranking, "p_at_1": first, "pair_accuracy": 0.5 + first / 2,
    }  # fmt: skip


def line(step: int, steps: int, ease: float = 1.0) -> dict[str, Any]:
    nll = 2.2 + 1.4 * math.exp(-step * ease / 30) + 0.06 * math.sin(step * 1.7)
    ranking = 0.45 + 0.25 * math.exp(-step / 50) + 0.03 * math.sin(step * 2.3)
    return {
        "step": step, "steps": steps, "epoch": 1 + 3 * (step - 1) // steps, "loss": nll + ranking, "nll": nll,
        "ranking": ranking, "lr": 5e-4 * min(step / 20, math.sqrt(20 / step)), "seconds": step * 2.5,
        "eta_seconds": (steps - step) * 2.5,
    }  # fmt: skip


def explanation() -> dict[str, Any]:
    return {
        "recipe": quick().as_dict(),
        "data": {"sha256": "0" * 64, "dialogues": 540},
        "base_model": {"name": "demo", "version": "0123456789ab"},
        "layout": {"name": "trees", "notes": []},
        "steps": STEPS, "quadruples_an_epoch": 1280, "processes": 1, "device": "cpu", "precision": "fp32",
        "commit": "abc1234567890", "versions": {"torch": "2.8.0"},
    }  # fmt: skip


def evaluated(
    project: Project,
    snapshot: Snapshot,
    model: RegisteredModel | None,
    first: float,
    base: str = "",
    **job: Any,
) -> Evaluation:
    """A finished evaluation with this P@1 by preference score."""
    evaluation_id = uuid4()
    state = job.pop("state", JobState.DONE)
    row = Job.objects.create(
        id=evaluation_id, project=project, kind="evaluation", queue="training", state=state, **job
    )
    return Evaluation.objects.create(
        id=evaluation_id, project=project, job=row, model=model, base=base, snapshot=snapshot, split="test",
        report=report(first) if state == JobState.DONE else {},
    )  # fmt: skip


def report(first: float, n: int = 420) -> dict[str, Any]:
    """As preference.training.joint.evaluation writes it."""
    groups = {
        name: figures(first + shift, n // 3) for name, shift in zip(ACTIONS, (0.05, 0, -0.08), strict=True)
    }
    return {
        "model": {"name": "m", "version": "0123456789ab", "head": "trained"},
        "split": "test", "seed": 1, "n_dialogues": 60, "n_turns": n,
        "overall": figures(first, n),
        "by_domain": {"food": figures(first + 0.03, 200), "pets": figures(first - 0.04, 220)},
        "by_language": {"en": figures(first, n)},
        "by_action": groups,
        "notes": ["2 turns are longer than the context; their oldest utterances were dropped."],
    }  # fmt: skip


def figures(first: float, n: int) -> dict[str, Any]:
    def one(value: float) -> dict[str, Any]:
        value = max(value, 0.02)
        half = 1.96 * math.sqrt(max(0.01, value * (1 - value)) / n)
        return {"value": value, "low": value - half, "high": value + half, "n": n}

    def ranked(shift: float) -> dict[str, Any]:
        return {
            "p_at_1": one(first + shift),
            "mrr": one(first + shift + 0.2),
            "map": one(first + shift + 0.2),
        }

    def pairs(shift: float) -> dict[str, Any]:
        values = {"human_model": 0.7, "human_random": 0.85, "model_random": 0.8}
        return {name: one(value + shift) for name, value in values.items()}

    chance = {name: one(value) for name, value in {"chance": 0.125, "longest": 0.16, "question": 0.2}.items()}
    return {
        "n_turns": n, "n_dialogues": n // 7, "preference": ranked(0), "generation": ranked(-0.12),
        "generation_sum": ranked(-0.15), "difference": {key: one(0.12) for key in ("p_at_1", "mrr", "map")},
        "pairs": pairs(0), "generation_pairs": pairs(-0.1), "baselines": chance,
        "nll": {"value": 2.31, "low": 2.25, "high": 2.37, "n": n},
    }  # fmt: skip
