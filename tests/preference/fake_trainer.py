"""A stand-in with the trainer's command line. FAKE_TRAINER names its behaviour: learns, waits, fails, hangs, dies."""

import argparse
import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

STEPS = 8
stopped: list[int] = []


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("action", nargs="?", choices=("train",))
    parser.add_argument("--models", nargs="+", default=[])
    for name in ("data", "model", "output", "recipe", "seed", "parent", "threads", "categories", "processes"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--lora", action="store_true")
    options = parser.parse_args()
    folder = Path(options.output)
    lock = (folder / ".lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    sys.stdout.write(f"arguments: {json.dumps(vars(options))}\n")
    sys.stdout.flush()
    behaviour = os.environ.get("FAKE_TRAINER", "learns")
    signal.signal(signal.SIGTERM, signal.SIG_IGN if behaviour == "hangs" else note)
    tell(folder, "running", 0)
    return train(folder, behaviour, options.models)


def note(number: int, _frame: FrameType | None) -> None:
    stopped.append(number)


def train(folder: Path, behaviour: str, models: list[str]) -> int:
    if models:
        (folder / "models.json").write_text(
            json.dumps(dict.fromkeys(models, "done") | {models[-1]: "training"})
        )
    checkpoint = folder / "checkpoints" / "step"
    done = int(checkpoint.read_text()) if checkpoint.exists() else 0
    for step in range(done + 1, STEPS + 1):
        if step == 4 and behaviour == "fails":
            tell(folder, "failed", step, "The loss is no longer a number.", "Use a smaller peak_lr.")
            return 1
        if step == 4 and behaviour == "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if step == 4 and behaviour == "breaks":
            raise RuntimeError("something nobody thought of")
        while step == 4 and (
            behaviour == "hangs" or (behaviour == "waits" and not done and not released(folder))
        ):
            time.sleep(0.05)
        write_line(folder, step)
        if stopped:
            checkpoint.parent.mkdir(exist_ok=True)
            checkpoint.write_text(str(step))
            tell(folder, "stopped", step, "Stopped by SIGTERM.")
            return 143
    finish(folder, models)
    return 0


def finish(folder: Path, models: list[str]) -> None:
    (folder / "training.json").write_text(json.dumps(explanation(folder)))
    (folder / "model").mkdir()
    for name in ("config.json", "preference_head.safetensors"):
        (folder / "model" / name).write_text("{}")
    (folder / "model" / "training.json").write_text(json.dumps(explanation(folder)))
    if models:
        (folder / "report.json").write_text(json.dumps(report(models)))
        (folder / "model" / "assessor.json").write_text(json.dumps({"base_model": {"name": models[-1]}}))
    tell(folder, "done", STEPS)


def report(models: list[str]) -> dict[str, Any]:
    """An assessor's report of which every model has the same figures."""
    figure = {"value": 0.75, "low": 0.5, "high": 0.9}
    about = {
        "metrics": dict.fromkeys(("accuracy", "uar", "f1", "kappa", "mae", "ece"), figure),
        "tested": 8,
        "classes": [0, 1, 2],
        "confusion": [[3, 1, 0], [0, 2, 0], [0, 1, 1]],
        "reliability": [{"low": 0.8, "high": 0.9, "n": 8, "confidence": 0.85, "accuracy": 0.75}],
    }
    return {"models": dict.fromkeys(models, about), "failures": {}, "notes": ["A note."]}


def released(folder: Path) -> bool:
    """Whether it was stopped, or the test lets it go on."""
    return bool(stopped) or (folder / "go").exists()


def explanation(folder: Path) -> dict[str, Any]:
    return {
        "commit": "abc123",
        "layout": {"name": "trees", "notes": ["3 dialogues are too long for a tree."]},
    }


def write_line(folder: Path, step: int) -> None:
    line = {
        "step": step, "steps": STEPS, "epoch": 1, "loss": 3 - step / 10, "nll": 2 - step / 10, "ranking": 1.0,
        "lr": 0.001, "seconds": step * 1.5, "eta_seconds": (STEPS - step) * 1.5,
    }  # fmt: skip
    with (folder / "progress.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


def tell(folder: Path, state: str, step: int, message: str = "", remedy: str = "") -> None:
    told = {"state": state, "step": step, "steps": STEPS, "message": message, "remedy": remedy}
    (folder / "state.json").write_text(json.dumps(told))


if __name__ == "__main__":
    sys.exit(main())
