"""What a run tells while it trains, also on a disk that is full."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Thread

import pytest

from preference.training.common.progress import Progress, Step, read_lines
from tests.disks import files_up_to


def step(number: int) -> Step:
    return Step(number, epoch=1, lr=0.1, losses={"loss": 3.0, "nll": 2.0, "ranking": 1.0})


@pytest.fixture
def progress(tmp_path: Path) -> Progress:
    made = Progress(tmp_path, quiet=True)
    made.begin(done=0, steps=1000, epochs=1)
    return made


def test_a_full_disk_does_not_hold_a_run_up(progress: Progress) -> None:
    """TensorBoard's own writer waits without end for a thread that died of it."""

    def train() -> None:
        for number in range(1, 600):
            progress.step(step(number))

    with files_up_to(4096):
        training = Thread(target=train, daemon=True)
        training.start()
        training.join(30)
    assert not training.is_alive()


def test_a_line_is_written_whole_or_not_at_all(progress: Progress, tmp_path: Path) -> None:
    with files_up_to(1000):
        for number in range(1, 20):
            progress.step(step(number))
    assert (tmp_path / "progress.jsonl").stat().st_size < 1000
    progress.step(step(20))
    told = [json.loads(line) for line in (tmp_path / "progress.jsonl").read_text().splitlines()]
    assert [line["step"] for line in told[:2]] == [1, 2]
    assert told[-1]["step"] == 20
    assert told == read_lines(tmp_path / "progress.jsonl")


def records(path: Path) -> list[bytes]:
    """TFRecord: eight bytes of length, four of checksum, the record, four of checksum."""
    found, left = [], path.read_bytes()
    while left:
        size = int.from_bytes(left[:8], "little")
        found.append(left[12 : 12 + size])
        left = left[16 + size :]
    return found


def test_tensorboard_reads_the_losses_and_forgets_what_a_killed_run_told_of_later_steps(
    progress: Progress, tmp_path: Path
) -> None:
    from tensorboardX.proto.event_pb2 import Event

    for number in (1, 2):
        progress.step(step(number))
    resumed = Progress(tmp_path, quiet=True)
    resumed.begin(done=1, steps=1000, epochs=1)
    first, second = (
        [Event.FromString(record) for record in records(path)]
        for path in sorted((tmp_path / "tensorboard").iterdir(), key=lambda path: path.suffix)
    )
    assert first[0].file_version == second[0].file_version == "brain.Event:2"
    told = {value.tag: value.simple_value for value in first[2].summary.value}
    assert first[2].step == 2
    assert told == pytest.approx({"train/loss": 3, "train/nll": 2, "train/ranking": 1, "train/lr": 0.1})
    assert (second[1].step, second[1].session_log.status) == (
        2,
        1,
    )  # START: events from step 2 on are void
