"""Reporting a run to MLflow or Weights & Biases, through transformers' own integrations.

They get the figures of every step and of every validation, and the recipe as parameters. Where to and under which name
is said in their own variables (MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_NAME, WANDB_PROJECT, WANDB_MODE and others).

TensorBoard needs no integration: DIR/tensorboard is always written (see `tensorboard`).

This module loads neither PyTorch nor a tracker.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _
from preference.training.common.progress import Step

MLFLOW, TENSORBOARD, WANDB = "mlflow", "tensorboard", "wandb"
# The module of each, and its package.
MODULES = {MLFLOW: MLFLOW, TENSORBOARD: "tensorboardX", WANDB: WANDB}


def add_report_option(parser: argparse.ArgumentParser) -> None:
    """--report-to, with one or several names."""
    parser.add_argument(
        "--report-to",
        nargs="+",
        action="extend",
        default=[],
        choices=sorted(MODULES),
        metavar="NAME",
        help="also report steps and validations to mlflow or wandb, if installed; tensorboard is written in any case",
    )


def check_trackers(names: Sequence[str]) -> None:
    """Raise TrainingError for the first whose package is missing."""
    for name in names:
        package = MODULES[name]
        if find_spec(package) is None:
            raise TrainingError(
                _("The run is to be reported to %(name)s, but the package %(package)s is not installed.")
                % {"name": name, "package": package},
                _("Install it (pip install %(package)s), or leave out --report-to %(name)s.")
                % {"name": name, "package": package},
            )


def integrations(names: Sequence[str]) -> list[str]:
    """The names as transformers' report_to takes them, each once."""
    return [name for name in dict.fromkeys(names) if name != TENSORBOARD]


def parameters_of(explanation: Mapping[str, Any]) -> dict[str, Any]:
    """What a tracker stores of a run beside its figures: the recipe's settings, data, base model, device and code."""
    about = {
        "data": explanation["data"]["path"],
        "data_sha256": explanation["data"]["sha256"],
        "base_model": explanation["base_model"]["name"],
        "base_model_version": explanation["base_model"]["version"],
        "computed_on": f"{explanation['processes']} × {explanation['device']}",
        "computed_in": explanation["precision"],
        "commit": explanation["commit"],
    }
    return {**explanation["recipe"], **about}


def figures_of(step: Step) -> dict[str, float]:
    """A step under the names that the integrations expect: those of held-out data begin with eval_."""
    held_out = {f"eval_{name}": value for name, value in step.validation.items()}
    return {**step.losses, "learning_rate": step.lr, "epoch": step.epoch, **held_out}


def close_trackers(names: Sequence[str]) -> None:
    """Send what is still to be sent. Trackers do this when Python exits, which a training skips (see exit_process)."""
    if WANDB in names and (wandb := sys.modules.get(WANDB)):
        wandb.finish()
    if MLFLOW in names and (mlflow := sys.modules.get(MLFLOW)) and mlflow.active_run():
        mlflow.end_run()
