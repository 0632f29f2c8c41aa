"""The dialogues with the highest disagreement and the spread of their answers; versions of the guidelines."""

from accounts.models import User
from annotation.labelling.selectors.disagreement import most_disagreed
from annotation.onboarding.selectors.guidelines import (
    changed_since_read,
    guidelines_version,
    guidelines_versions,
)
from annotation.onboarding.services.guidelines import acknowledge_guidelines
from projects.models import Project
from projects.services import update_project
from tests.annotation.onboarding.conftest import RIGHT, SLIP, label_next

BAD = {"dialogue": {"verify": 1, "quality": 0, "reasons_0": ["other"]}, "utterances": {}}


def test_the_highest_disagreement_comes_first_with_its_answers(
    mara: User, anna: User, bela: User, quality: Project
) -> None:
    for theirs in (SLIP, BAD, RIGHT):
        first, second = label_next(anna, quality, RIGHT), label_next(bela, quality, theirs)
        assert first.task_id == second.task_id
    cases = most_disagreed(quality, reader=mara, names=True).cases
    assert [len(case.differing) for case in cases] == [2, 1]
    assert cases[1].differing[0].spread == [(0, 1, ["anna"]), (1, 1, ["bela"])]


def test_names_can_be_left_out_and_one_question_selected(
    mara: User, anna: User, bela: User, quality: Project
) -> None:
    for theirs in (SLIP, BAD):
        label_next(anna, quality, RIGHT)
        label_next(bela, quality, theirs)
    (case,) = most_disagreed(quality, reader=mara, question="quality").cases
    assert all(not names for answer in case.differing for _value, _n, names in answer.spread)


def test_a_page_starts_where_the_previous_one_ended(
    mara: User, anna: User, bela: User, quality: Project
) -> None:
    for theirs in (SLIP, BAD):
        label_next(anna, quality, RIGHT)
        label_next(bela, quality, theirs)
    first, second = most_disagreed(quality, reader=mara).cases
    after = f"{first.task.disagreement!r}_{first.task.pk}"
    assert [case.task for case in most_disagreed(quality, reader=mara, after=after).cases] == [second.task]
    assert len(most_disagreed(quality, reader=mara, after="nan_99").cases) == 2


def test_changed_guidelines_are_unread_until_acknowledged(anna: User, tina: User, quality: Project) -> None:
    assert not changed_since_read(anna, quality)
    project = update_project(project=quality, actor=tina, changes={"guidelines_en": "# New"})
    project = update_project(project=project, actor=tina, changes={"title": "Other"})
    assert guidelines_version(project) == 2
    assert changed_since_read(anna, project)
    acknowledge_guidelines(user=anna, project=project, version=1)
    assert changed_since_read(anna, project)
    acknowledge_guidelines(user=anna, project=project, version=99)
    assert not changed_since_read(anna, project)


def test_versions_contain_the_previous_text(tina: User, quality: Project) -> None:
    first = quality.guidelines_en
    project = update_project(project=quality, actor=tina, changes={"guidelines_en": "Two"})
    project = update_project(project=project, actor=tina, changes={"guidelines_en": "Three"})
    assert [
        (version.number, version.before, version.text, version.by)
        for version in guidelines_versions(project, "en")
    ] == [
        (3, "Two", "Three", "tina"),
        (2, first, "Two", "tina"),
    ]
