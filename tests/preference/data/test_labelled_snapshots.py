"""Snapshots of labelling projects: final labels, frozen."""

import hashlib
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from pytest_django import DjangoAssertNumQueries
from rest_framework.test import APIClient

from accounts.models import User
from annotation.labelling.models.labels import FinalLabel
from annotation.tasks.models.rounds import Batch
from common.refusals import Invalid
from dialogues.models import Split
from jobs.models import JobState
from jobs.services import run_job
from preference.data.formats import labelled
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.selection import Filters, select
from preference.data.selectors.shortages import expected_shortages, shortages_on_card
from preference.data.selectors.snapshots import preview_snapshot_of
from preference.data.services.exports import start_export
from preference.data.services.snapshots import take_snapshot
from preference.data.storage import snapshots_root
from projects.models import Membership, Project, Role
from tests.preference.conftest import refused
from tests.preference.labelled import labelled_project, labelled_snapshot

Joins = Callable[..., User]
Row = dict[str, Any]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def quality(mara: User, eric: User) -> Project:
    """Final labels 2, 0, 1, 2, 0 in the splits train, train, train, valid, test."""
    project = labelled_project(mara)
    Membership.objects.create(project=project, user=eric, roles=[Role.ENGINEER])
    return project


def rows_of(snapshot: Snapshot) -> list[Row]:
    text = (snapshots_root() / snapshot.path / "dialogues.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_it_freezes_the_final_label_of_every_question(quality: Project, eric: User) -> None:
    snapshot = labelled_snapshot(quality, eric, name="May", seed=3)
    first, *others = rows_of(snapshot)
    assert [row["labels"]["quality"] for row in (first, *others)] == [2, 0, 1, 2, 0]
    assert {key: first[key] for key in ("id", "split", "language", "domain", "origin")} == {
        "id": "d0",
        "split": "train",
        "language": "en",
        "domain": "bank",
        "origin": "single",
    }
    assert first["dialogue"][0] == {"role": "user", "content": "My card 0 is lost"}
    assert (snapshot.schema_version, snapshot.is_labelled) == ("labelled/1", True)
    data = (snapshots_root() / snapshot.path / "dialogues.jsonl").read_bytes()
    assert (snapshot.bytes, snapshot.sha256) == (len(data), hashlib.sha256(data).hexdigest())


def test_judgements_are_under_pseudonyms_and_say_whether_they_were_imported(
    quality: Project, eric: User
) -> None:
    (judgement,) = rows_of(labelled_snapshot(quality, eric))[0]["judgements"]
    assert (judgement["imported"], judgement["labels"]["quality"]) == (True, 2)
    assert judgement["annotator"].startswith("p")
    assert "imported-" not in json.dumps(judgement)


def test_private_abandoned_and_unlabelled_dialogues_stay(mara: User) -> None:
    project = labelled_project(mara, [2, -1, "phone", None, 0])
    kept = preview_snapshot_of(project, Filters())
    assert (kept.leaving, kept.withheld, kept.unreviewed) == (2, 2, 1)
    assert [row["id"] for row in rows_of(labelled_snapshot(project, mara))] == ["d0", "d4"]


def test_the_card_counts_labels_by_question(quality: Project, eric: User) -> None:
    snapshot = labelled_snapshot(quality, eric)
    card = snapshot.card
    assert card["labels"]["quality"] == {"2": 2, "0": 2, "1": 1}
    assert [column["dialogues"] for column in card["splits"]] == [3, 1, 1, 5]
    assert card["origins"] == {"single": 5}
    assert card["domains"] == {"bank": 3, "shop": 2}
    assert card["gaps"] == {"imported_labels": 5, "one_judgement": 5}
    assert [one.code for one in shortages_on_card(card)] == ["few_labels"]
    text = (snapshots_root() / snapshot.path / "README.md").read_text(encoding="utf-8")
    assert "| quality | Dialogues |" in text
    assert "The labels of 5 dialogues were imported" in text
    assert "Only 3 dialogues of the split train have a label." in text


def test_later_labels_do_not_change_it(quality: Project, eric: User) -> None:
    snapshot = labelled_snapshot(quality, eric)
    FinalLabel.objects.update(answers={"dialogue": {"quality": 1}, "utterances": {}})
    assert [row["labels"]["quality"] for row in rows_of(snapshot)] == [2, 0, 1, 2, 0]


def test_a_project_without_final_labels_has_nothing_to_freeze(mara: User) -> None:
    project = labelled_project(mara, [None, None])
    with refused("nothing_to_take") as why:
        take_snapshot(snapshot_id=uuid4(), project=project, actor=mara)
    assert (
        why.value.message
        == "No dialogue in these splits has a final label yet, so there is nothing to freeze."
    )
    assert not Snapshot.objects.exists()


def test_only_withheld_labels_are_nothing_to_freeze(mara: User) -> None:
    project = labelled_project(mara, [-1, "phone"])
    with refused("nothing_to_take"):
        take_snapshot(snapshot_id=uuid4(), project=project, actor=mara)


def test_labels_that_were_withdrawn_meanwhile_fail_the_job(quality: Project, eric: User) -> None:
    waiting = take_snapshot(snapshot_id=uuid4(), project=quality, actor=eric)
    FinalLabel.objects.all().delete()
    job = run_job(job_id=waiting.job_id)
    assert job.state == JobState.FAILED
    assert "has a final label" in job.error
    assert not (snapshots_root() / str(waiting.pk)).exists()


def test_labels_of_batches_that_nobody_accepted_stay(quality: Project, mara: User) -> None:
    Batch.objects.create(project=quality, number=1, size=5)
    with refused("nothing_to_take"):
        take_snapshot(snapshot_id=uuid4(), project=quality, actor=mara)


def test_dialogues_without_a_final_label_cannot_be_asked_for(quality: Project, mara: User) -> None:
    with pytest.raises(Invalid) as why:
        take_snapshot(snapshot_id=uuid4(), project=quality, actor=mara, include_unreviewed=True)
    assert why.value.details["field"] == "include_unreviewed"


def test_the_same_id_again_is_the_same_snapshot(quality: Project, eric: User, mara: User) -> None:
    request = uuid4()
    first = take_snapshot(snapshot_id=request, project=quality, actor=eric, splits=[Split.TRAIN])
    assert take_snapshot(snapshot_id=request, project=quality, actor=eric, splits=[Split.TRAIN]) == first
    other = labelled_project(mara, slug="other")
    with refused("id_in_use"):
        take_snapshot(snapshot_id=request, project=other, actor=mara)


def test_exports_are_not_made_from_it(quality: Project, eric: User) -> None:
    snapshot = labelled_snapshot(quality, eric)
    with pytest.raises(Invalid):
        start_export(export_id=uuid4(), project=quality, actor=eric, format="diqad", snapshot=snapshot)


def test_what_it_lacks_is_known_before(quality: Project) -> None:
    found = expected_shortages(select(quality, Filters(splits=(Split.TRAIN,))))
    assert [one.text() for one in found] == [
        "Only 3 labelled dialogues are in the split “Train”; a useful assessor needs about 100."
    ]


def test_a_page_costs_four_queries_however_many_labels(
    mara: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    project = labelled_project(mara, [0, 1, 2] * 10)
    selection = select(project, Filters())
    (page,) = selection.pages()
    with django_assert_num_queries(4):  # final labels, submissions, utterances, imported annotators
        assert len(list(labelled.rows(selection, page))) == 30


def test_the_api_takes_it_and_shows_its_card(quality: Project, eric: User, joins: Joins) -> None:
    client = APIClient()
    client.force_authenticate(eric)
    url = f"/api/v1/projects/{quality.slug}/snapshots/"
    taken = client.post(url, {"id": str(uuid4()), "splits": ["train", "test"]}, format="json")
    assert taken.status_code == 202, taken.content
    run_job(job_id=Snapshot.objects.get().job_id)
    read = client.get(f"/api/v1/snapshots/{taken.json()['id']}/").json()
    assert read["card"]["labels"]["quality"] == {"2": 1, "0": 2, "1": 1}
    assert read["schema_version"] == "labelled/1"
    assert "candidates" not in read["card"]
    client.force_authenticate(joins("nora"))
    assert client.get(f"/api/v1/snapshots/{taken.json()['id']}/").status_code == 404
    assert client.post(url, {"id": str(uuid4())}, format="json").status_code in (403, 404)


def test_the_command_takes_and_copies_it(quality: Project, tmp_path: Path) -> None:
    out, err = StringIO(), StringIO()
    call_command("take_snapshot", "quality", "--output", str(tmp_path / "may"), stdout=out, stderr=err)
    assert "5 labelled dialogues" in err.getvalue()
    assert len((tmp_path / "may" / "dialogues.jsonl").read_text().splitlines()) == 5


def test_the_command_says_what_is_missing(mara: User) -> None:
    labelled_project(mara, [None])
    with pytest.raises(CommandError, match="has a final label yet"):
        call_command("take_snapshot", "quality", stderr=StringIO())
