"""People are given dialogues in languages that they read."""

from collections.abc import Callable, Sequence
from importlib import import_module
from uuid import uuid4

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from accounts.services import set_preferences
from annotation.authoring.services.planning import plan_dialogues
from annotation.batch_review.services.returning import _copy_task
from annotation.labelling.selectors.replanning import Replan, preview_replan
from annotation.labelling.services.planning import plan_labelling
from annotation.overview.selectors import overviews
from annotation.project_setup.services import create_project
from annotation.tasks.models.rounds import Round
from annotation.tasks.models.work import Assignment, Task, Workload
from annotation.tasks.selectors.languages import count_unread_tasks
from annotation.tasks.selectors.queue import task_counts
from annotation.tasks.services.assignment import release
from annotation.tasks.services.claiming import claim_next_task
from common.languages import primary_language
from common.refusals import Refusal
from dialogues.models import Dialogue
from projects.models import Membership, Project, Role
from projects.services import set_group
from tests.annotation.conftest import Joins, imported

Mixed = Callable[..., Project]


def claims(person: User, project: Project) -> Assignment:
    fresh = Project.objects.get(pk=project.pk)
    return claim_next_task(annotator=person, project=fresh, claim_id=uuid4())


def refusal_code(person: User, project: Project) -> str:
    with pytest.raises(Refusal) as refused:
        claims(person, project)
    return refused.value.code


def claimed_languages(person: User, project: Project, count: int) -> list[str]:
    return [claims(person, project).dialogue.language for _n in range(count)]


def reads(person: User, *languages: str) -> None:
    set_preferences(user=person, reading_languages=languages)


@pytest.fixture
def mixed(quality: Project, mara: User) -> Mixed:
    """mixed(["zh", "en"]): the project's only dialogues, in these languages, in this order."""

    def make(languages: Sequence[str], **plan: object) -> Project:
        Task.objects.all().delete()
        for dialogue, language in zip(imported(quality, len(languages)), languages, strict=True):
            Dialogue.objects.filter(pk=dialogue.pk).update(language=language)
            plan_labelling(project=quality, actor=mara, plan_id=uuid4(), dialogue_ids=[dialogue.pk], **plan)  # type: ignore[arg-type]
        for place, task in enumerate(Task.objects.order_by("dialogue")):
            Task.objects.filter(pk=task.pk).update(place=place)
        quality.labelling.open_tasks_per_person = 50
        quality.labelling.save()
        return quality

    return make


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("zh", "zh"),
        ("zh-Hans", "zh"),
        ("EN_us", "en"),
        ("cmn", "zh"),
        ("", ""),
        ("mul", ""),
        ("und", ""),
        ("tlh", ""),
    ],
)
def test_a_code_of_a_file_names_a_language(code: str, language: str) -> None:
    assert primary_language(code) == language


def test_nothing_chosen_gives_every_language_in_the_order_of_the_queue(anna: User, mixed: Mixed) -> None:
    project = mixed(["zh", "en", "", "tlh"])
    assert claimed_languages(anna, project, 4) == ["zh", "en", "", "tlh"]


def test_only_languages_that_anna_reads_and_dialogues_without_one(anna: User, mixed: Mixed) -> None:
    project = mixed(["en", "zh-Hans", "", "en", "zh", "de", "tlh"])
    reads(anna, "zh", "de")
    assert claimed_languages(anna, project, 5) == ["zh-Hans", "", "zh", "de", "tlh"]
    assert refusal_code(anna, project) == "all_done"  # she holds five
    Assignment.objects.update(state="submitted")
    assert refusal_code(anna, project) == "other_languages"


def test_everything_done_is_not_reported_as_other_languages(anna: User, bela: User, mixed: Mixed) -> None:
    project = mixed(["zh", "en"], overlap=1)
    reads(anna, "zh")
    for person, count in ((anna, 1), (bela, 1)):
        claimed_languages(person, project, count)
    Assignment.objects.update(state="submitted")
    assert refusal_code(anna, project) == "all_done"


def test_others_who_hold_other_languages_are_not_waited_for(anna: User, bela: User, mixed: Mixed) -> None:
    project = mixed(["en", "en"], overlap=1)
    reads(anna, "zh")
    claims(bela, project)
    assert refusal_code(anna, project) == "other_languages"


def test_a_changed_setting_counts_from_the_next_claim_and_what_is_held_stays(
    anna: User, mixed: Mixed
) -> None:
    project = mixed(["en", "zh", "en", "zh"])
    reads(anna, "zh")
    held = claims(anna, project)
    reads(anna, "en")
    # The first of the queue, although the search for Chinese had passed it.
    assert claims(anna, project).dialogue_id == Task.objects.earliest("place").dialogue_id
    held.refresh_from_db()
    assert held.state == "active"
    reads(anna)
    assert claimed_languages(anna, project, 2) == ["en", "zh"]


