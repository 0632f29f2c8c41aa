"""What annotators see of scores, of the order and of a second model: nothing, unless the project says so."""

from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import expect

from accounts.models import User
from annotation.authoring.services.settings import update_authoring
from annotation.tasks.models.work import Assignment
from annotation.tasks.services.claiming import claim_next_task
from dialogues.models import CandidateSet
from projects.models import Membership, Project, Role
from tests.browser.bench import Bench
from tests.browser.conftest import SignedIn
from tests.candidate_requests import create_generator
from tests.generation.odd_backends import SCORED

OPENING = "My cat sheds all over the sofa."


def set_to(project: Project, **changes: Any) -> None:
    update_authoring(project=project, actor=None, changes=changes)


@pytest.mark.parametrize("shown", [True, False])
def test_scores_are_shown_only_if_the_project_shows_them(
    project: Project, anns_assignment: Assignment, ann: User, signs_in: SignedIn, shown: bool
) -> None:
    set_to(project, generator=create_generator("scored", SCORED), candidate_order="best", show_scores=shown)
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    texts = bench.says_and_waits(OPENING)
    assert texts == sorted(texts, key=len, reverse=True)  # these scores go by length
    scores = page.locator("#candidates [data-score]")
    expect(scores).to_have_count(7)
    if shown:
        expect(scores.first).to_have_text(f"{len(texts[0]) / 10:.2f}")
    else:
        expect(scores.first).to_be_hidden()
        assert set(scores.all_text_contents()) == {""}


def test_candidates_of_two_models_come_mixed_and_unmarked(
    project: Project, anns_assignment: Assignment, ann: User, signs_in: SignedIn
) -> None:
    set_to(
        project,
        generator=create_generator("first", replies=[f"First reply {n}." for n in range(20)]),
        second_generator=create_generator("second", replies=[f"Second reply {n}." for n in range(20)]),
    )
    page = signs_in(ann)
    bench = Bench.open(page, anns_assignment)
    texts = bench.says_and_waits(OPENING)
    assert sorted(sum(text.startswith(name) for text in texts) for name in ("First", "Second")) == [3, 4]
    expect(page.locator("#candidates [data-model]")).to_have_text("")
    assert "scripted@" not in page.content()
    place = next(place for place, text in enumerate(texts) if text.startswith("Second"))
    bench.press(str(place + 1)).submit().stored(2)
    candidate_set = CandidateSet.objects.get(dialogue=anns_assignment.dialogue_id, position=1)
    utterance = anns_assignment.dialogue.utterances.get(position=1)
    assert candidate_set.version_of(utterance.source) == candidate_set.sampling["models"][1]


def test_a_manager_chooses_a_second_model_and_reads_that_the_order_is_random(
    project: Project, mara: User, signs_in: SignedIn
) -> None:
    create_generator("second")
    page = signs_in(mara)
    page.goto(f"/p/{project.slug}/settings/")
    page.get_by_label("second model").select_option(label="second")
    page.get_by_label("Best first").check()
    page.locator("#authoring button[type=submit]").click()
    expect(page.locator("#authoring")).to_contain_text("random as long as there is a second model")
    project.authoring.refresh_from_db()
    assert project.authoring.second_generator is not None
    assert project.authoring.candidate_order == "best"


def test_of_a_single_model_only_managers_read_the_name(
    planned: Project, ann: User, mara: User, signs_in: SignedIn
) -> None:
    set_to(planned, generator=create_generator("only", replies=[f"Reply number {n}." for n in range(20)]))
    Membership.objects.filter(user=mara).update(roles=[Role.MANAGER, Role.ANNOTATOR])
    for person, reads_it in ((ann, False), (mara, True)):
        held = claim_next_task(annotator=person, project=planned, claim_id=uuid4())
        page = signs_in(person)
        bench = Bench.open(page, held)
        bench.says_and_waits(OPENING)
        expect(page.locator("#candidates [data-model]")).to_be_visible(visible=reads_it)
        assert ("scripted@" in page.locator("body").inner_text()) == reads_it
