"""The pieces of a model that reach different web servers, and are put together by a third host."""

from datetime import timedelta
from pathlib import Path
from typing import cast
from uuid import UUID, uuid4

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.models import User
from common.storage.object_store import ObjectStore
from common.storage.shared_files import shared_models
from jobs.models import JobState
from jobs.services import retry_job, run_job
from operations.retention.kinds import clean_uploads
from preference.registry.files import folder_of_model
from preference.registry.hashing import files_in
from preference.registry.models import RegisteredModel
from preference.registry.uploads import uploads_of
from projects.models import Project
from tests.api.conftest import Program
from tests.api.conftest import program as program
from tests.object_store import BUCKET, ObjectServer
from tests.preference.elsewhere import trained_folder
from tests.preference.learning import fakes as fakes
from tests.preference.registry.test_model_uploads import announced, begins, sends, state_of
from tests.preference.registry.test_models_in_object_store import Hosts
from tests.preference.registry.test_models_in_object_store import host as host
from tests.preference.registry.test_models_in_object_store import prefix as prefix

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fakes")]
WORDS = b"tea and rain"


@pytest.fixture
def api(program: Program, eric: User) -> APIClient:
    return program(eric)


def registered(api: APIClient, upload: str) -> UUID:
    body = {"id": str(uuid4()), "upload": upload, "name": "seven"}
    answer = api.post("/api/v1/projects/chit-chat/models/", body, format="json")
    assert answer.status_code == 202, answer.json()
    return UUID(body["id"])


def test_pieces_of_two_web_servers_become_a_model_on_a_third_host(
    api: APIClient, project: Project, host: Hosts, tmp_path: Path
) -> None:
    folder = trained_folder(tmp_path / "elsewhere")
    files = {name: (folder / name).read_bytes() for name in files_in(folder)}
    body = announced(**files)
    one = host("one")
    assert begins(api, body).status_code == 201
    for name, content in files.items():
        for number, offset in enumerate(range(0, len(content), 3000)):
            host(("one", "two")[number % 2])
            sent = sends(api, body, name, content[offset : offset + 3000], offset)
            assert sent.status_code == 200, sent.json()
            assert sent.json()["received"][name] == min(offset + 3000, len(content))
    assert begins(api, body).json()["is_complete"]
    assert files_in(one) == {} or all(name.endswith(".lock") for name in files_in(one))
    job_id = registered(api, body["id"])
    host("trains")
    job = run_job(job_id=job_id)
    assert (job.state, job.result.get("model")) == (JobState.DONE, "seven"), job.error
    host("serves")
    assert files_in(folder_of_model(RegisteredModel.objects.get())) == files_in(folder / "model")
    assert (state_of(api, body).status_code, state_of(api, body).json()["code"]) == (410, "upload_gone")
    left = [stored.path.name for stored in shared_models().stored_in(uploads_of(project.pk))]
    assert left == ["ended"]


def test_a_piece_counts_where_it_follows_the_one_before(
    api: APIClient, project: Project, host: Hosts
) -> None:
    body = announced(weights=WORDS, empty=b"")
    host("one")
    begins(api, body)
    assert sends(api, body, "weights", WORDS[:5]).json()["received"] == {"empty": 0, "weights": 5}
    host("two")
    for offset in (0, 4, 7):
        answer = sends(api, body, "weights", WORDS[offset:], offset).json()
        assert (answer["code"], answer["received"]) == ("wrong_offset", 5)
    assert sends(api, body, "weights", WORDS[5:] + b"!", 5).status_code == 413
    assert sends(api, body, "weights", WORDS[5:], 5).json()["complete"] == ["weights"]
    assert sends(api, body, "empty", b"").json()["is_complete"]
    assert sends(api, body, "weights", b"", len(WORDS)).json()["code"] == "wrong_offset"


def test_a_piece_lists_its_own_file_and_its_answer_the_upload_once(
    api: APIClient, project: Project, host: Hosts
) -> None:
    body = announced(head=WORDS, weights=WORDS)
    host("one")
    begins(api, body)
    listed: list[str] = []
    cast("ObjectStore", shared_models()).client.meta.events.register(
        "before-parameter-build.s3.ListObjectsV2",
        lambda params, **_: listed.append(params["Prefix"].partition(f"{body['id']}/")[2]),
    )
    assert sends(api, body, "weights", WORDS[:5]).json()["received"] == {"head": 0, "weights": 5}
    assert listed == [".parts/1/", ".parts/"]


def test_a_damaged_file_is_named_and_sent_again(
    api: APIClient, project: Project, host: Hosts, tmp_path: Path, object_server: ObjectServer, prefix: str
) -> None:
    folder = trained_folder(tmp_path / "elsewhere")
    files = {name: (folder / name).read_bytes() for name in files_in(folder)}
    body = announced(**files)
    host("web")
    begins(api, body)
    for name, content in files.items():
        sends(api, body, name, content)
    place = sorted(files).index("model/model.safetensors")
    key = f"{prefix}/models/.model-uploads/{project.pk}/{body['id']}/.parts/{place}/{0:020d}"
    object_server.client().put_object(Bucket=BUCKET, Key=key, Body=b"x" * 5000)
    job_id = registered(api, body["id"])
    host("trains")
    job = run_job(job_id=job_id)
    assert (job.state, "model/model.safetensors" in job.error) == (JobState.FAILED, True)
    host("web")
    state = state_of(api, body).json()
    assert (state["received"]["model/model.safetensors"], state["is_complete"]) == (0, False)
    sends(api, body, "model/model.safetensors", files["model/model.safetensors"])
    host("trains")
    retry_job(job=job, actor=None, enqueue=False)
    assert run_job(job_id=job_id).state == JobState.DONE


def test_an_upload_is_cancelled_and_an_old_one_is_cleaned(
    api: APIClient, project: Project, host: Hosts
) -> None:
    kept, ended = announced(weights=WORDS), announced(weights=WORDS)
    host("one")
    for body in (kept, ended):
        begins(api, body)
        sends(api, body, "weights", WORDS)
    host("two")
    address = f"/api/v1/projects/chit-chat/model-uploads/{ended['id']}/"
    assert api.delete(address).status_code == 204
    assert state_of(api, ended).json()["code"] == "upload_gone"
    assert clean_uploads(timezone.now() - timedelta(days=1), dry_run=False).count == 0
    later = timezone.now() + timedelta(minutes=5)
    assert clean_uploads(later, dry_run=True).count == 2
    assert clean_uploads(later, dry_run=False).bytes > len(WORDS)
    assert list(shared_models().stored_in(uploads_of(project.pk))) == []
    assert state_of(api, kept).status_code == 404
