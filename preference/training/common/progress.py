"""What a run tells while it runs: to a person in a terminal, to a page, to TensorBoard."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preference.training.common.events import Events, append

LINE_EVERY = 3.0  # seconds between two lines for a person
STATE_EVERY = 1.0
RECENT = 50  # steps whose mean duration tells how long the rest will take


@dataclass(frozen=True, slots=True)
class Step:
    """An optimiser step that was made. epoch: how many were begun; loss = nll + ranking, in nats."""

    step: int
    epoch: int
    loss: float
    nll: float
    ranking: float
    lr: float


class Progress:
    """progress.jsonl, state.json, TensorBoard events and lines on stdout. Silent except in the main process.

    A disk that is full stops none of this: what cannot be written is left out.
    """

    def __init__(self, folder: Path, *, quiet: bool, main: bool = True) -> None:
        self.folder = folder
        self.quiet, self.main = quiet, main
        self.steps = self.done = self.epochs = 0
        self.warning = ""
        self._durations: deque[float] = deque(maxlen=RECENT)
        self._before = 0.0  # seconds of earlier sessions
        self._started = self._last_step = time.monotonic()
        self._last_line = self._last_state = float("-inf")
        self._events: Events | None = None

    def begin(self, *, done: int, steps: int, epochs: int) -> None:
        """Training starts after `done` of `steps` steps; what a killed run told of later ones is forgotten."""
        self.done, self.steps, self.epochs = done, steps, epochs
        self._started = self._last_step = time.monotonic()
        if self.main:
            self._forget_after(done)
            self._try(self._open_events)
            self.state("running")

    def step(self, made: Step) -> None:
        now = time.monotonic()
        self._durations.append(now - self._last_step)
        self._last_step, self.done = now, made.step
        if not self.main:
            return
        line = {
            "step": made.step,
            "steps": self.steps,
            "epoch": made.epoch,
            "loss": made.loss,
            "nll": made.nll,
            "ranking": made.ranking,
            "lr": made.lr,
            "seconds": round(self._before + now - self._started, 3),
            "eta_seconds": round(self._left(), 1),
        }
        self._try(lambda: self._append(line))
        self._try(lambda: self._to_events(made))
        if now - self._last_state > STATE_EVERY:
            self.state("running", self.warning)
        if now - self._last_line > LINE_EVERY or made.step == self.steps:
            self._last_line = now
            self.say(self._line(made))

    def state(self, state: str, message: str = "", remedy: str = "") -> None:
        """Replace state.json."""
        if self.main:
            self._last_state = time.monotonic()
            self._write_state(state, message, remedy)

    def _write_state(self, state: str, message: str, remedy: str) -> None:
        told = {
            "state": state,
            "step": self.done,
            "steps": self.steps,
            "message": message,
            "remedy": remedy,
        }
        self._try(lambda: replace_json(self.folder / "state.json", told))

    def fail(self, cause: str, remedy: str) -> None:
        """By the process that failed, which may be another than the main one; the first to fail names the cause."""
        path = self.folder / "state.json"
        known = json.loads(path.read_text(encoding="utf-8"))["state"] if path.is_file() else ""
        if known != "failed":
            self._write_state("failed", cause, remedy)

    def warn(self, message: str) -> None:
        """Something went wrong, and the run goes on; state.json tells it until a warning without words."""
        if message and self.main:
            print(message, file=sys.stderr, flush=True)
        if message != self.warning:
            self.warning = message
            self.state("running", message)

    def say(self, text: str) -> None:
        if self.main and not self.quiet:
            print(text, flush=True)

    def _left(self) -> float:
        return (self.steps - self.done) * sum(self._durations) / len(self._durations)

    def _line(self, made: Step) -> str:
        pace = sum(self._durations) / len(self._durations)
        return (
            f"step {made.step}/{self.steps} ({made.step / self.steps:.0%})  epoch {made.epoch}/{self.epochs}  "
            f"loss {made.loss:.4f} = nll {made.nll:.4f} + ranking {made.ranking:.4f}  lr {made.lr:.2e}  "
            f"{pace:.2f} s/step  {duration(self._left())} left"
        )

    def _forget_after(self, step: int) -> None:
        path = self.folder / "progress.jsonl"
        kept = [line for line in read_lines(path) if line["step"] <= step] if step else []
        self._before = kept[-1]["seconds"] if kept else 0.0
        text = "".join(json.dumps(line) + "\n" for line in kept)
        self._try(lambda: _replace(path, text))

    def _append(self, line: dict[str, Any]) -> None:
        append(self.folder / "progress.jsonl", json.dumps(line).encode() + b"\n")

    def _open_events(self) -> None:
        self._events = Events(self.folder / "tensorboard", done=self.done)

    def _to_events(self, made: Step) -> None:
        if self._events:
            values = {f"train/{name}": getattr(made, name) for name in ("loss", "nll", "ranking", "lr")}
            self._events.add(made.step, values)

    def _try(self, write: Callable[[], object]) -> None:
        with contextlib.suppress(OSError):
            write()


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a progress.jsonl; the last one may be cut short by a kill."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return found


def replace_json(path: Path, value: dict[str, Any]) -> None:
    """Write beside it and swap, so that a reader never sees half a file."""
    _replace(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _replace(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.part")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def duration(seconds: float) -> str:
    """For a person: 45 s, 12 min, 3 h 20 min."""
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
