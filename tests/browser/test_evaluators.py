"""Training an assessor on final labels and reading its report, with the real trainer and worker."""

import shutil
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from pytest_django import Settings

from accounts.models import User
from jobs.models import Worker
from preference.data.models.snapshots import Snapshot
from preference.registry.models import RegisteredModel
from projects.models import Membership, Role
from tests.browser.conftest import SignedIn
from tests.preference.labelled import labelled_project, labelled_snapshot
from tests.processes import Running, Stack

TRAINS_MS = 150_000  # torch, on a machine that also does other work
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
    """Sixty labelled dialogues, frozen; eric is the engineer."""
    project = labelled_project(mara, [0, 1, 2] * 20)
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
def test_train_an_assessor_and_see_its_report(
    frozen: Snapshot, eric: User, signs_in: SignedIn, trainer: Running
) -> None:
    page = signs_in(eric)
    page.goto(f"/p/quality/snapshots/{frozen.pk}/")
    page.get_by_role("link", name="Train on it").click()
    expect(page.get_by_role("heading", name="Train an assessor")).to_be_visible()
    for name in ("gradient_boosting", "transformer", "logistic_regression"):
        page.uncheck(f"[name=models][value={name}]")
    page.fill("[name=changes]", TINY)
    report = Axe().run(page)
    assert not report.violations_count, report.generate_report()
    page.get_by_role("button", name="Start the training").click()
    expect(page.get_by_role("heading", name="Training 1")).to_be_visible()
    expect(page.get_by_text("is there.")).to_be_visible(timeout=TRAINS_MS)
    page.get_by_role("link", name="To the model").click()
    expect(page.get_by_text("Which model agrees best with people?")).to_be_visible()
    expect(page.locator("#metrics tbody tr")).to_have_count(3)
    expect(page.locator("#metrics tbody th").first).to_have_text("gru")
    expect(page.locator("#confusion tbody tr")).to_have_count(3)
    expect(page.locator("#reliability svg.wide .curve").first).to_be_visible()
    report = Axe().run(page)
    assert not report.violations_count, report.generate_report()
    assert RegisteredModel.objects.get().generator is None
