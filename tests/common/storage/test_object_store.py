"""The object store against a real S3-compatible server."""

import os
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from common.refusals import Refusal
from common.storage.object_store import ObjectStore
from tests.object_store import BUCKET, ObjectServer, store_on

MEGABYTES = os.urandom(1 << 20) * 20


@pytest.fixture
def hosts(object_server: ObjectServer, tmp_path: Path) -> tuple[ObjectStore, ObjectStore]:
    return store_on(tmp_path / "a", object_server.url()), store_on(tmp_path / "b", object_server.url())


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_what_one_host_publishes_another_fetches(hosts: tuple[ObjectStore, ObjectStore]) -> None:
    here, there = hosts
    write(here.root / "snapshots/s1/dialogues.jsonl", MEGABYTES)
    write(here.root / "snapshots/s1/card/README.md", "中文".encode())
    write(here.root / "snapshots/s10/other", b"a name that begins alike")
    sent: list[int] = []
    here.publish(here.root / "snapshots/s1", sent.append)
    here.publish(here.root / "snapshots/s10")
    there.fetch(there.root / "snapshots/s1")
    assert (there.root / "snapshots/s1/dialogues.jsonl").read_bytes() == MEGABYTES
    assert (there.root / "snapshots/s1/card/README.md").read_text() == "中文"
    assert not (there.root / "snapshots/s10").exists()
    assert sum(sent) == len(MEGABYTES) + len("中文".encode())
    assert there.names_in(there.root / "snapshots") == {"s1", "s10"}
    assert not [path for path in there.root.rglob("*") if path.name.endswith(".part")]


def test_a_file_that_is_here_is_not_fetched_again(hosts: tuple[ObjectStore, ObjectStore]) -> None:
    here, there = hosts
    here.publish(write(here.root / "once", b"content"))
    received: list[int] = []
    there.fetch(there.root / "once", received.append)
    there.fetch(there.root / "once", received.append)
    assert sum(received) == len(b"content")


def test_a_missing_file_is_fetched_as_nothing(hosts: tuple[ObjectStore, ObjectStore]) -> None:
    here, _there = hosts
    here.fetch(here.root / "missing")
    assert not (here.root / "missing").exists()
    assert not here.exists_anywhere(here.root / "missing")
    with pytest.raises(FileNotFoundError):
        here.open_from(here.root / "missing")


def test_a_file_is_read_from_any_byte_on(hosts: tuple[ObjectStore, ObjectStore]) -> None:
    here, there = hosts
    here.publish(write(here.root / "range", b"0123456789"))
    opened = there.open_from(there.root / "range", 4)
    assert (opened.file.read(), opened.size) == (b"456789", 10)
    opened = there.open_from(there.root / "range")
    assert opened.file.read() == b"0123456789"
    assert there.exists_anywhere(there.root / "range")
    for begin in (10, 11):
        with pytest.raises(EOFError):
            there.open_from(there.root / "range", begin)
    here.publish(write(here.root / "empty", b""))
    opened = there.open_from(there.root / "empty")
    assert (opened.file.read(), opened.size) == (b"", 0)


def test_the_root_is_listed_like_every_folder(object_server: ObjectServer, tmp_path: Path) -> None:
    here, there = (store_on(tmp_path / name, object_server.url(tmp_path.name)) for name in "ab")
    here.publish(write(here.root / "snapshots/s1/card", b"card"))
    assert there.names_in(there.root) == {"snapshots"}
    assert [stored.path for stored in there.stored_in(there.root)] == [there.root / "snapshots/s1/card"]
    prefixes: list[str] = []
    there.client.meta.events.register(
        "before-parameter-build.s3.ListObjectsV2", lambda params, **_: prefixes.append(params["Prefix"])
    )
    list(there.stored_in(there.root))
    assert prefixes == [f"{tmp_path.name}/files/"]


def test_a_small_file_is_written_and_read_without_a_copy(hosts: tuple[ObjectStore, ObjectStore]) -> None:
    here, there = hosts
    here.write(here.root / "folder/small", b"content")
    assert there.read(there.root / "folder/small") == b"content"
    assert not (here.root / "folder").exists()
    assert not (there.root / "folder").exists()
    with pytest.raises(FileNotFoundError):
        there.read(there.root / "missing")


