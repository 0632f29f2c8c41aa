"""Jobs, exports, snapshots and models: awaited, checked, and resumed after a lost connection."""

import json
import socket
from hashlib import sha256
from pathlib import Path
from uuid import UUID

import datasets
import pandas
import pytest
from pytest_django import Settings

from lapidary import FileDamaged, NotAModel, Snapshot, WorkFailed, WorkTakesLonger
from lapidary.exports import _dataset, _frame
from lapidary.transport import Transport
from lapidary.uploads import read_model_folder, upload
from preference.registry.hashing import sha256_of_files
from preference.registry.incoming import list_files
from preference.registry.upload_pieces import pieces_of_uploads
from preference.registry.uploads import find_upload
from projects.models import Event, Project
from tests.client.broken_line import BrokenLine
from tests.client.conftest import Connects
from tests.processes import Stack, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def written(count: int) -> list[dict[str, object]]:
    """Dialogues with candidates, of which one was sent as it was."""
    said = [
        {"utterance": "What do you read?", "response_candidates": []},
        {"utterance": "Novels", "response_candidates": ["Novels", "Poems"], "action": "select", "source": 0},
    ]
    return [{"dialogue_id": f"d{number}", "conversation": said} for number in range(count)]


def frozen(connects: Connects, project: Project, count: int = 40) -> Snapshot:
    chat = connects().project(project.slug)
    chat.import_dialogues(written(count), format="diamante", progress=False)
    return chat.take_snapshot("may", include_unreviewed=True, progress=False)


def test_work_that_fails_or_takes_longer_says_so(connects: Connects, project: Project) -> None:
    chat = connects().project(project.slug)
    with pytest.raises(WorkFailed, match="row is refused") as failed:
        chat.import_dialogues([{"messages": 1}], on_error="stop", progress=False)
    assert (failed.value.state, bool(failed.value.remedy)) == ("failed", True)
    job = connects().job(failed.value.id)
    assert (job.kind, job.state) == ("import", "failed")
    job.data["state"] = "running"  # as it was at an earlier look
    with pytest.raises(WorkTakesLonger, match=r"still running.* Wait for it again"):
        job.wait(timeout=-1, progress=False)
    assert [each.id for each in chat.jobs(kind="import")] == [job.id]


def test_exports_are_tables(connects: Connects, project: Project) -> None:
    chat = connects().project(project.slug)
    chat.import_dialogues(written(3), format="diamante", progress=False)
    table = chat.dataset("sft", include_unreviewed=True, progress=False)
    assert [row["completion"][0]["content"] for row in table] == ["Novels"] * 3
    export = chat.export("sft", include_unreviewed=True, progress=False)
    assert export.to_dataset()["completion"][:] == table["completion"][:]
    frame = export.to_pandas()
    assert list(frame["dialogue_id"]) == list(table["dialogue_id"])


def test_a_table_keeps_ids_and_columns_of_later_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "007", "text": "a"}\n{"id": "008", "language": "en"}\n', encoding="utf-8")
    rows = {"id": ["007", "008"], "text": ["a", None], "language": [None, "en"]}
    assert _dataset(datasets, path).to_dict() == rows
    frame = _frame(pandas, path)
    assert list(frame.columns) == list(rows)
    assert list(frame["id"]) == rows["id"]


def test_a_snapshot_is_pulled_over_a_broken_line(
    connects: Connects, project: Project, line: BrokenLine, tmp_path: Path
) -> None:
    taken = frozen(connects, project)
    assert taken.card is not None
    (over_the_line,) = connects(line.url).project(project.slug).snapshots()
    line.cut(6_000, 2_000, 0)
    folder = over_the_line.pull(tmp_path / "may", progress=False)
    data = (folder / "dialogues.jsonl").read_bytes()
    assert line.broken == 3
    assert sha256(data).hexdigest() == taken.sha256
    assert len(data.splitlines()) == 40
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "dialogues.jsonl", "snapshot.json"]
    downloads = Event.objects.filter(kind="downloaded", data__file="dialogues.jsonl").count()
    over_the_line.pull(folder, progress=False)
    assert Event.objects.filter(kind="downloaded", data__file="dialogues.jsonl").count() == downloads


