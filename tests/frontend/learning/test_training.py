"""The pages of trainings: what may be asked, what it will take, how it goes, stopping and going on."""

import json
import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import User
from annotation.project_setup.services import create_project
from generation.models import BackendKind, Generator
from jobs.models import Job, JobState, Worker
from preference.data.models.snapshots import Snapshot
from preference.runs.models import TrainingRun
from preference.runs.services.trainings import remove_run_files
from preference.training.joint.memory.machine import GPU, Machine
from projects.models import Project, Role
from tests.conftest import Joins
from tests.frontend.data_pages import erics_browser, files_root, html
from tests.frontend.trained import learns
from tests.preference.learning import run_of, snapshot_of, trained_model, training

__all__ = ["erics_browser", "files_root"]
NEW = "/p/chit-chat/trainings/new/"
LLAMA_8B = {
    "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
    "num_hidden_layers": 32, "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": False,
}  # fmt: skip


@pytest.fixture(autouse=True)
def models_root(settings: Settings, files_root: Path) -> None:
    settings.MODELS_ROOT = files_root / "models"


@pytest.fixture(autouse=True)
def local(project: Project) -> Generator:
    """The project's candidates come from a local model."""
    generator = Generator.objects.create(
        slug="plato", backend=BackendKind.HF, options={"model": "/models/plato"}
    )
    project.authoring.generator = generator
    project.authoring.save()
    return generator


@pytest.fixture
def snapshot(project: Project) -> Snapshot:
    snapshot = snapshot_of(project)
    snapshot.card["splits"] = [
        {"split": "train", "dialogues": 9, "replies": 36},
        {"split": "test", "dialogues": 3, "replies": 12},
    ]
    snapshot.save()
    return snapshot


def text_of(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html(response)))


def form(snapshot: Snapshot, **changes: Any) -> dict[str, Any]:
    sent = {"id": uuid4(), "snapshot": snapshot.pk, "model": "/models/plato", "recipe": "quick", "seed": 1}
    return sent | changes


def page_of(browser: Client, run: TrainingRun, query: str = "") -> str:
    return text_of(browser.get(reverse("training_run", args=["chit-chat", run.pk]) + query))


# ---- what is asked ---------------------------------------------------------------------------------------------------


def test_without_a_snapshot_the_page_leads_to_one(erics_browser: Client, project: Project) -> None:
    for path in ("/p/chit-chat/trainings/", NEW):
        assert "Take a snapshot first" in text_of(erics_browser.get(path))


def test_a_training_is_started_with_what_was_asked(erics_browser: Client, snapshot: Snapshot) -> None:
    sent = form(
        snapshot,
        batch="8",
        similar="0",
        recompute="yes",
        lora_alpha="16",
        is_lora="on",
        seed="7",
        processes="2",
    )
    answer = erics_browser.post(NEW, sent)
    run = TrainingRun.objects.get()
    assert answer.headers["Location"] == reverse("training_run", args=["chit-chat", run.pk])
    assert run.changes == {"batch": 8, "similar": None, "recompute": True, "lora_alpha": 16}
    assert (run.recipe, run.is_lora, run.seed, run.processes, run.base, run.snapshot) == (
        "quick",
        True,
        7,
        2,
        "/models/plato",
        snapshot,
    )


def test_settings_of_lora_count_only_with_it(erics_browser: Client, snapshot: Snapshot) -> None:
    erics_browser.post(NEW, form(snapshot, lora_rank="4", warmup="5"))
    assert TrainingRun.objects.get().changes == {"warmup": 5}


def test_a_form_that_is_sent_twice_trains_once(erics_browser: Client, snapshot: Snapshot) -> None:
    sent = form(snapshot)
    assert (
        erics_browser.post(NEW, sent).headers["Location"] == erics_browser.post(NEW, sent).headers["Location"]
    )
    assert TrainingRun.objects.count() == 1


def test_a_setting_that_cannot_be_is_named_and_kept(erics_browser: Client, snapshot: Snapshot) -> None:
    answer = erics_browser.post(NEW, form(snapshot, beta1="2", batch="0"))
    assert answer.status_code == 422
    assert 'value="2"' in html(answer)
    assert not TrainingRun.objects.exists()
    assert "greater than or equal to 1" in text_of(answer)
    answer = erics_browser.post(NEW, form(snapshot, beta1="2"))
    assert (answer.status_code, "beta1 is 2.0" in text_of(answer)) == (400, True)


