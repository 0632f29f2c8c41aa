"""Reporting a run while it trains: lines in a terminal, files for the page, events for TensorBoard.

A line of progress.jsonl, one per optimiser step (losses in nats, times in seconds):

    {"step": 40, "steps": 120, "epoch": 2, "loss": 3.41, "nll": 2.80, "ranking": 0.61, "lr": 1.6e-07,
     "seconds": 61.2, "eta_seconds": 122.4}

with "valid": {"loss": …, "nll": …, "ranking": …, "p_at_1": …, "pair_accuracy": …} where the step was validated;
and the line that a terminal shows for it:

    step 40/120 (33%)  epoch 2/5  loss 3.4100 = nll 2.8000 + ranking 0.6100  lr 1.60e-07  1.53 s/step  2 min left
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from preference.training.common.tensorboard import EventFile, append
from preference.training.common.validation import Figures

LINE_EVERY = 3.0  # seconds between two lines in the terminal
STATE_EVERY = 1.0  # seconds between two writes of state.json
RECENT = 50  # steps whose mean duration predicts the remaining time


@dataclass(frozen=True, slots=True)
class Step:
    """A finished optimiser step.

    step: counted from 1 over the whole run. epoch: counted from 1. lr: learning rate of this step. losses: by name, in
    nats; the first is the total, the others are its terms. validation: figures of held-out data, {} if not measured.
    """

    step: int
    epoch: int
    lr: float
    losses: Mapping[str, float]
    validation: Figures = field(default_factory=dict)


class Progress:
    """Writes progress.jsonl, state.json, TensorBoard events and lines on stdout; silent except in the main process.

    A full disk never stops training: what cannot be written is skipped.
    """

    def __init__(self, folder: Path, *, quiet: bool, main: bool = True) -> None:
        """quiet: no lines on stdout. main: whether this is the main process of the run."""
        self.folder = folder
        self.quiet, self.main = quiet, main
        self.steps = self.done = self.epochs = 0
        self.warning = ""
        self._durations: deque[float] = deque(maxlen=RECENT)  # seconds per step
        self._seconds_before = 0.0  # of earlier sessions of this run
        self._started = self._last_step = time.monotonic()
        self._last_line = self._last_state = float("-inf")
        self._events: EventFile | None = None

    def begin(self, *, done: int, steps: int, epochs: int) -> None:
        """Training starts after `done` of `steps` optimiser steps; drop what a killed run logged of later ones."""
        self.done, self.steps, self.epochs = done, steps, epochs
        self._started = self._last_step = time.monotonic()
        if self.main:
            self._drop_lines_after(done)
            self._try(self._open_events)
            self.state("running")

    def step(self, step: Step) -> None:
        """Report a finished step: to progress.jsonl and TensorBoard always, to state.json and stdout now and then.

        state.json and the terminal are for people, who do not read more than a line every few seconds; a small model
        makes many steps a second.
        """
        now = time.monotonic()
        self._durations.append(now - self._last_step)
        self._last_step, self.done = now, step.step
        if not self.main:
            return
        line = {
            "step": step.step,
            "steps": self.steps,
            "epoch": step.epoch,
            **step.losses,
            **({"valid": step.validation} if step.validation else {}),
            "lr": step.lr,
            "seconds": round(self._seconds_before + now - self._started, 3),
            "eta_seconds": round(self._seconds_left(), 1),
        }
        self._try(lambda: self._append(line))
        self._try(lambda: self._log_events(step))
        if now - self._last_state > STATE_EVERY:
            self.state("running", self.warning)
        if now - self._last_line > LINE_EVERY or step.step == self.steps:
            self._last_line = now
            self.say(self._line(step))
        if step.validation:
            self.say(_validation_line(step))

    def state(self, state: str, message: str = "", remedy: str = "") -> None:
        """Replace state.json. state: running, stopped, failed or done."""
        if self.main:
            self._last_state = time.monotonic()
            self._write_state(state, message, remedy)

    def _write_state(self, state: str, message: str, remedy: str) -> None:
        content = {
            "state": state,
            "step": self.done,
            "steps": self.steps,
            "message": message,
            "remedy": remedy,
        }
        self._try(lambda: replace_json(self.folder / "state.json", content))

    def fail(self, cause: str, remedy: str) -> None:
        """Report a failure, from whichever process failed; the first to fail names the cause."""
        if not self.has_failed():
            self._write_state("failed", cause, remedy)

    def stopped(self, why: str) -> None:
        """Report a stop, unless another process failed before, which is why this one was stopped."""
        if not self.has_failed():
            self.state("stopped", why)

    def has_failed(self) -> bool:
        """Whether any process of the run has reported a failure."""
        path = self.folder / "state.json"
        return path.is_file() and json.loads(path.read_text(encoding="utf-8"))["state"] == "failed"

    def warn(self, message: str) -> None:
        """Report a problem that does not end the run. state.json shows it until `warn("")`."""
        if message and self.main:
            print(message, file=sys.stderr, flush=True)
        if message != self.warning:
            self.warning = message
            self.state("running", message)

    def say(self, text: str) -> None:
        """Print a line, unless quiet."""
        if self.main and not self.quiet:
            print(text, flush=True)

    def _seconds_left(self) -> float:
        """Remaining steps times the mean duration of the last RECENT: early steps are slow and would count forever."""
        return (self.steps - self.done) * sum(self._durations) / len(self._durations)

    def _line(self, step: Step) -> str:
        pace = sum(self._durations) / len(self._durations)
        (total, value), *terms = step.losses.items()
        losses = f"{total} {value:.4f}"
        if terms:
            losses += " = " + " + ".join(f"{name} {term:.4f}" for name, term in terms)
        return (
            f"step {step.step}/{self.steps} ({step.step / self.steps:.0%})  epoch {step.epoch}/{self.epochs}  "
            f"{losses}  lr {step.lr:.2e}  {pace:.2f} s/step  {format_duration(self._seconds_left())} left"
        )

    def _drop_lines_after(self, step: int) -> None:
        """Keep the lines up to the checkpoint: the steps after it are trained, and reported, again."""
        path = self.folder / "progress.jsonl"
        lines = [line for line in read_lines(path) if line["step"] <= step] if step else []
        self._seconds_before = lines[-1]["seconds"] if lines else 0.0
        text = "".join(json.dumps(line) + "\n" for line in lines)
        self._try(lambda: _replace(path, text))

    def _append(self, line: dict[str, Any]) -> None:
        append(self.folder / "progress.jsonl", json.dumps(line).encode() + b"\n")

    def _open_events(self) -> None:
        self._events = EventFile(self.folder / "tensorboard", done=self.done)

    def _log_events(self, step: Step) -> None:
        if self._events:
            values = {f"train/{name}": value for name, value in step.losses.items()}
            held_out = {f"valid/{name}": value for name, value in step.validation.items()}
            self._events.add(step.step, {**values, "train/lr": step.lr, **held_out})

    def _try(self, write: Callable[[], object]) -> None:
        """Write, or skip it if the disk is full: hours of training are worth more than a line about them."""
        with contextlib.suppress(OSError):
            write()


def _validation_line(step: Step) -> str:
    """What a terminal shows of a validation: `step 40 validated: loss 3.4100  nll …`."""
    figures = "  ".join(f"{name} {value:.4f}" for name, value in step.validation.items())
    return f"step {step.step} validated: {figures}"


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The lines of a progress.jsonl, up to the first that a kill cut short."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        try:
            lines.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return lines


def replace_json(path: Path, value: dict[str, Any]) -> None:
    """Write a new file and swap it in, so that a reader never sees half a file. Raises OSError."""
    _replace(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _replace(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.part")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def format_duration(seconds: float) -> str:
    """For a person: 45 s, 12 min, 3 h 20 min."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
