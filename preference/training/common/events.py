"""Losses and the learning rate as TensorBoard reads them.

Written here and not by SummaryWriter: that hands them to a thread which a full disk ends, and then waits for it without
end (tensorboardX 2.6).
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def append(path: Path, data: bytes) -> None:
    """Whole or not at all: half a record, on a disk that is full, would spoil the next. Raises OSError."""
    with path.open("ab", buffering=0) as file:
        end = file.tell()
        if (file.write(data) or 0) < len(data):
            file.truncate(end)


class Events:
    """A new event file. Raises OSError."""

    def __init__(self, folder: Path, *, done: int) -> None:
        """done: steps; what was told of later ones is to be forgotten."""
        from tensorboardX.proto.event_pb2 import Event, SessionLog

        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"events.out.tfevents.{time.time():.0f}.{socket.gethostname()}.{done}"
        self._write(Event(wall_time=time.time(), file_version="brain.Event:2"))
        if done:
            self._write(Event(step=done + 1, session_log=SessionLog(status=SessionLog.START)))

    def add(self, step: int, values: Mapping[str, float]) -> None:
        from tensorboardX.proto.event_pb2 import Event
        from tensorboardX.proto.summary_pb2 import Summary

        told = [Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
        self._write(Event(wall_time=time.time(), step=step, summary=Summary(value=told)))

    def _write(self, event: Any) -> None:
        """As a TFRecord: length, its checksum, the event, its checksum."""
        from tensorboardX.record_writer import masked_crc32c

        data = event.SerializeToString()
        size = struct.pack("<Q", len(data))
        sums = [struct.pack("<I", masked_crc32c(part)) for part in (size, data)]
        append(self._path, size + sums[0] + data + sums[1])