def test_only_an_administrator_names_any_model(erics_browser: Client, snapshot: Snapshot, eric: User) -> None:
    assert erics_browser.post(NEW, form(snapshot, other="/etc")).status_code == 302
    assert TrainingRun.objects.get().base == "/models/plato"
    User.objects.filter(pk=eric.pk).update(is_superuser=True)
    erics_browser.post(NEW, form(snapshot, other="someone/model"))
    assert TrainingRun.objects.filter(base="someone/model").exists()


def test_a_link_chooses_snapshot_and_model(
    erics_browser: Client, project: Project, snapshot: Snapshot
) -> None:
    older = snapshot
    snapshot_of(project)
    model = trained_model(project, None, older)
    page = html(erics_browser.get(f"{NEW}?snapshot={older.pk}&model={model.slug}"))
    assert f'<option value="{older.pk}" selected>' in page
    assert f'<option value="{model.slug}" selected>' in page
    assert erics_browser.get(f"{NEW}?snapshot=nonsense&model=nothing").status_code == 200


def test_the_forecast_shows_what_a_training_takes(
    erics_browser: Client, project: Project, snapshot: Snapshot
) -> None:
    query = (
        f"{NEW}?part=forecast&snapshot={snapshot.pk}&model=/models/plato&recipe=quick&seed=1&batch=9&epochs=3"
    )
    text = text_of(erics_browser.get(query))
    assert "9 dialogues , 36 turns with candidates" in text.replace("dialogues,", "dialogues ,")
    assert "3 dialogues of the split “Test”" in text
    assert "12 steps" in text
    assert "not known yet" in text
    learns(training(project, None, snapshot))
    assert "about 8 s at the speed of training 1" in text_of(erics_browser.get(query))


