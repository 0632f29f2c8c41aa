"""TensorBoard event files: losses and the learning rate of every step.

tensorboardX's SummaryWriter is not used: it writes from a thread that a full disk ends, and then waits for that
thread forever (tensorboardX 2.6).
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def append(path: Path, data: bytes) -> None:
    """Append all of `data` or nothing: half a record on a full disk would spoil the next one. Raises OSError."""
    with path.open("ab", buffering=0) as file:
        end = file.tell()
        if (file.write(data) or 0) < len(data):
            file.truncate(end)


class EventFile:
    """A new event file in `folder`. Every method raises OSError if the file cannot be written."""

    def __init__(self, folder: Path, *, done: int) -> None:
        """Open the file of a run that continues after `done` optimiser steps.

        A SessionLog.START event at step done + 1 tells TensorBoard to drop what an earlier session of this run
        logged for later steps.
        """
        from tensorboardX.proto.event_pb2 import Event, SessionLog

        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"events.out.tfevents.{time.time():.0f}.{socket.gethostname()}.{done}"
        self._write(Event(wall_time=time.time(), file_version="brain.Event:2"))
        if done:
            self._write(Event(step=done + 1, session_log=SessionLog(status=SessionLog.START)))

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Log scalars of one optimiser step, by tag."""
        from tensorboardX.proto.event_pb2 import Event
        from tensorboardX.proto.summary_pb2 import Summary

        scalars = [Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        self._write(Event(wall_time=time.time(), step=step, summary=Summary(value=scalars)))

    def _write(self, event: Any) -> None:
        """Append a TFRecord: length (u64), its masked CRC-32C, the event, its masked CRC-32C; little-endian."""
        from tensorboardX.record_writer import masked_crc32c

        data = event.SerializeToString()
        size = struct.pack("<Q", len(data))
        checksums = [struct.pack("<I", masked_crc32c(part)) for part in (size, data)]
        append(self._path, size + checksums[0] + data + checksums[1])