def test_a_damaged_download_is_noticed(connects: Connects, project: Project, tmp_path: Path) -> None:
    taken = frozen(connects, project, 3)
    (tmp_path / "dialogues.jsonl.part").write_bytes(b"not its first bytes")
    (tmp_path / "dialogues.jsonl.part-etag").write_text(f'"{taken.sha256}"')
    with pytest.raises(FileDamaged, match=f"not {taken.sha256}"):
        taken.pull(tmp_path, progress=False)
    assert taken.pull(tmp_path, progress=False) == tmp_path


def test_what_arrived_whole_before_is_not_downloaded_again(
    connects: Connects, project: Project, tmp_path: Path
) -> None:
    taken = frozen(connects, project, 3)
    taken.pull(tmp_path, progress=False)
    (tmp_path / "dialogues.jsonl").rename(tmp_path / "dialogues.jsonl.part")
    (tmp_path / "dialogues.jsonl.part-etag").write_text(f'"{taken.sha256}"')
    downloads = Event.objects.filter(kind="downloaded", data__file="dialogues.jsonl")
    assert downloads.count() == 1
    taken.pull(tmp_path, progress=False)
    assert downloads.count() == 1
    assert (tmp_path / "dialogues.jsonl").is_file()


def test_a_model_is_pushed_over_a_broken_line(
    connects: Connects,
    server: Stack,
    project: Project,
    line: BrokenLine,
    run7b: Path,
    settings: Settings,
) -> None:
    """Answers get lost on the way: what has arrived is not sent again, and nothing is stored twice."""
    (run7b / "model" / "more.safetensors").write_bytes(bytes(range(256)) * 20_000)  # two pieces
    (run7b / "model" / ".cache").write_text("stays here")
    (run7b / "checkpoints").mkdir()
    (run7b / "checkpoints" / "optimizer.pt").write_text("stays here")
    folder = read_model_folder(run7b)
    transport = connects(line.url)._transport
    line.cut(0, 2_000, 0, 3_000)
    sent = upload(transport, project.slug, folder, progress=False)
    assert line.broken == 4
    settings.MODELS_ROOT = server.folder / "files" / "models"
    arrived = find_upload(project, UUID(sent))
    assert arrived is not None
    assert all(file.is_whole for file in pieces_of_uploads().arrivals(arrived).values())
    assert upload(transport, project.slug, folder, progress=False) == sent


def test_what_arrives_of_a_piece_is_kept(
    connects: Connects, server: Stack, project: Project, run7b: Path, token: str
) -> None:
    """The connection ends in the middle of a body: the client goes on behind what the server has of it."""
    folder = read_model_folder(run7b)
    transport = connects()._transport
    upload_id, name = folder.upload_id(project.slug), "model/model.safetensors"
    content = folder.files[name].read_bytes()
    announced = [
        {"name": each, "size": path.stat().st_size, "sha256": folder.hashes[each]}
        for each, path in folder.files.items()
    ]
    address = f"projects/{project.slug}/model-uploads/"
    transport.post(address, {"id": upload_id, "name": folder.name, "files": announced})
    with socket.create_connection(("127.0.0.1", server.port)) as half:
        head = (
            f"PUT /api/v1/{address}{upload_id}/files/{name}/?offset=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: Bearer {token}\r\nContent-Type: application/octet-stream\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        half.sendall(head.encode() + content[:2000])
    wait_until(lambda: received(transport, f"{address}{upload_id}/", name) == 2000, 20, "half of the piece")
    assert upload(transport, project.slug, folder, progress=False) == upload_id


def received(transport: Transport, address: str, name: str) -> int:
    return int(transport.get(address)["received"][name])


def test_the_client_and_the_server_hash_a_model_alike(run7b: Path) -> None:
    (run7b / "model" / "deep").mkdir()
    (run7b / "model" / "deep-1").write_text("-")
    (run7b / "model" / "deep" / "file").write_text("/")
    (run7b / "evaluation.json").write_text(json.dumps({}))
    of_server = sha256_of_files(run7b / "model", list_files(run7b / "model"))
    assert read_model_folder(run7b).sha256() == read_model_folder(run7b / "model").sha256() == of_server
    assert read_model_folder(run7b).name == read_model_folder(run7b / "model").name == "run7b"


def test_a_folder_without_a_model_is_not_sent(tmp_path: Path) -> None:
    with pytest.raises(NotAModel, match="has no config"):
        read_model_folder(tmp_path)
    blob = tmp_path / "blob"
    blob.write_text("{}")
    (tmp_path / "config.json").symlink_to(blob)  # as in the cache of the Hub's library
    with pytest.raises(NotAModel, match="are links"):
        read_model_folder(tmp_path)
