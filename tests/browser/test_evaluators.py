"""Evaluators with the real trainer and worker: train an assessor, put it to work, compare evaluators with people."""

import shutil
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from pytest_django import Settings

from accounts.models import User
from annotation.tasks.models.work import Task
from jobs.models import Job, JobState, Worker
from preference.data.models.snapshots import Snapshot
from preference.evaluators.models import ScoringRun
from preference.evaluators.selectors.assessments import assessments_of, most_uncertain_first
from preference.registry.hashing import files_in, sha256_of
from preference.registry.models import ModelKind, RegisteredModel
from preference.runs.files import folder_of_run
from preference.runs.services.registration import TrainingResult, register_model
from projects.models import Membership, Project, Role
from tests.annotation.conftest import Joins
from tests.browser.conftest import SignedIn
from tests.browser.judged import judged_project
from tests.preference.labelled import labelled_project, labelled_snapshot
from tests.preference.learning import training
from tests.processes import Running, Stack

TRAINS_MS = 600_000  # torch, on a machine that also does other work
TINY = "epochs=2\nhidden=16\nlayers=1\nheads=2\nvocabulary=300\nmax_length=64"


@pytest.fixture
def here(stack: Stack, settings: Settings) -> Iterator[None]:
    """What the test writes lies where the server reads."""
    settings.FILES_ROOT = stack.folder / "files"
    settings.MODELS_ROOT = stack.folder / "files" / "models"
    shutil.rmtree(settings.MODELS_ROOT, ignore_errors=True)
    yield
    shutil.rmtree(settings.MODELS_ROOT, ignore_errors=True)


@pytest.fixture
def frozen(mara: User, eric: User, here: None) -> Snapshot:
    """Sixty labelled dialogues, frozen, and three that wait for people; eric is the engineer."""
    project = labelled_project(mara, [*([0, 1, 2] * 20), None, None, None])
    Membership.objects.create(project=project, user=eric, roles=[Role.ENGINEER])
    return labelled_snapshot(project, mara, name="Labels of May")


@pytest.fixture
def trainer(stack: Stack) -> Iterator[Running]:
    """A worker of the queue `training`."""
    worker = stack.worker("training", "training")
    Worker.objects.update_or_create(name="trainer until its next beat", defaults={"queues": ["training"]})
    yield worker
    worker.kill()


@pytest.mark.slow
def test_train_an_assessor_see_its_report_and_put_it_to_work(
    frozen: Snapshot, eric: User, signs_in: SignedIn, trainer: Running
) -> None:
    page = signs_in(eric)
    page.goto(f"/p/quality/snapshots/{frozen.pk}/")
    page.get_by_role("link", name="Train on it").click()
    expect(page.get_by_role("heading", name="Train an assessor")).to_be_visible()
    for name in ("gradient_boosting", "transformer", "logistic_regression"):
        page.uncheck(f"[name=models][value={name}]")
    page.fill("[name=changes]", TINY)
    check_access(page)
    page.get_by_role("button", name="Start the training").click()
    expect(page.get_by_role("heading", name="Training 1")).to_be_visible()
    expect(page.get_by_text("is ready.")).to_be_visible(timeout=TRAINS_MS)
    page.get_by_role("link", name="Open the model").click()
    expect(page.get_by_text("Which model agrees best with people?")).to_be_visible()
    expect(page.locator("#metrics tbody tr")).to_have_count(3)
    expect(page.locator("#metrics tbody th").first).to_have_text("gru")
    expect(page.locator("#confusion tbody tr")).to_have_count(3)
    check_reliability(page)
    check_access(page)
    assert RegisteredModel.objects.get().generator is None
    see_it_beside_people_and_order_the_queue(page)


def check_reliability(page: Page) -> None:
    """A bar for each row of its table, over all dialogues of the confusion matrix. A bar may have no height."""
    expect(page.locator("#reliability svg.wide").first).to_be_visible()
    rows = page.locator("#reliability tbody tr").count()
    assert rows >= 1
    expect(page.locator("#reliability svg.wide rect.mark")).to_have_count(rows)
    assert sum_of(page, "#reliability tbody td:nth-of-type(1)") == sum_of(page, "#confusion tbody td") > 0


