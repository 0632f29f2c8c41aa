"""From a snapshot to the model that writes an annotator's next candidates and back, with the real trainer and worker;
and the pages of that, as people see them."""

import shutil
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import FloatRect, Locator, Page, expect
from pytest_django import Settings

from accounts.models import User
from annotation.tasks.models.work import Assignment
from dialogues.models import CandidateSet
from jobs.models import Job, JobState, Worker
from preference.data.models.snapshots import Snapshot
from preference.registry.models import RegisteredModel
from preference.runs.models import TrainingRun
from projects.models import Project
from tests.browser.bench import Bench
from tests.browser.conftest import SignedIn
from tests.frontend.data_pages import imported
from tests.frontend.trained import evaluated, learns
from tests.preference.learning import dialogue, run_of, snapshot_of, trained_model, training
from tests.processes import Running, Stack
from tests.sizes import LOOKS

STILL_LOADING = "is still loading the model"
LOADS_MS = 600_000  # torch, on a machine that also does other work


@pytest.fixture
def trainer(stack: Stack, worker: Running) -> Iterator[Running]:
    """A worker of the queue `training`."""
    worker = stack.worker("training", "training")
    Worker.objects.update_or_create(name="trainer until its next beat", defaults={"queues": ["training"]})
    yield worker
    worker.kill()


@pytest.fixture
def shipped(project: Project) -> Project:
    """The project's candidates come from the shipped model; twelve dialogues were written, three are held out."""
    project.authoring.generator = None
    project.authoring.save()
    imported(project, [dialogue(number, "test" if number % 4 == 0 else "train") for number in range(12)])
    return project


@pytest.mark.slow
def test_snapshot_train_promote_write_and_roll_back(
    shipped: Project,
    eric: User,
    ann: User,
    anns_assignment: Assignment,
    signs_in: SignedIn,
    trainer: Running,
) -> None:
    """A real model may have fewer than 7 candidates that differ enough; fewer are shown then."""
    page, writing = signs_in(eric), signs_in(ann)
    page.goto(f"/p/{shipped.slug}/trainings/")
    page.keyboard.press("s")
    page.check("[name=include_unreviewed]")
    page.keyboard.press("Control+Enter")
    page.get_by_role("link", name="Train on it").click()
    page.select_option("[name=model]", label="the demo model")
    page.locator(".recipe-settings > summary").click()
    for name, value in {"epochs": "1", "batch": "6", "warmup": "2"}.items():
        page.fill(f"[name={name}]", value)
    page.locator("[name=warmup]").press("Tab")
    expect(page.locator("#forecast")).to_contain_text("6 steps")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Training 1")).to_be_visible()

    bench = Bench.open(writing, anns_assignment)
    bench.type("My cat sheds all over the sofa.").submit().stored(1)
    expect(bench.places.first).to_be_visible(timeout=LOADS_MS)
    before = newest(anns_assignment).model_version

    expect(page.locator("#loss svg.wide .curve").first).to_be_visible(timeout=LOADS_MS)
    expect(page.get_by_text("is ready.")).to_be_visible(timeout=LOADS_MS)
    assert Job.objects.get(kind="training").state == JobState.DONE
    page.get_by_role("link", name="Open the model").click()
    page.fill("[name=reason]", "Learned from our own words.")
    model = RegisteredModel.objects.get()
    promoted = page.get_by_text("The next candidates come from")
    for _attempt in range(5):
        page.get_by_role("button", name="Use this model").click()
        expect(promoted.or_(page.get_by_text(STILL_LOADING))).to_be_visible()
        if promoted.is_visible():
            break
    expect(page.get_by_text(f"The next candidates come from {model.slug}.")).to_be_visible()
    bench.type("I vacuum every day.").submit().stored(2)
    expect(bench.places.first).to_be_visible(timeout=LOADS_MS)
    assert newest(anns_assignment).model_version == model.version != before

    page.get_by_role("link", name="Models", exact=True).first.click()
    page.wait_for_url("**/models/")
    page.keyboard.press("z")
    expect(page.get_by_text("Rolled back.")).to_be_visible()
    bench.type("Does yours shed too?").submit().stored(3)
    expect(bench.places.first).to_be_visible(timeout=LOADS_MS)
    assert newest(anns_assignment).model_version == before


def newest(assignment: Assignment) -> CandidateSet:
    return CandidateSet.objects.filter(request__dialogue=assignment.dialogue_id).latest("id")


# ---- the pages, without waiting for torch ----------------------------------------------------------------------------


@pytest.fixture
def here(stack: Stack, settings: Settings) -> Iterator[None]:
    """What the test writes lies where the server reads."""
    settings.FILES_ROOT = stack.folder / "files"
    settings.MODELS_ROOT = stack.folder / "files" / "models"
    shutil.rmtree(settings.MODELS_ROOT, ignore_errors=True)  # of a project of the same name
    yield
    shutil.rmtree(settings.MODELS_ROOT, ignore_errors=True)


