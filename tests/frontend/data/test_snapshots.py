"""Taking a snapshot in pages, and reading its card."""

import re
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from annotation.project_setup.services import create_project
from dialogues.models import Dialogue, ReviewState, Split
from frontend.charts import snapshot as snapshot_charts
from frontend.pages.data.snapshots import command_for
from jobs.models import Job, JobState
from jobs.services import run_job
from preference.data.models.exports import Export
from preference.data.models.snapshots import Snapshot
from preference.data.selectors.selection import Filters
from preference.data.services.hub_tokens import set_hub_token
from projects.models import Project
from tests.frontend.data_pages import erics_browser, files_root, html, imported, spoken

__all__ = ["erics_browser", "files_root"]
Taken = Callable[..., Snapshot]


@pytest.fixture
def six(project: Project) -> None:
    """Six imported dialogues, all of the split train: two passed, one vetoed, three not judged."""
    imported(project, [spoken(str(number), "yes", split="train") for number in range(6)])
    first, second, third, *_rest = Dialogue.objects.order_by("id")
    Dialogue.objects.filter(pk__in=[first.pk, second.pk]).update(review_state=ReviewState.PASSED)
    Dialogue.objects.filter(pk=third.pk).update(review_state=ReviewState.VETOED)
    Dialogue.objects.update(split=Split.TRAIN)


@pytest.fixture
def take(erics_browser: Client, project: Project) -> Callable[..., Any]:
    """take(name="May", …) sends the form; the snapshot is not carried out."""

    def take(**fields: Any) -> Any:
        form = {"id": uuid4(), "splits": Split.values} | fields
        return erics_browser.post(reverse("snapshots", args=[project.slug]), form)

    return take


@pytest.fixture
def taken(six: None, take: Callable[..., Any]) -> Taken:
    """taken(name="May") is a finished snapshot."""

    def taken(**fields: Any) -> Snapshot:
        answer = take(**fields)
        snapshot = Snapshot.objects.latest("created_at")
        assert answer["Location"] == reverse("snapshot", args=["chit-chat", snapshot.pk])
        assert run_job(job_id=snapshot.job_id).state == JobState.DONE
        return Snapshot.objects.get(pk=snapshot.pk)

    return taken


