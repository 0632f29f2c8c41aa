"""Models that arrive in pieces: each byte once, whole files only, and nowhere else than where uploads lie."""

import os
import time
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from pytest_django import Settings

from accounts.models import User
from annotation.project_setup.services import create_project
from jobs.models import Job, JobState
from jobs.services import run_job
from operations.retention.ages import DEFAULTS
from operations.retention.services import clean
from preference.registry.hashing import files_in
from preference.registry.models import RegisteredModel
from preference.registry.services.model_uploads import start_upload
from preference.registry.uploads import MOST_OPEN, AnnouncedFile, find_upload, uploads_of
from projects.models import Project
from tests.api.conftest import Program
from tests.api.conftest import program as program
from tests.disks import disk_of
from tests.preference.elsewhere import trained_folder
from tests.preference.learning import fakes as fakes

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fakes")]
WORDS = b"tea and rain"


@pytest.fixture
def api(program: Program, eric: User) -> Any:
    return program(eric)


def announced(**files: bytes) -> dict[str, Any]:
    return {
        "id": str(uuid4()),
        "name": "run7b",
        "files": [
            {"name": name, "size": len(content), "sha256": sha256(content).hexdigest()}
            for name, content in files.items()
        ],
    }


def begins(api: Any, body: dict[str, Any], project: str = "chit-chat") -> Any:
    return api.post(f"/api/v1/projects/{project}/model-uploads/", body, format="json")


def sends(api: Any, body: dict[str, Any], name: str, piece: bytes, offset: int = 0) -> Any:
    address = f"/api/v1/projects/chit-chat/model-uploads/{body['id']}/files/{name}/?offset={offset}"
    return api.generic("PUT", address, piece, content_type="application/octet-stream")


def state_of(api: Any, body: dict[str, Any], project: str = "chit-chat") -> Any:
    return api.get(f"/api/v1/projects/{project}/model-uploads/{body['id']}/")


def test_a_folder_arrives_is_registered_and_goes(api: Any, project: Project, tmp_path: Path) -> None:
    folder = trained_folder(tmp_path)
    files = {name: (folder / name).read_bytes() for name in files_in(folder)}
    body = announced(**files)
    assert begins(api, body).status_code == 201
    registration = {"id": str(uuid4()), "upload": body["id"], "name": "seven"}
    early = api.post("/api/v1/projects/chit-chat/models/", registration, format="json")
    assert (early.status_code, early.json()["code"]) == (409, "incomplete")
    for name, content in files.items():
        assert sends(api, body, name, content).status_code == 200
    assert begins(api, body).json()["is_complete"]
    started = api.post("/api/v1/projects/chit-chat/models/", registration, format="json")
    assert started.status_code == 202, started.json()
    job = run_job(job_id=UUID(registration["id"]))
    assert (job.state, job.result.get("model")) == (JobState.DONE, "seven"), job.error
    model = RegisteredModel.objects.get()
    assert set(model.files) == {Path(name).name for name in files if name.startswith("model/")}
    assert list((uploads_of(project.pk) / body["id"]).iterdir()) == []
    assert (state_of(api, body).status_code, state_of(api, body).json()["code"]) == (410, "upload_gone")
    again = api.post("/api/v1/projects/chit-chat/models/", registration, format="json")
    assert (again.status_code, again.json()["result"]["model"]) == (202, "seven")


def test_a_piece_is_stored_once(api: Any, project: Project) -> None:
    body = announced(weights=WORDS)
    begins(api, body)
    assert sends(api, body, "weights", WORDS[:5]).json()["received"] == {"weights": 5}
    for offset in (0, 4, 7):
        refused = sends(api, body, "weights", WORDS[offset:], offset).json()
        assert (refused["code"], refused["received"]) == ("wrong_offset", 5)
    assert sends(api, body, "weights", WORDS[5:], 5).json()["complete"] == ["weights"]
    assert sends(api, body, "weights", b"", len(WORDS)).json()["code"] == "wrong_offset"
    stored = find_upload(project, UUID(body["id"]))
    assert stored is not None
    assert (stored.folder / "weights").read_bytes() == WORDS


def test_an_empty_file_is_a_file(api: Any, project: Project) -> None:
    body = announced(empty=b"")
    assert begins(api, body).json()["complete"] == []
    assert sends(api, body, "empty", b"").json()["is_complete"]


def test_other_contents_begin_again(api: Any, project: Project) -> None:
    body = announced(weights=WORDS)
    begins(api, body)
    refused = sends(api, body, "weights", WORDS.upper())
    assert (refused.status_code, refused.json()["code"], refused.json()["received"]) == (422, "wrong_hash", 0)
    assert sends(api, body, "weights", WORDS).json()["is_complete"]