def test_a_store_that_breaks_off_in_a_small_file_is_away(
    hosts: tuple[ObjectStore, ObjectStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, _there = hosts
    here.write(here.root / "cut", b"content")
    opened = here.open_from(here.root / "cut")
    opened.file._content_length = 8  # type: ignore[attr-defined]  # one more than will come
    monkeypatch.setattr(ObjectStore, "open_from", lambda *_: opened)
    with pytest.raises(Refusal) as refusal:
        here.read(here.root / "cut")
    assert refusal.value.code == "storage_away"


def test_a_signed_address_needs_no_key_and_takes_ranges(object_server: ObjectServer, tmp_path: Path) -> None:
    store = store_on(tmp_path, object_server.url(options="&downloads=signed"))
    store.publish(write(tmp_path / "signed.jsonl", b"0123456789"))
    url = store.signed_url(tmp_path / "signed.jsonl", content_type="application/jsonl", name="猫.jsonl")
    request = urllib.request.Request(url, headers={"Range": "bytes=4-"})
    with urllib.request.urlopen(request) as response:
        assert (response.status, response.read()) == (206, b"456789")
        assert response.headers["Content-Disposition"] == "attachment; filename*=utf-8''%E7%8C%AB.jsonl"


def test_a_removed_folder_is_gone_everywhere_but_on_other_hosts(
    hosts: tuple[ObjectStore, ObjectStore],
) -> None:
    here, there = hosts
    here.publish(write(here.root / "folder/file", b"content").parent)
    (here.root / "folder").chmod(0o500)
    here.remove(here.root / "folder")
    here.remove(here.root / "folder")
    there.fetch(there.root / "folder")
    assert not (here.root / "folder").exists()
    assert not (there.root / "folder").exists()


def test_wrong_keys_and_missing_buckets_are_named(object_server: ObjectServer, tmp_path: Path) -> None:
    file = write(tmp_path / "file", b"content")
    with pytest.raises(Refusal, match="refused the access") as refused:
        store_on(tmp_path, object_server.url(secret="another")).publish(file)
    assert (refused.value.code, refused.value.status) == ("storage_refused", 503)
    with pytest.raises(Refusal, match="bucket of STORAGE_URL does not exist"):
        store_on(tmp_path, object_server.url(bucket="elsewhere")).fetch(file.with_name("other"))


def test_a_store_that_is_away_is_said_within_seconds(object_server: ObjectServer, tmp_path: Path) -> None:
    store = store_on(tmp_path, object_server.url())
    file = write(tmp_path / "away", b"content")
    object_server.stop()
    try:
        with pytest.raises(Refusal, match="does not answer") as refused:
            store.publish(file)
        assert refused.value.code == "storage_away"
        store.remove(file)  # what was asked for is done; the object is a leftover
        assert not file.exists()
    finally:
        object_server.start()
    store.publish(write(tmp_path / "away", b"content"))
    assert object_server.client().head_object(Bucket=BUCKET, Key="files/away")["ContentLength"] == 7


def test_whoever_waits_hears_of_the_bytes_in_their_own_thread_and_can_stop(
    hosts: tuple[ObjectStore, ObjectStore],
) -> None:
    here, there = hosts
    heard: list[tuple[int, bool]] = []

    def beat(count: int) -> None:
        heard.append((count, threading.current_thread() is threading.main_thread()))

    file = write(here.root / "heard", MEGABYTES)
    here.publish(file, beat)
    assert sum(count for count, _in_main in heard) == len(MEGABYTES)
    assert all(in_main for _count, in_main in heard)

    def stop(_count: int) -> None:
        raise InterruptedError("cancelled")

    with pytest.raises(InterruptedError, match="cancelled"):
        there.fetch(there.root / "heard", stop)
    assert not list(there.root.rglob("*.part"))


def test_a_file_that_is_handed_over_stays_in_the_store_only(hosts: tuple[ObjectStore, ObjectStore]) -> None:
    here, there = hosts
    here.hand_over(write(here.root / "handed/over", b"content"))
    assert not (here.root / "handed/over").exists()
    (stored,) = there.stored_in(there.root / "handed")
    assert (stored.path, stored.bytes) == (there.root / "handed/over", 7)
    assert abs(stored.changed_at - time.time()) < 60
    assert stored in list(there.stored_in(there.root))


def test_what_consoles_make_of_a_folder_is_not_a_file(
    hosts: tuple[ObjectStore, ObjectStore], object_server: ObjectServer
) -> None:
    here, there = hosts
    here.publish(write(here.root / "made/in/console", b"content"))
    here.client.put_object(Bucket=here.bucket_name, Key=here._key(here.root / "made/in") + "/", Body=b"")
    assert there.fetch(there.root / "made")
    assert (there.root / "made/in/console").read_bytes() == b"content"
    assert [stored.path.name for stored in there.stored_in(there.root / "made")] == ["console"]


def test_a_removal_that_must_not_fail_silently_refuses(
    hosts: tuple[ObjectStore, ObjectStore], tmp_path: Path, object_server: ObjectServer
) -> None:
    wrong = store_on(tmp_path / "c", object_server.url(secret="another"))
    file = write(wrong.root / "file", b"content")
    with pytest.raises(Refusal, match="refused the access"):
        wrong.remove(file, or_refuse=True)
    wrong.remove(file)


def test_a_copy_that_nobody_used_for_a_month_is_deleted_by_its_host(
    hosts: tuple[ObjectStore, ObjectStore],
) -> None:
    here, there = hosts
    for name in ("old/read-only", "used/file", "new/file"):
        here.publish(write(here.root / name, b"content"))
    for name in ("old/read-only", "used/file"):
        there.fetch(there.root / name)
    long_ago = time.time() - 40 * 24 * 3600
    there.publish(write(there.root / "checkpoint", b"an original, also in the store"))
    there.publish(write(there.root / "made-here", b"content"), leaves_copy=True)
    here.remove(here.root / "old/read-only")  # the copy goes, though its object has gone before
    write(there.root / ".half.0a1b.part.9FdC2e1A", b"of a killed download")
    for name in ("old/read-only", "used/file", "checkpoint", ".half.0a1b.part.9FdC2e1A", "made-here"):
        os.utime(there.root / name, (long_ago, long_ago))
    os.utime(there.root / ".lapidary-copies", (long_ago, long_ago))
    (there.root / "old").chmod(0o500)
    there.fetch(there.root / "used/file")
    assert there.fetch(there.root / "new/file")
    assert {str(path.relative_to(there.root)) for path in there.root.rglob("*") if path.is_file()} == {
        ".lapidary-copied", ".lapidary-copies", "checkpoint", "new/file", "used/file",
    }  # fmt: skip
    assert there.fetch(there.root / "made-here")