def words(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def page_of(browser: Client, snapshot: Snapshot, query: str = "") -> str:
    return words(html(browser.get(reverse("snapshot", args=["chit-chat", snapshot.pk]) + query)))


def previewed(browser: Client, query: str) -> str:
    return words(html(browser.get(reverse("snapshots", args=["chit-chat"]) + f"?part=preview{query}")))


def test_the_preview_counts_what_would_be_frozen_and_names_shortages(
    six: None, erics_browser: Client
) -> None:
    preview = previewed(erics_browser, "&splits=train&splits=valid")
    assert "2 of 6 dialogues would be frozen" in preview
    assert "The split “Validation” is empty." in preview
    assert "No utterance was chosen among candidates" in preview
    assert "take_snapshot chit-chat" in preview
    every = previewed(erics_browser, "&splits=train&include_unreviewed=on&name=May")
    assert "5 of 6 dialogues would be frozen" in every
    assert "--include-unreviewed" in every
    assert "--name May" in every


def test_nothing_to_freeze_says_what_to_do(six: None, erics_browser: Client, take: Any) -> None:
    Dialogue.objects.update(review_state=ReviewState.UNREVIEWED)
    assert "There is nothing to freeze: no expert has passed a dialogue yet." in previewed(
        erics_browser, "&splits=train"
    )
    answer = take()
    assert answer.status_code in (302, 409)
    assert not Snapshot.objects.exists()


def test_an_empty_list_says_what_snapshots_are_for(erics_browser: Client) -> None:
    page = html(erics_browser.get(reverse("snapshots", args=["chit-chat"])))
    assert "Nothing was frozen yet" in page


def test_the_card_is_shown_with_hash_and_gaps(taken: Taken, erics_browser: Client) -> None:
    snapshot = taken(name="May <b>", include_unreviewed="on")
    page = page_of(erics_browser, snapshot)
    for text in (snapshot.sha256, "What is in it?", "3 dialogues were not judged by an expert.",
                 "No licence is stated.",
                 "Download", "quadruples", "Push to the Hub", "May &lt;b&gt;"):  # fmt: skip
        assert text in page, text
    assert "The split “Test” is empty." in page


def test_the_list_names_splits_in_words(taken: Taken, erics_browser: Client) -> None:
    taken(splits=["train", "test"])
    assert "Train, Test ·" in words(html(erics_browser.get(reverse("snapshots", args=["chit-chat"]))))


def test_the_most_frequent_comes_first(taken: Taken) -> None:
    """The database keeps no order of names."""
    taken()
    Snapshot.objects.update(card=Snapshot.objects.get().card | {"domains": {"pets": 2, "leisure": 9, "": 5}})
    tables = {
        table.name: table.rows for table in snapshot_charts.tabulate_contents(Snapshot.objects.get().card, {})
    }
    assert tables["domains"] == [["leisure", 9], ["not stated", 5], ["pets", 2]]


def test_its_files_are_downloaded(taken: Taken, erics_browser: Client) -> None:
    snapshot = taken()
    answer = erics_browser.get(reverse("snapshot_file", args=["chit-chat", snapshot.pk, "README.md"]))
    assert snapshot.sha256.encode() in b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    assert answer["Content-Type"].startswith("text/markdown")


def test_an_export_starts_from_it(taken: Taken, erics_browser: Client) -> None:
    snapshot = taken(name="May")
    address = reverse("exports", args=["chit-chat"])
    page = html(erics_browser.get(f"{address}?snapshot={snapshot.pk}&format=preference"))
    assert re.search(rf'<option value="{snapshot.pk}"\s+selected', page)
    assert re.search(r'value="preference"[^>]*checked', page)
    form = {
        "id": uuid4(),
        "format": "sft",
        "splits": ["train"],
        "snapshot": snapshot.pk,
        "file_type": "parquet",
    }
    assert erics_browser.post(address, form).status_code == 302
    export = Export.objects.get()
    assert (export.snapshot_id, export.file_type) == (snapshot.pk, "parquet")
    assert f"--snapshot {snapshot.pk}" in html(
        erics_browser.get(reverse("export", args=["chit-chat", export.pk]))
    )


def test_the_preview_of_an_export_counts_the_frozen_dialogues(taken: Taken, erics_browser: Client) -> None:
    snapshot = taken()
    Dialogue.objects.update(review_state=ReviewState.VETOED)
    address = reverse("exports", args=["chit-chat"])
    query = f"?part=preview&format=sft&splits=train&snapshot={snapshot.pk}"
    assert "2 of 2 dialogues would be exported" in words(html(erics_browser.get(address + query)))


def test_without_a_token_the_page_says_who_sets_one(taken: Taken, erics_browser: Client, mara: User) -> None:
    snapshot = taken()
    page = page_of(erics_browser, snapshot)
    assert "A manager of the project sets one in its settings" in page
    assert "Repository" not in page
    erics_browser.force_login(mara)
    page = html(erics_browser.get(reverse("snapshot", args=["chit-chat", snapshot.pk])))
    assert reverse("hub_token", args=["chit-chat"]) in page


def test_a_push_is_a_job(taken: Taken, erics_browser: Client, mara: User) -> None:
    snapshot = taken()
    set_hub_token(project=snapshot.project, actor=mara, token="hf_some_secret")
    assert "It is pushed with the project's Hub token." in page_of(erics_browser, snapshot)
    address = reverse("snapshot_push", args=["chit-chat", snapshot.pk])
    assert (
        erics_browser.post(address, {"id": uuid4(), "repo_id": "us/may", "private": "on"}).status_code == 302
    )
    assert Job.objects.get(kind="push").parameters["private"] is True
    assert "us/may" in page_of(erics_browser, snapshot)


def test_removed_files_leave_the_card(taken: Taken, erics_browser: Client) -> None:
    snapshot = taken()
    erics_browser.post(reverse("snapshot_remove", args=["chit-chat", snapshot.pk]))
    page = page_of(erics_browser, snapshot)
    assert "The files were removed. The card says what was in them." in page
    assert "What is in it?" in page
    assert "Push to the Hub" not in page


def test_while_it_waits_it_can_be_stopped_and_started_again(
    six: None, take: Any, erics_browser: Client
) -> None:
    take()
    snapshot = Snapshot.objects.get()
    assert "Waiting" in page_of(erics_browser, snapshot, "?part=live")
    erics_browser.post(reverse("snapshot_cancel", args=["chit-chat", snapshot.pk]))
    assert "Stopped. Nothing was kept of it." in page_of(erics_browser, snapshot)
    erics_browser.post(reverse("snapshot_retry", args=["chit-chat", snapshot.pk]))
    assert Job.objects.get(pk=snapshot.job_id).state == JobState.QUEUED


def test_pages_cost_the_same_however_many_snapshots_there_are(
    taken: Taken, erics_browser: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    snapshots = [taken() for _number in range(5)]
    with django_assert_max_num_queries(20):
        page = html(erics_browser.get(reverse("snapshots", args=["chit-chat"])))
    assert page.count("job-title") == 5
    with django_assert_max_num_queries(18):
        page_of(erics_browser, snapshots[0])


def test_the_command_is_the_same_snapshot() -> None:
    assert command_for("chit-chat", "Our data", Filters(("train",), True), 3) == (
        "python manage.py take_snapshot chit-chat \\\n  --name 'Our data' \\\n  --splits train \\\n"
        "  --include-unreviewed \\\n  --seed 3"
    )


def test_another_role_and_another_project_are_refused(
    taken: Taken, client: Client, erics_browser: Client, project: Project, ann: User, eric: User
) -> None:
    snapshot = taken()
    create_project(slug="other", preset="diamante", actor=eric, title="Other")
    assert erics_browser.get(reverse("snapshot", args=["other", snapshot.pk])).status_code == 404
    client.force_login(ann)
    assert client.get(reverse("snapshots", args=[project.slug])).status_code == 403
    assert client.get(reverse("snapshot", args=[project.slug, snapshot.pk])).status_code == 403
