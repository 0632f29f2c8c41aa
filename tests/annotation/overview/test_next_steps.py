"""The next step of each role. Home, overview and export page show the same order."""

import pytest
from django.test import Client

from accounts.models import User
from annotation.overview.selectors import Overview, Step, overviews, steps_for
from dialogues.models import Dialogue, DialogueState, Origin, ReviewState
from projects.models import Project, Role
from projects.roles import CAPABILITIES
from projects.services import archive_project
from tests.annotation.conftest import Joins, imported
from tests.frontend.data_pages import html
from tests.frontend.dialogs import without_dialogs

MANAGER = CAPABILITIES[Role.MANAGER]


@pytest.mark.parametrize(
    ("role", "counts", "first"),
    [
        (Role.MANAGER, Overview(), Step.PEOPLE),
        (Role.MANAGER, Overview(annotators=2), Step.PLAN),
        (Role.MANAGER, Overview(annotators=2, free=3, tasks=3), Step.STATISTICS),
        (Role.MANAGER, Overview(annotators=2, dialogues=1, passed=1), Step.EXPORT),
        (Role.MANAGER, Overview(annotators=2, dialogues=1, passed=1, disputed=1, trainers=1), Step.EXPORT),
        (Role.MANAGER, Overview(annotators=2, dialogues=1, passed=1, disputed=1), Step.PEOPLE),
        (Role.MANAGER, Overview(annotators=2, dialogues=1, passed=1, in_review=1), Step.PEOPLE),
        (Role.MANAGER, Overview(annotators=2, dialogues=1, passed=1, unreviewed=1), Step.PEOPLE),
        (Role.ENGINEER, Overview(annotators=2, free=3, tasks=3), Step.STATISTICS),
        (Role.TRAINER, Overview(unreviewed=1), Step.REVIEW),
        (Role.TRAINER, Overview(annotators=1), Step.PLAN),
        (Role.CONTROLLER, Overview(), Step.REVIEW),
        (Role.ANNOTATOR, Overview(), Step.WRITE),
    ],
)
def test_the_most_urgent_comes_first(project: Project, role: Role, counts: Overview, first: Step) -> None:
    assert steps_for(project, CAPABILITIES[role], counts)[0] == first


def test_every_step_is_offered_once_and_only_to_those_allowed(project: Project) -> None:
    steps = steps_for(project, MANAGER, Overview(dialogues=1))
    assert sorted(steps) == sorted(
        {Step.EXPORT, Step.TRAIN, Step.PLAN, Step.PEOPLE, Step.STATISTICS, Step.IMPORT}
    )


def test_an_empty_project_offers_no_step_that_needs_dialogues(project: Project) -> None:
    assert steps_for(project, MANAGER, Overview()) == [Step.PEOPLE, Step.PLAN, Step.IMPORT]


def test_an_archived_project_offers_its_data_and_how_to_restore_it(
    client: Client, planned: Project, mara: User
) -> None:
    archive_project(project=planned, actor=mara)
    planned.refresh_from_db()
    assert steps_for(planned, MANAGER, Overview(free=3, tasks=3)) == [Step.STATISTICS]
    client.force_login(mara)
    page = client.get("/p/chit-chat/").content.decode()
    assert "Restore or delete the project" in page
    assert "Before people can work well" not in page


def primary_links(client: Client, address: str) -> list[str]:
    page = without_dialogs(client.get(address).content.decode())
    return [part.split('href="')[1].split('"')[0] for part in page.split('class="button primary"')[1:]]


@pytest.mark.parametrize("passed", [False, True])
def test_home_overview_and_export_have_the_same_primary_link(
    client: Client, planned: Project, mara: User, ann: User, carlos: User, passed: bool
) -> None:
    Dialogue.objects.create(
        project=planned,
        origin=Origin.AUTHORED,
        state=DialogueState.FINISHED,
        review_state=ReviewState.PASSED if passed else ReviewState.UNREVIEWED,
        split="train",
    )
    client.force_login(mara)
    home = primary_links(client, "/")
    assert home == primary_links(client, "/p/chit-chat/")
    assert home == (["/p/chit-chat/exports/"] if passed else ["/p/chit-chat/statistics/"])
    exports = without_dialogs(client.get("/p/chit-chat/exports/").content.decode())
    assert ('class="button primary" href="/p/chit-chat/statistics/"' in exports) is not passed
    assert ('type="submit" class="button primary"' in exports) is passed


def test_an_empty_project_is_not_called_reviewed(client: Client, project: Project, carlos: User) -> None:
    client.force_login(carlos)
    page = client.get("/p/chit-chat/").content.decode()
    assert "is reviewed" not in page
    assert "no dialogue is finished" in page


def test_the_counts_of_a_start_page(planned: Project, ann: User) -> None:
    counts = overviews(ann, [planned])[planned.pk]
    assert (counts.free, counts.annotators, counts.unreviewed) == (3, 1, 0)


def test_only_people_who_can_sign_in_count_for_a_role(planned: Project, carlos: User, joins: Joins) -> None:
    tess = joins("tess", planned, Role.TRAINER)
    counts = overviews(carlos, [planned])[planned.pk]
    assert (counts.reviewers, counts.trainers) == (2, 1)
    User.objects.filter(pk=tess.pk).update(is_active=False)
    counts = overviews(carlos, [planned])[planned.pk]
    assert (counts.reviewers, counts.trainers) == (1, 0)


def test_imported_dialogues_of_an_authoring_project_are_complete_and_not_to_be_planned(
    client: Client, project: Project, mara: User
) -> None:
    imported(project, 120)
    client.force_login(mara)
    page = html(client.get(f"/p/{project.slug}/"))
    assert "not planned yet" not in page
    assert "No dialogue is left to be written. 120 imported dialogues are complete." in page
    assert f'<a href="/p/{project.slug}/dialogues/?origin=imported">120</a>' in page
