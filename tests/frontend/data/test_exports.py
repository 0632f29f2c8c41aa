"""Choosing an export, following it, downloading its file."""

import hashlib
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
from frontend.pages.data.exports import ExportOptions, command_for
from jobs.models import Job, JobState
from jobs.services import run_job
from preference.data.models.exports import Export
from preference.data.selectors.formats import formats_of_protocol
from preference.data.selectors.random_replies import DrawSettings
from preference.data.selectors.selection import Filters
from preference.data.services.exports import start_export
from projects.models import Project
from tests.frontend.data_pages import erics_browser, files_root, html, imported, spoken

__all__ = ["erics_browser", "files_root"]
Start = Callable[..., Any]


@pytest.fixture
def six(project: Project) -> None:
    """Six imported dialogues, all of the split train: two passed, one vetoed, three not judged."""
    imported(project, [spoken(str(number), "yes", split="train") for number in range(6)])
    first, second, third, *_rest = Dialogue.objects.order_by("id")
    Dialogue.objects.filter(pk__in=[first.pk, second.pk]).update(review_state=ReviewState.PASSED)
    Dialogue.objects.filter(pk=third.pk).update(review_state=ReviewState.VETOED)


@pytest.fixture
def start(erics_browser: Client, project: Project) -> Start:
    """start(format="sft", …) sends the form; the export is not carried out."""

    def start(**fields: Any) -> Any:
        form = {"id": uuid4(), "format": "sft", "splits": Split.values} | fields
        return erics_browser.post(reverse("exports", args=[project.slug]), form)

    return start


def page_of(browser: Client, export: Export, query: str = "") -> str:
    return html(browser.get(reverse("export", args=["chit-chat", export.pk]) + query))


def previewed(browser: Client, query: str = "") -> str:
    page = html(browser.get(reverse("exports", args=["chit-chat"]) + f"?part=preview{query}"))
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_the_preview_counts_what_leaves_and_why_the_rest_stays(erics_browser: Client, six: None) -> None:
    splits = "&splits=train&splits=valid&splits=test"
    preview = previewed(erics_browser, splits)
    assert "2 of 6 dialogues would be exported" in preview
    assert "No expert has judged them 3" in preview
    assert "An expert vetoed them 1" in preview
    assert "5 of 6 dialogues would be exported" in previewed(erics_browser, splits + "&include_unreviewed=on")
    preview = previewed(erics_browser, "&splits=test")
    assert "0 of 6" in preview
    assert "In another split 2" in preview
    assert "all dialogues that could be exported are in other splits" in preview
    Dialogue.objects.filter(review_state=ReviewState.PASSED).delete()
    assert "no expert has passed a dialogue yet" in previewed(erics_browser, splits)


def test_the_first_page_already_knows(erics_browser: Client, project: Project, six: None) -> None:
    page = html(erics_browser.get(reverse("exports", args=[project.slug])))
    assert "<strong>2</strong>" in page
    assert "export_dataset chit-chat" in page
    for shape in formats_of_protocol(project.protocol):
        assert f'value="{shape}"' in page


def test_an_empty_project_says_that_the_file_would_be_empty(erics_browser: Client, project: Project) -> None:
    assert "this project has no dialogues" in previewed(erics_browser, "&splits=train")


def test_an_export_is_started_followed_and_downloaded(start: Start, erics_browser: Client, six: None) -> None:
    answer = start()
    export = Export.objects.get()
    assert (answer.status_code, answer.url) == (302, reverse("export", args=["chit-chat", export.pk]))
    assert 'hx-trigger="every 1s"' in page_of(erics_browser, export)
    run_job(job_id=export.job_id)
    export.refresh_from_db()
    page = page_of(erics_browser, export)
    assert export.manifest["sha256"] in page
    assert "2 rows" in page
    answer = erics_browser.get(reverse("export_file", args=["chit-chat", export.pk]))
    data = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    assert hashlib.sha256(data).hexdigest() == export.manifest["sha256"]
    manifest = erics_browser.get(reverse("export_manifest", args=["chit-chat", export.pk])).json()
    assert manifest == export.manifest
    assert next(iter(manifest)) == "format"


def test_the_page_is_reloaded_when_the_export_has_ended(
    start: Start, erics_browser: Client, six: None
) -> None:
    start()
    export = Export.objects.get()
    address = reverse("export", args=["chit-chat", export.pk]) + "?part=live"
    assert "HX-Refresh" not in erics_browser.get(address)
    run_job(job_id=export.job_id)
    assert erics_browser.get(address)["HX-Refresh"] == "true"


def test_the_same_form_twice_is_one_export(start: Start) -> None:
    submission = uuid4()
    for _twice in range(2):
        start(id=submission)
    assert Export.objects.get().pk == submission


@pytest.mark.parametrize("fields", [{"splits": []}, {"format": "word"}, {"splits": ["dev"]}])
def test_an_invalid_choice_is_reported_beside_its_field(start: Start, fields: dict[str, Any]) -> None:
    answer = start(**fields)
    assert (answer.status_code, Export.objects.count()) == (400, 0)
    assert "errorlist" in html(answer)