@pytest.fixture
def run(project: Project, eric: User, here: None) -> TrainingRun:
    """A training in the middle, with a model of an earlier one that is measured."""
    project.authoring.generator = None
    project.authoring.save()
    snapshot = snapshot_of(project)
    model = trained_model(project, eric, snapshot)
    learns(run_of(model))
    evaluated(project, snapshot, model, 0.5)
    evaluated(project, snapshot, None, 0.2, base=model.base)
    return learns(training(project, eric, snapshot), made=40, state=JobState.RUNNING)


def goes_on(run: TrainingRun, steps_done: int) -> None:
    learns(run, made=steps_done, state=JobState.RUNNING)


def test_the_curve_grows_by_itself_and_what_was_opened_stays_open(
    run: TrainingRun, eric: User, signs_in: SignedIn
) -> None:
    page = signs_in(eric)
    page.goto(f"/p/{run.project.slug}/trainings/{run.pk}/")
    expect(page.locator("#loss svg.wide circle")).to_have_count(3 * 40)
    page.locator("#loss summary").press(
        "Enter"
    )  # a click would be lost if the page renewed the plot within it
    page.get_by_role("button", name="Stop").focus()
    goes_on(run, 44)
    expect(page.locator("#loss svg.wide circle")).to_have_count(3 * 44)
    expect(page.locator("#loss tbody tr")).to_have_count(44)
    expect(page.locator("#loss table")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_focused()
    page.reload()
    expect(page.locator("#loss svg.wide circle")).to_have_count(3 * 44)
    with page.expect_download() as table:
        page.locator("#loss").get_by_role("link", name="CSV").click()
    assert len(table.value.path().read_text().splitlines()) == 45


def test_trainings_are_chosen_and_drawn_on_the_same_axes(
    run: TrainingRun, eric: User, signs_in: SignedIn
) -> None:
    learns(run_of(RegisteredModel.objects.get()), validate_every=20)
    goes_on(run, 40)
    page = signs_in(eric)
    page.goto(f"/p/{run.project.slug}/trainings/")
    page.keyboard.press("c")
    page.get_by_label("Training 1").check()
    page.get_by_label("Training 2").check()
    page.keyboard.press("Control+Enter")
    lines = page.locator("#loss svg.wide .curve")
    expect(lines).to_have_count(2)
    left, right = (box_of(lines.nth(number)) for number in range(2))
    assert left["x"] == pytest.approx(right["x"], abs=0.5)
    assert left["width"] > 2.5 * right["width"], "120 steps against 40"
    expect(page.locator("#held_out svg.wide .curve.c1")).to_have_count(1)
    expect(page.locator("#results tbody tr")).to_have_count(2)
    expect(page.get_by_label("Training 2")).to_be_checked()
    page.get_by_label("Training 2").uncheck()
    page.get_by_role("button", name="Compare").click()
    expect(lines).to_have_count(1)


def box_of(drawn: Locator) -> FloatRect:
    box = drawn.bounding_box()
    assert box is not None
    return box


def test_the_forecast_follows_the_choices(run: TrainingRun, eric: User, signs_in: SignedIn) -> None:
    Snapshot.objects.update(card={"splits": [{"split": "train", "dialogues": 9, "replies": 320}]})
    page = signs_in(eric)
    page.goto(f"/p/{run.project.slug}/trainings/new/")
    page.keyboard.press("Tab")
    expect(page.locator("#forecast")).to_contain_text("40 steps")
    page.get_by_label("diamante").check()
    expect(page.locator("#forecast")).to_contain_text("10 steps")
    expect(page.locator("#forecast")).to_contain_text("end within its warm-up")


def test_everything_works_without_scripts(run: TrainingRun, eric: User, signs_in: SignedIn) -> None:
    page = signs_in(eric, java_script_enabled=False)
    page.goto(f"/p/{run.project.slug}/trainings/new/")
    page.get_by_role("button", name="Start the training").click()
    expect(page.get_by_role("heading", name="Training 3")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Resume from the last checkpoint")).to_be_visible()


PAGES: dict[str, Callable[[TrainingRun], str]] = {
    "list": lambda run: "trainings/",
    "new": lambda run: "trainings/new/",
    "run": lambda run: f"trainings/{run.pk}/",
    "comparison": lambda run: (
        f"trainings/compare/?run={run.pk}&run={RegisteredModel.objects.get().training_run_id}"
    ),
    "models": lambda run: "models/",
    "model": lambda run: f"models/{RegisteredModel.objects.get().slug}/",
}


@pytest.mark.soak
@pytest.mark.parametrize(("width", "language", "theme"), LOOKS)
def test_the_pages_are_accessible_and_fit(
    run: TrainingRun, eric: User, signs_in: SignedIn, language: str, theme: str, width: int
) -> None:
    User.objects.filter(pk=eric.pk).update(language=language, theme=theme)
    page = signs_in(User.objects.get(pk=eric.pk), viewport={"width": width, "height": 800})
    for address in PAGES.values():
        page.goto(f"/p/{run.project.slug}/{address(run)}")
        open_all(page)
        report = Axe().run(page)
        assert not report.violations_count, report.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 1


def open_all(page: Page) -> None:
    for summary in page.locator("main summary").all():
        summary.click()