def test_a_priority_comes_first_whatever_its_language(anna: User, mixed: Mixed) -> None:
    project = mixed(["zh", "en", "en", "zh"])
    last = Task.objects.latest("place")
    Task.objects.filter(pk=last.pk).update(priority=-1)
    reads(anna, "en", "zh")
    assert claims(anna, project).task_id == last.pk


def test_a_group_is_served_first_in_the_languages_that_its_people_read(
    anna: User, mara: User, mixed: Mixed
) -> None:
    project = mixed(["zh", "zh"])
    Task.objects.filter(pk=Task.objects.latest("place").pk).update(group="medicine")
    set_group(project=project, actor=mara, user=anna, group="medicine")
    reads(anna, "zh")
    assert claims(anna, project).task.group == "medicine"
    assert claims(anna, project).task.group == ""


def test_a_skipped_dialogue_does_not_come_back(anna: User, mixed: Mixed) -> None:
    project = mixed(["zh", "zh"])
    reads(anna, "zh")
    first = claims(anna, project)
    release(annotator=anna, assignment_id=first.pk, reason="Unclear")
    assert claims(anna, project).task_id != first.task_id


@pytest.mark.parametrize("languages", [["zh"], ["de", "en", "zh"]])
def test_a_claim_costs_the_same_queries_whatever_a_person_reads(
    anna: User, mixed: Mixed, languages: list[str]
) -> None:
    project = mixed(["zh"] * 6)
    counts = []
    for reading in ([], languages):
        reads(anna, *reading)
        claims(anna, project)
        with CaptureQueriesContext(connection) as queries:
            claims(anna, project)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_dialogues_to_be_written_have_the_language_of_their_project(joins: Joins, mara: User) -> None:
    chinese = create_project(slug="chat-zh", preset="diamante", actor=mara, language="zh")
    mixed_project = create_project(slug="chat-all", preset="diamante", actor=mara, language="mul")
    ann = joins("ann", chinese, Role.ANNOTATOR)
    joins("ann", mixed_project, Role.ANNOTATOR)
    for project in (chinese, mixed_project):
        plan_dialogues(project=project, actor=mara, count=2, plan_id=uuid4())
    reads(ann, "en")
    assert refusal_code(ann, chinese) == "other_languages"
    assert claims(ann, mixed_project).dialogue.language == "mul"
    assert [task_counts(project, ann).readable for project in (chinese, mixed_project)] == [0, 1]
    seen = overviews(ann, [chinese, mixed_project])
    assert [(seen[project.pk].free, seen[project.pk].readable) for project in (chinese, mixed_project)] == [
        (2, 0),
        (1, 1),
    ]
    reads(ann, "en", "zh")
    assert claims(ann, chinese).dialogue.language == "zh"


def test_waiting_work_is_counted_in_the_languages_of_the_person(anna: User, bela: User, mixed: Mixed) -> None:
    project = mixed(["zh", "en", "en", ""])
    reads(anna, "zh")
    assert overviews(anna, [project])[project.pk].readable == 2
    assert overviews(bela, [project])[project.pk].readable == 4


def test_work_that_one_has_had_or_that_is_for_another_group_is_not_counted(
    anna: User, bela: User, mixed: Mixed
) -> None:
    project = mixed(["zh", "en", "en", ""])
    had = claims(anna, project)
    release(annotator=anna, assignment_id=had.pk, reason="Not mine")
    assert overviews(anna, [project])[project.pk].readable == 3
    assert overviews(bela, [project])[project.pk].readable == 4
    Task.objects.exclude(pk=had.task_id).update(group="north")
    assert overviews(anna, [project])[project.pk].readable == 0
    assert overviews(bela, [project])[project.pk].readable == 1
    Membership.objects.filter(user=anna).update(group="north")
    assert overviews(anna, [project])[project.pk].readable == 3


def test_dialogues_that_nobody_reads_are_counted(anna: User, bela: User, mixed: Mixed) -> None:
    project = mixed(["zh", "en", "de", ""])
    assert count_unread_tasks(project) == 0
    reads(anna, "zh")
    assert count_unread_tasks(project) == 0  # Bela reads everything
    reads(bela, "en")
    assert count_unread_tasks(project) == 1
    assert preview_replan(project, Replan(overlap=3)).unread == 1


def test_the_next_round_of_a_batch_keeps_the_language(mixed: Mixed) -> None:
    mixed(["zh"])
    assert _copy_task(Task.objects.get(), Round(group=""), is_withheld=False).language == "zh"


def test_the_migration_copies_the_languages_of_dialogues(mixed: Mixed) -> None:
    mixed(["zh-Hans", "en", ""])
    Task.objects.update(language="")
    import_module("annotation.migrations.0019_task_language").copy_languages(apps, None)
    assert list(Task.objects.order_by("place").values_list("language", flat=True)) == ["zh", "en", ""]


def test_a_person_begins_with_every_language(anna: User) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_default FROM information_schema.columns WHERE column_name = 'reading_languages'"
        )
        [default] = cursor.fetchone()
    assert "'{}'" in default
    assert User.objects.get(pk=anna.pk).reading_languages == []
    assert not Workload.objects.exists()
