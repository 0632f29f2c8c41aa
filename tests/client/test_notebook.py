"""The notebook of the docs, run from its first cell to its last on a server without a project."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from accounts.models import Scope, User
from accounts.services import create_token
from annotation.labelling.models.labels import FinalLabel
from preference.data.models.snapshots import Snapshot
from preference.registry.models import Promotion, RegisteredModel
from projects.models import Project
from tests.processes import ROOT, Stack

NOTEBOOK = ROOT / "docs" / "engineers" / "client.ipynb"


def cells() -> list[dict[str, Any]]:
    content: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return [cell for cell in content["cells"] if cell["cell_type"] == "code"]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_it_goes_from_an_empty_server_to_a_promoted_model(
    server: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    olga = User.objects.create_superuser("olga", "olga@example.org")
    monkeypatch.setenv("LAPIDARY_URL", server.url)
    monkeypatch.setenv("LAPIDARY_TOKEN", create_token(user=olga, name="notebook", scopes=list(Scope))[1])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(ROOT)
    assert not Project.objects.exists()
    run = ModuleType("notebook")
    monkeypatch.setitem(sys.modules, "notebook", run)
    for cell in cells():
        exec(compile("".join(cell["source"]), f"{NOTEBOOK.name}: {cell['id']}", "exec"), run.__dict__)
    run.client.close()

    assert FinalLabel.objects.filter(project__slug="answers", superseded_at=None).count() == 12
    assert set(Snapshot.objects.exclude(path="").values_list("project__slug", flat=True)) == {
        "answers",
        "chats",
    }
    model = RegisteredModel.objects.get()
    assert (model.slug, model.fault) == ("first-model", "")
    assert model.snapshot == Snapshot.objects.get(project__slug="chats")
    assert Promotion.objects.get().after == model.generator
    assert model.project.authoring.generator == model.generator


def test_it_is_committed_without_outputs() -> None:
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells())