def test_more_than_was_announced_is_refused(api: Any, project: Project, settings: Settings) -> None:
    body = announced(weights=WORDS)
    begins(api, body)
    assert sends(api, body, "weights", WORDS + b"!").status_code == 413
    assert state_of(api, body).json()["received"] == {"weights": 0}
    assert sends(api, body, "other", WORDS).json()["code"] == "invalid"
    settings.MODEL_MAX_BYTES = len(WORDS) - 1
    assert begins(api, announced(weights=WORDS)).json()["code"] == "too_large"


@pytest.mark.parametrize(
    "name",
    [
        "../up",
        "/etc/passwd",
        "a/../../b",
        "a//b",
        ".hidden",
        "a/.b",
        "a\\b",
        "a b",
        "",
        "a/",
        "x" * 201,
        "1/2/3/4/5/6/7",
    ],
)
def test_unsafe_names_are_refused(api: Any, project: Project, name: str) -> None:
    response = begins(api, announced(**{name: WORDS}))
    assert (response.status_code, response.json()["code"]) == (400, "invalid")
    assert not uploads_of(project.pk).exists()


@pytest.mark.parametrize("names", [("a", "a/b"), ("Weights", "weights"), ("x/a", "X")])
def test_names_that_collide_are_refused(api: Any, project: Project, names: tuple[str, str]) -> None:
    assert begins(api, announced(**dict.fromkeys(names, WORDS))).json()["code"] == "invalid"


@pytest.mark.parametrize("name", ["..", ".parts", "upload.json", "a/b", "x" * 101])
def test_unsafe_folders_are_refused(api: Any, project: Project, name: str) -> None:
    assert begins(api, {**announced(weights=WORDS), "name": name}).status_code == 400


def test_too_many_files_and_uploads_are_refused(api: Any, project: Project) -> None:
    assert begins(api, announced(**{f"f{number}": b"" for number in range(501)})).json()["code"] == "invalid"
    for _upload in range(MOST_OPEN):
        assert begins(api, announced(weights=WORDS)).status_code == 201
    one_more = announced(weights=WORDS)
    assert begins(api, one_more).json()["code"] == "too_many_uploads"


def test_an_id_is_of_one_upload(api: Any, project: Project) -> None:
    body = announced(weights=WORDS)
    begins(api, body)
    assert begins(api, {**body, "name": "other"}).json()["code"] == "id_in_use"


def test_another_project_has_nothing_of_it(api: Any, project: Project, eric: User, program: Program) -> None:
    body = announced(weights=WORDS)
    begins(api, body)
    sends(api, body, "weights", WORDS)
    create_project(slug="other", preset="diamante", actor=eric)
    assert state_of(api, body, "other").status_code == 404
    registration = {"id": str(uuid4()), "upload": body["id"]}
    assert api.post("/api/v1/projects/other/models/", registration, format="json").status_code == 404
    assert begins(api, body, "other").json()["received"] == {"weights": 0}


def test_a_full_disk_keeps_what_had_arrived(
    api: Any, project: Project, settings: Settings, tmp_path: Path
) -> None:
    content = os.urandom(3 * 1024**2)
    with disk_of(70 * 1024**2, tmp_path / "small") as small:
        settings.MODELS_ROOT = small
        body = announced(weights=content)
        assert begins(api, body).status_code == 201, begins(api, body).json()
        sends(api, body, "weights", content[: 1024**2])
        (small / "else").write_bytes(bytes(68 * 1024**2))
        refused = sends(api, body, "weights", content[1024**2 :], 1024**2)
        assert (refused.status_code, refused.json()["code"]) == (507, "disk_full")
        assert state_of(api, body).json()["received"] == {"weights": 1024**2}
        (small / "else").unlink()
        assert sends(api, body, "weights", content[1024**2 :], 1024**2).json()["is_complete"]


def test_an_upload_is_cancelled(api: Any, project: Project) -> None:
    body = announced(weights=WORDS)
    begins(api, body)
    for _time in range(2):
        assert api.delete(f"/api/v1/projects/chit-chat/model-uploads/{body['id']}/").status_code == 204
    assert state_of(api, body).json()["code"] == "upload_gone"
    assert sends(api, body, "weights", WORDS).status_code == 410
    assert begins(api, body).json()["received"] == {"weights": 0}


def test_old_uploads_are_cleaned_unless_a_job_needs_them(project: Project) -> None:
    file = {"weights": AnnouncedFile(len(WORDS), sha256(WORDS).hexdigest())}
    old, needed, new = (
        start_upload(upload_id=uuid4(), project=project, name="run", files=file) for _upload in range(3)
    )
    for upload in (old, needed):
        for path in (upload.top, *upload.top.rglob("*")):
            os.utime(path, (time.time() - 15 * 86400,) * 2)
    Job.objects.create(kind="registration", project=project, parameters={"upload": str(needed.id)})
    list(clean({**DEFAULTS}, only=["uploads"], dry_run=False))
    assert {path.name for path in uploads_of(project.pk).iterdir()} == {str(needed.id), str(new.id)}