def sum_of(page: Page, cells: str) -> int:
    return sum(int(text) for text in page.locator(cells).all_text_contents())


def check_access(page: Page) -> None:
    report = Axe().run(page)
    assert not report.violations_count, report.generate_report()


def score_with(page: Page, evaluator: str, model: str = "", **fields: str) -> None:
    """Start a scoring run from the list of evaluators, and wait until its scores are there."""
    page.goto("/p/quality/evaluators/")
    page.select_option("[name=evaluator]", evaluator)
    page.get_by_role("button", name="Choose its settings").click()
    if model:
        page.select_option("[name=model]", model)
    for name, value in fields.items():
        page.fill(f"[name={name}]", value)
    page.get_by_role("button", name="Score the replies").click()
    expect(page.get_by_role("heading", name="Rows", exact=True)).to_be_visible(timeout=TRAINS_MS)


def see_it_beside_people_and_order_the_queue(page: Page) -> None:
    score_with(page, "assessor")
    expect(page.get_by_text("3 open dialogues would be ordered by the entropy")).to_be_visible()
    check_access(page)
    page.get_by_role("button", name="Order the queue by uncertainty").click()
    expect(page.get_by_text("3 open dialogues are ordered, the least certain first.")).to_be_visible()
    run = ScoringRun.objects.get()
    uncertain = most_uncertain_first(assessments_of(run))
    waiting = Task.objects.filter(project=run.project, open_slots__gt=0).order_by("rank", "id")
    given_out = list(waiting.values_list("dialogue", flat=True))
    assert given_out == [dialogue for dialogue in uncertain if dialogue in given_out]
    page.get_by_role("button", name="Undo the order").click()
    expect(page.get_by_role("button", name="Order the queue by uncertainty")).to_be_visible()
    page.get_by_role("link", name="Choose what is labelled").click()
    expect(page.get_by_text("3 scored dialogues are in no batch")).to_be_visible()
    check_access(page)
    page.goto("/p/quality/evaluators/")
    page.get_by_role("button", name="Compare with people").click()
    expect(page.get_by_text("agrees best with people").or_(page.get_by_text("No evaluator"))).to_be_visible(
        timeout=TRAINS_MS
    )


@pytest.fixture
def paireval(project: Project, here: None, settings: Settings) -> RegisteredModel:
    """A PairEval model that is the demo model, untrained for it."""
    run = training(project, None, kind=ModelKind.PAIREVAL, model=settings.SHIPPED_MODEL)
    folder = folder_of_run(run) / "model"
    shutil.copytree(settings.SHIPPED_MODEL, folder)
    Job.objects.filter(pk=run.job_id).update(state=JobState.DONE)
    trained = TrainingResult(config={}, metrics={}, files=files_in(folder), sha256=sha256_of(folder))
    return register_model(run=run, trained=trained)


@pytest.mark.slow
def test_three_evaluators_are_compared_on_one_page(
    mara: User,
    eric: User,
    ann: User,
    paireval: RegisteredModel,
    signs_in: SignedIn,
    trainer: Running,
    joins: Joins,
) -> None:
    project = judged_project(mara, ann, joins("lina"), slug="quality")
    Membership.objects.create(project=project, user=eric, roles=[Role.ENGINEER])
    page = signs_in(eric)
    score_with(page, "paireval", paireval.slug, k="2")
    expect(page.get_by_text("48 scores").first).to_be_visible()
    expect(page.get_by_text(paireval.slug).first).to_be_visible()
    for name in ("length", "random"):
        score_with(page, name)
    page.goto("/p/quality/evaluators/")
    page.get_by_role("button", name="Compare with people").click()
    expect(page.get_by_text("agrees best with people")).to_be_visible(timeout=TRAINS_MS)
    for title in (f"PairEval · {paireval.slug}", "Length", "Random number"):
        expect(page.get_by_role("heading", name=title)).to_be_visible()
    check_access(page)
