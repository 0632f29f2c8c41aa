"""Taking a snapshot of final labels in pages, and reading its card."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from dialogues.models import Split
from jobs.services import run_job
from preference.data.models.snapshots import Snapshot
from projects.models import Membership, Project, Role
from tests.frontend.data_pages import erics_browser, files_root, html
from tests.preference.labelled import labelled_project

__all__ = ["erics_browser", "files_root"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def quality(mara: User, eric: User) -> Project:
    """Five dialogues with final labels."""
    project = labelled_project(mara)
    Membership.objects.create(project=project, user=eric, roles=[Role.ENGINEER])
    return project


def words(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def taken(browser: Client) -> Any:
    answer = browser.post(reverse("snapshots", args=["quality"]), {"id": uuid4(), "splits": Split.values})
    snapshot = Snapshot.objects.get()
    assert answer["Location"] == reverse("snapshot", args=["quality", snapshot.pk])
    run_job(job_id=snapshot.job_id)
    return html(browser.get(answer["Location"]))


def test_the_list_offers_final_labels_only(quality: Project, erics_browser: Client) -> None:
    page = html(erics_browser.get(reverse("snapshots", args=["quality"])))
    assert "5 of 5 dialogues would be frozen" in words(page)
    assert "include_unreviewed" not in page
    assert "Frozen labels with a card and a hash" in page


def test_the_page_shows_labels_by_question(quality: Project, erics_browser: Client) -> None:
    page = words(taken(erics_browser))
    assert "Which labels does “Rate the quality of the dialogue” have?" in page
    assert "How did the final labels come about?" in page
    assert "One person 5" in page
    assert "The labels of 5 dialogues were imported" in page
    assert "only final labels" in page
    assert "Export from this snapshot" not in page
    listed = words(html(erics_browser.get(reverse("snapshots", args=["quality"]))))
    assert "5 dialogues" in listed
    assert "turns to learn from" not in listed


def test_without_final_labels_the_page_says_so(mara: User, eric: User, erics_browser: Client) -> None:
    project = labelled_project(mara, [None])
    Membership.objects.create(project=project, user=eric, roles=[Role.ENGINEER])
    page = words(html(erics_browser.get(reverse("snapshots", args=["quality"]))))
    assert "no dialogue has a final label yet" in page


def test_annotators_do_not_see_it(quality: Project, client: Client, ann: User) -> None:
    Membership.objects.create(project=quality, user=ann, roles=[Role.ANNOTATOR])
    client.force_login(ann)
    assert client.get(reverse("snapshots", args=["quality"])).status_code == 403