def test_an_export_is_stopped_and_started_again(start: Start, erics_browser: Client, six: None) -> None:
    start()
    export = Export.objects.select_related("job").get()
    erics_browser.post(reverse("export_cancel", args=["chit-chat", export.pk]))
    assert "Nothing was kept of the file" in page_of(erics_browser, export)
    erics_browser.post(reverse("export_retry", args=["chit-chat", export.pk]))
    assert run_job(job_id=export.job_id).state == JobState.DONE


def test_a_failed_export_says_why_and_what_to_do(start: Start, erics_browser: Client) -> None:
    start()
    export = Export.objects.get()
    Job.objects.update(state=JobState.FAILED, error="The disk is full.", remedy="Free some.")
    page = page_of(erics_browser, export)
    assert ("The disk is full." in page, "Free some." in page, "Start again" in page) == (True, True, True)
    assert "The disk is full." in html(erics_browser.get(reverse("exports", args=["chit-chat"])))


def test_a_file_is_removed_and_its_manifest_stays(start: Start, erics_browser: Client, six: None) -> None:
    start()
    export = Export.objects.get()
    run_job(job_id=export.job_id)
    erics_browser.post(reverse("export_remove", args=["chit-chat", export.pk]))
    page = page_of(erics_browser, export)
    assert "The file was removed." in page
    assert "sha256" in page
    answer = erics_browser.get(reverse("export_file", args=["chit-chat", export.pk]))
    assert answer.status_code == 410
    assert "Start the export again" in html(answer)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_pages_open_in_both_languages(
    start: Start, erics_browser: Client, project: Project, six: None, language: str
) -> None:
    User.objects.update(language=language)
    start()
    export = Export.objects.get()
    run_job(job_id=export.job_id)
    lang = f'<html lang="{"zh-Hans" if language == "zh-hans" else "en"}"'
    assert lang in page_of(erics_browser, export)
    assert lang in html(erics_browser.get(reverse("exports", args=[project.slug])))


def test_the_list_costs_the_same_however_long_it_is(
    start: Start,
    erics_browser: Client,
    project: Project,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for _number in range(8):
        start()
    with django_assert_max_num_queries(20):
        page = html(erics_browser.get(reverse("exports", args=[project.slug])))
    assert page.count("job-title") == 8


def test_the_command_is_the_same_export() -> None:
    assert command_for("chit-chat", ExportOptions("sft", Filters(("train", "test"), True, True))) == (
        "python manage.py export_dataset chit-chat \\\n  --format sft \\\n  --split train \\\n  --split test \\\n"
        "  --include-unreviewed \\\n  --output chit-chat-sft.jsonl"
    )
    assert "--split" not in command_for("chit-chat", ExportOptions("sft", Filters()))
    assert "--include-withheld" in command_for(
        "quality", ExportOptions("diqad", Filters(include_withheld=True))
    )
    assert command_for(
        "chit-chat", ExportOptions("kto", Filters(), "parquet", None, DrawSettings(7, 2, False))
    ) == (
        "python manage.py export_dataset chit-chat \\\n  --format kto \\\n  --file-type parquet \\\n  --seed 7 \\\n"
        "  --epoch 2 \\\n  --no-random \\\n  --output chit-chat-kto.parquet"
    )


def test_a_refused_export_names_the_roles_that_may(client: Client, project: Project, carlos: User) -> None:
    client.force_login(carlos)
    for name in ("exports", "export", "export_file"):
        arguments = [project.slug] if name == "exports" else [project.slug, uuid4()]
        answer = client.get(reverse(name, args=arguments))
        assert answer.status_code == 403
        assert "ML engineer" in html(answer)


def test_an_export_of_another_project_is_not_there(start: Start, erics_browser: Client, eric: User) -> None:
    start()
    Project.objects.create(slug="other", title="Other", protocol="authoring")
    Export.objects.update(project=Project.objects.get(slug="other"))
    export = Export.objects.get()
    for name in ("export", "export_file", "export_manifest"):
        assert erics_browser.get(reverse(name, args=["chit-chat", export.pk])).status_code == 404


def test_a_labelling_project_offers_what_diqad_keeps_back(client: Client, mara: User) -> None:
    create_project(slug="quality", preset="diqad", actor=mara)
    client.force_login(mara)
    address = reverse("exports", args=["quality"])
    assert 'name="include_withheld"' in html(client.get(address))
    query = "?part=preview&format=diqad&splits=train&include_withheld=on"
    assert "--include-withheld" in html(client.get(address + query))


@pytest.mark.parametrize(
    ("unreviewed", "rule"),
    [(False, "only final labels; of batches, only accepted ones"), (True, "also without a final label")],
)
def test_an_export_of_labels_says_by_which_rule_dialogues_are_in_it(
    client: Client, mara: User, unreviewed: bool, rule: str
) -> None:
    quality = create_project(slug="quality", preset="diqad", actor=mara)
    export = start_export(
        export_id=uuid4(), project=quality, actor=mara, format="diqad", include_unreviewed=unreviewed
    )
    client.force_login(mara)
    page = html(client.get(reverse("export", args=["quality", export.pk])))
    assert rule in page
    assert "expert" not in page