def test_the_forecast_shows_the_memory_or_why_it_is_not_known(
    erics_browser: Client,
    snapshot: Snapshot,
    local: Generator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = f"{NEW}?part=forecast&snapshot={snapshot.pk}&recipe=quick&seed=1&model="
    assert "The config.json of /models/plato cannot be read here." in text_of(
        erics_browser.get(f"{query}/models/plato")
    )
    (tmp_path / "config.json").write_text(json.dumps(LLAMA_8B))
    local.options = {"model": str(tmp_path)}
    local.save()
    machine = Machine(2**36, (GPU("H100", 80 * 2**30),) * 2)
    monkeypatch.setattr("preference.training.joint.memory.assessment.this_machine", lambda: machine)
    text = text_of(erics_browser.get(f"{query}{tmp_path}"))
    assert re.search(r"about [\d.]+ GB of each of 2 GPUs", text)
    assert "Moments of Adam" in text
    assert "only 80.0 GB for each process" in text
    small = "&is_lora=on&recompute=yes&frozen_weights=bf16&token_budget=8192&processes=1"
    text = text_of(erics_browser.get(f"{query}{tmp_path}{small}"))
    assert re.search(r"about 2\d\.\d GB of 1 GPU", text)
    assert "would probably run out of memory" not in text
    assert "This server has 2 GPUs, fewer than processes." in text_of(
        erics_browser.get(f"{query}{tmp_path}{small}&processes=3")
    )


def test_the_forecast_warns_of_a_training_that_hardly_learns(
    erics_browser: Client, snapshot: Snapshot
) -> None:
    query = f"{NEW}?part=forecast&snapshot={snapshot.pk}&model=/models/plato&seed=1&recipe="
    assert "end within its warm-up of 500 steps" in text_of(erics_browser.get(query + "diamante"))
    Snapshot.objects.update(card={"splits": [{"split": "train", "dialogues": 3, "replies": 0}]})
    text = text_of(erics_browser.get(query + "quick"))
    assert "Nothing can be learned from this snapshot" in text
    assert "has no held-out dialogues" in text


def test_a_missing_worker_is_named(erics_browser: Client, project: Project, snapshot: Snapshot) -> None:
    run = training(project, None, snapshot)
    assert "No worker of the queue “training” is running" in text_of(erics_browser.get(NEW))
    assert "No worker of the queue “training” is running" in page_of(erics_browser, run)
    assert "No worker of the queue “training” is running" in text_of(erics_browser.get("/p/chit-chat/jobs/"))
    Worker.objects.create(name="trainer", queues=["training"])
    assert "No worker of the queue" not in text_of(erics_browser.get(NEW)) + page_of(erics_browser, run)
    assert "No worker of the queue" not in text_of(erics_browser.get("/p/chit-chat/jobs/"))


# ---- how it goes -----------------------------------------------------------------------------------------------------


def test_a_running_training_shows_loss_time_left_and_layout(
    erics_browser: Client, project: Project, snapshot: Snapshot
) -> None:
    run = learns(training(project, None, snapshot), made=60, state=JobState.RUNNING)
    text = page_of(erics_browser, run, "?part=live")
    assert "time left, about 2 min" in text
    assert "60 / 120 steps" in text
    assert "Dialogue trees" in text
    assert "encoded apart" in text
    assert "3780 quadruples an epoch" in text
    assert "means of up to 2 steps" in text
    assert 'hx-trigger="every 2s"' in html(
        erics_browser.get(reverse("training_run", args=["chit-chat", run.pk]))
    )


def test_when_it_has_ended_the_page_is_reloaded(
    erics_browser: Client, project: Project, snapshot: Snapshot
) -> None:
    model = trained_model(project, None, snapshot)
    learns(run_of(model))
    address = reverse("training_run", args=["chit-chat", run_of(model).pk])
    assert erics_browser.get(f"{address}?part=live").headers["HX-Refresh"] == "true"
    assert f"Model {model.slug} is ready." in text_of(erics_browser.get(address))


def test_the_curve_is_downloaded_step_by_step(
    erics_browser: Client, project: Project, snapshot: Snapshot
) -> None:
    run = learns(training(project, None, snapshot))
    table = erics_browser.get(reverse("training_download", args=["chit-chat", run.pk, "loss", "csv"]))
    lines = html(table).splitlines()
    assert (len(lines), lines[0]) == (
        121,
        "\ufeffstep,epoch,loss,NLL of the human reply,ranking,learning rate,seconds",
    )
    drawing = erics_browser.get(reverse("training_download", args=["chit-chat", run.pk, "loss", "svg"]))
    assert html(drawing).startswith("<svg xmlns=")
    log = erics_browser.get(reverse("training_log", args=["chit-chat", run.pk]))
    assert b"3780 quadruples" in b"".join(log.streaming_content)  # type: ignore[attr-defined]


def test_training_and_validation_are_on_one_plot(
    erics_browser: Client, project: Project, snapshot: Snapshot
) -> None:
    run = learns(training(project, None, snapshot), validate_every=20)
    address = reverse("training_run", args=["chit-chat", run.pk])
    page = html(erics_browser.get(address))
    plot = page[page.index('id="loss"') : page.index('id="ranking"')]
    assert '<li class="c4">loss on held-out turns</li>' in plot
    # Six validations, each a dot, and one line through them, in the wide and in the narrow plot.
    assert plot.count('class="curve c4"') == 2
    assert plot.count('class="mark c4"') == 2 * 6
    table = erics_browser.get(reverse("training_download", args=["chit-chat", run.pk, "loss", "csv"]))
    rows = html(table).splitlines()
    assert rows[0].split(",")[5] == "loss on held-out turns"
    assert [row.split(",")[5] for row in rows[19:22]] == ["", "3.8302", ""]
    ranking = erics_browser.get(reverse("training_download", args=["chit-chat", run.pk, "ranking", "csv"]))
    head, first, *_more = html(ranking).splitlines()
    assert head.endswith("P@1 on held-out turns,pairs in the right order")
    assert first.startswith("20,1,3.8302,3.1961,0.6341,")


def test_a_training_that_is_not_validated_has_no_second_plot(
    erics_browser: Client, project: Project, snapshot: Snapshot
) -> None:
    run = learns(training(project, None, snapshot))
    page = html(erics_browser.get(reverse("training_run", args=["chit-chat", run.pk])))
    assert 'id="ranking"' not in page
    assert 'class="curve c4"' not in page


def test_settings_of_validation_are_asked_and_said(
    erics_browser: Client, project: Project, snapshot: Snapshot
) -> None:
    erics_browser.post(NEW, form(snapshot, validate_every="0", patience="3", best_by="p_at_1"))
    run = TrainingRun.objects.get()
    assert run.changes == {"validate_every": 0, "patience": 3, "best_by": "p_at_1"}
    text = page_of(erics_browser, run)
    assert "Weights to keep, if validated: of the highest P@1 on held-out turns" in text
    answer = erics_browser.post(NEW, form(snapshot, patience="3"))
    assert "patience is 3, but the run is never validated." in text_of(answer)


def test_the_page_says_which_step_the_model_is_of(
    erics_browser: Client, project: Project, snapshot: Snapshot
) -> None:
    model = trained_model(project, None, snapshot)
    model.config |= {"step": 80, "last_step": 110, "validation": {"best_step": 80, "stopped_early": True}}
    model.save()
    assert "Weights of step 80 / 110 · stopped early" in page_of(erics_browser, run_of(model))


def test_a_stopped_training_is_resumed(erics_browser: Client, project: Project, snapshot: Snapshot) -> None:
    run = training(project, None, snapshot)
    erics_browser.post(reverse("training_cancel", args=["chit-chat", run.pk]))
    assert Job.objects.get(pk=run.pk).state == JobState.CANCELLED
    assert "Resume from the last checkpoint" in page_of(erics_browser, run)
    erics_browser.post(reverse("training_resume", args=["chit-chat", run.pk]))
    assert Job.objects.get(pk=run.pk).state == JobState.QUEUED


def test_a_failed_training_shows_its_reason_and_remedy(
    erics_browser: Client, project: Project, snapshot: Snapshot
) -> None:
    run = learns(training(project, None, snapshot), made=4, state=JobState.FAILED)
    Job.objects.filter(pk=run.pk).update(
        error="The loss is no longer a number.", remedy="Use a smaller peak_lr."
    )
    text = page_of(erics_browser, run)
    assert "The loss is no longer a number." in text
    assert "Use a smaller peak_lr." in text
    assert "The loss is no longer a number." in text_of(erics_browser.get("/p/chit-chat/trainings/"))


def test_a_removed_training_keeps_its_facts(
    erics_browser: Client, project: Project, eric: User, snapshot: Snapshot
) -> None:
    run = learns(training(project, None, snapshot), made=4, state=JobState.FAILED)
    erics_browser.post(reverse("training_remove", args=["chit-chat", run.pk]))
    text = page_of(erics_browser, run)
    assert "The files of this training were removed." in text
    assert "No step was completed." not in text
    assert "First snapshot" in text
    remove_run_files(run=run, actor=eric)


# ---- who and how much ------------------------------------------------------------------------------------------------


def test_only_members_who_may_train_see_it(
    client: Client, joins: Joins, project: Project, snapshot: Snapshot, ann: User
) -> None:
    run = training(project, None, snapshot)
    paths = ["/p/chit-chat/trainings/", NEW, reverse("training_run", args=["chit-chat", run.pk])]
    for person, status in (
        (ann, (403, 404)),
        (joins("tina", project, Role.TRAINER), (403, 404)),
        (joins("x"), (404,)),
    ):
        client.force_login(person)
        assert {client.get(path).status_code for path in paths} <= set(status)
        assert "trainings/" not in html(client.get("/p/chit-chat/"))


def test_another_projects_address_does_not_open_it(
    erics_browser: Client, joins: Joins, project: Project, snapshot: Snapshot, eric: User
) -> None:
    run = training(project, None, snapshot)
    create_project(slug="other", preset="diamante", actor=None)
    joins("eric", Project.objects.get(slug="other"), Role.ENGINEER)
    assert erics_browser.get(reverse("training_run", args=["other", run.pk])).status_code == 404


def test_a_study_says_that_nothing_can_be_trained(erics_browser: Client, joins: Joins) -> None:
    joins("eric", create_project(slug="study", preset="live-assessment", actor=None), Role.ENGINEER)
    answer = erics_browser.get("/p/study/trainings/")
    assert (answer.status_code, "nobody writes with candidates" in text_of(answer)) == (409, True)
    assert "/trainings/" not in html(erics_browser.get("/p/study/"))


def test_the_list_costs_the_same_however_long_it_is(
    erics_browser: Client,
    project: Project,
    snapshot: Snapshot,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for _number in range(12):
        learns(training(project, None, snapshot))
    with django_assert_max_num_queries(14):
        erics_browser.get("/p/chit-chat/trainings/")
