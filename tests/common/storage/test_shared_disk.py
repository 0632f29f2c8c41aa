"""The folder that all processes share: what is written there appears whole."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from common.storage.shared_disk import SharedDisk


def test_a_small_file_that_several_write_at_once_is_always_whole(tmp_path: Path) -> None:
    disk, path = SharedDisk(location=tmp_path), tmp_path / "folder" / "small"
    contents = [bytes([letter]) * 50_000 for letter in b"abcdefgh"]
    disk.write(path, contents[0])

    def write_and_read(number: int) -> bytes:
        disk.write(path, contents[number % len(contents)])
        return disk.read(path)

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(write_and_read, range(160))) <= set(contents)
    assert [found.name for found in path.parent.iterdir()] == ["small"]


def test_nothing_is_left_from_the_end_of_a_file_on(tmp_path: Path) -> None:
    disk, path = SharedDisk(location=tmp_path), tmp_path / "numbers"
    path.write_bytes(b"0123456789")
    with disk.open_from(path, 9).file as file:
        assert file.read() == b"9"
    with pytest.raises(EOFError):
        disk.open_from(path, 10)
    path.write_bytes(b"")
    with disk.open_from(path).file as file:
        assert file.read() == b""
