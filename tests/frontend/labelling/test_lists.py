"""Lists of a labelling project: sorted, filtered by label, language and person, and dialogues chosen for a change."""

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from annotation.batch_review.services.cutting import cut_batches
from annotation.labelling.models.labels import FinalLabel, LabelOrigin, Submission
from annotation.labelling.selectors.workbench import count_available
from annotation.labelling.services.planning import plan_labelling
from annotation.onboarding.services.threads import ask_question
from annotation.tasks.models.work import Assignment, AssignmentState, Task, TaskState
from annotation.tasks.services.assignment import release
from annotation.tasks.services.claiming import claim_next_task
from dialogues.models import Dialogue
from frontend.pages.labelling.disputes import PERIODS
from projects.models import Membership, Project, Role
from tests.annotation.conftest import Joins, imported
from tests.frontend.labelling.test_disputes import disputed, signed

DIALOGUES = "/p/quality/dialogues/"
REPLAN = "/p/quality/settings/labelling/replan/"


def numbers(person: User, query: str) -> list[int]:
    """The dialogues of the list, from top to bottom."""
    page = signed(person).get(f"{DIALOGUES}{query}").content.decode()
    return [int(key) for key in re.findall(r'<td class="num muted">(\d+)</td>', page)]


def give_final_label(dialogue: Dialogue, quality: int, reasons: list[str]) -> None:
    task = Task.objects.get(dialogue=dialogue)
    Task.objects.filter(pk=task.pk).update(state=TaskState.FINAL)
    FinalLabel.objects.create(
        task=task,
        project=dialogue.project,
        dialogue=dialogue,
        schema=dialogue.project.labelling.schema,  # type: ignore[misc]
        answers={"dialogue": {"quality": quality, f"reasons_{quality}": reasons}, "utterances": {}},
        origin=LabelOrigin.UNANIMOUS,
    )


def test_the_workbench_counts_only_dialogues_that_the_person_can_still_get(
    quality: Project, anna: User, bela: User
) -> None:
    quality.labelling.overlap = 1
    quality.labelling.save()
    Task.objects.update(open_slots=1)
    held = claim_next_task(annotator=bela, project=quality, claim_id=uuid4())
    assert count_available(bela, quality) == 3
    assert count_available(anna, quality) == 2
    Assignment.objects.filter(pk=held.pk).update(state=AssignmentState.SUBMITTED)
    assert count_available(bela, quality) == 3
    quality.labelling.max_per_person = 1
    assert count_available(anna, quality) == 1


def test_the_workbench_does_not_count_what_was_skipped_or_is_for_another_group(
    quality: Project, anna: User
) -> None:
    skipped = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    assert count_available(anna, quality) == 3
    release(annotator=anna, assignment_id=skipped.pk, reason="Not mine")
    assert count_available(anna, quality) == 2
    Task.objects.exclude(pk=skipped.task_id).update(group="experts")
    assert count_available(anna, quality) == 0
    Membership.objects.filter(user=anna, project=quality).update(group="experts")
    assert count_available(anna, quality) == 2


def test_dialogues_are_sorted_by_a_click_on_a_head(mara: User, quality: Project) -> None:
    short, middle, long = Dialogue.objects.order_by("pk")
    for dialogue, count in ((short, 1), (middle, 5), (long, 9)):
        Dialogue.objects.filter(pk=dialogue.pk).update(utterance_count=count)
    page = signed(mara).get(f"{DIALOGUES}?split=&state=").content.decode()
    assert re.search(r'href="\?[^"]*sort=-utterances"', page)
    assert numbers(mara, "?sort=-utterances") == [long.pk, middle.pk, short.pk]
    assert numbers(mara, "?sort=utterances") == [short.pk, middle.pk, long.pk]
    sorted_page = signed(mara).get(f"{DIALOGUES}?sort=utterances").content.decode()
    assert 'aria-sort="ascending"' in sorted_page
    assert 'name="sort" value="utterances"' in sorted_page


def test_dialogues_are_found_by_their_final_label(mara: User, quality: Project) -> None:
    good, bad, _open = Dialogue.objects.order_by("pk")
    give_final_label(good, 2, [])
    give_final_label(bad, 1, ["incomplete", "other"])
    page = signed(mara).get(DIALOGUES).content.decode()
    assert 'value="quality=2"' in page
    assert numbers(mara, "?final=quality%3D2") == [good.pk]
    assert numbers(mara, "?final=reasons_1%3Dincomplete") == [bad.pk]
    assert numbers(mara, "?final=quality%3D-2") == []
    assert len(numbers(mara, "?final=nonsense")) == 3


def test_chosen_dialogues_get_another_priority_after_a_preview(mara: User, quality: Project) -> None:
    first, second, third = Dialogue.objects.order_by("pk")
    client: Any = signed(mara)
    assert f'name="of_dialogues" value="{first.pk}" form="selected"' in client.get(DIALOGUES).content.decode()
    chosen: dict[str, Any] = {"of_dialogues": [first.pk, third.pk, "x"], "priority": -5}
    page = client.get(REPLAN, chosen).content.decode()
    assert "Only the 2 dialogues that you selected." in page
    assert "Changes 2 dialogues." in page
    assert page.count(f'name="of_dialogues" value="{first.pk}"') == 2  # in the form and in its confirmation
    client.post(REPLAN, chosen | {"request_id": uuid4()})
    assert set(Task.objects.filter(priority=-5).values_list("dialogue", flat=True)) == {first.pk, third.pk}
    assert Task.objects.get(dialogue=second.pk).priority == 0


def test_only_who_configures_chooses_dialogues(
    tina: User, anna: User, joins: Joins, quality: Project
) -> None:
    controller = joins("carl", quality, Role.CONTROLLER)
    assert "of_dialogues" not in signed(controller).get(DIALOGUES).content.decode()


def test_the_api_changes_only_the_dialogues_that_it_names(mara: User, quality: Project) -> None:
    first = Dialogue.objects.earliest("pk")
    client: Any = signed(mara)
    address = "/api/v1/projects/quality/labelling/replans/"
    assert client.get(address, {"priority": 4, "of_dialogues": [first.pk]}).json()["changed"] == 1
    sent = {"id": str(uuid4()), "priority": 4, "of_dialogues": [first.pk]}
    for _again in range(2):
        assert client.post(address, sent, "application/json").json()["changed"] == 1
    assert Task.objects.get(priority=4).dialogue_id == first.pk


def test_disputes_are_filtered_by_language_and_annotator(
    anna: User, bela: User, tina: User, quality: Project
) -> None:
    task = disputed(anna, bela, quality)
    Dialogue.objects.filter(tasks=task).update(language="zh")
    Dialogue.objects.exclude(tasks=task).update(language="en")
    address, client = "/p/quality/disputes/", signed(tina)
    for query, count in (("", 1), ("?language=zh", 1), ("?language=en", 0), (f"?annotator={anna.pk}", 1)):
        assert len(client.get(address + query).context["cases"]) == count
    assert "No dispute matches" in client.get(f"{address}?language=en").content.decode()
    assert len(client.get(f"{address}?annotator={tina.pk}").context["cases"]) == 1  # no choice of the list


def test_disputes_are_filtered_by_the_date_of_the_last_answers(
    anna: User, bela: User, tina: User, quality: Project
) -> None:
    task, client = disputed(anna, bela, quality), signed(tina)
    live = Submission.objects.filter(task=task, superseded_at=None)
    for days, shown in ((0.5, {"1", "7", "30"}), (6, {"7", "30"}), (29, {"30", "-7"}), (31, {"-7", "-30"})):
        # What counts is the later of the two answers.
        live.filter(annotator=anna).update(stored_at=timezone.now() - timedelta(days=days))
        live.filter(annotator=bela).update(stored_at=timezone.now() - timedelta(days=days + 40))
        pages = {since: client.get(f"/p/quality/disputes/?since={since}") for since in PERIODS}
        assert {since for since, page in pages.items() if page.context["cases"]} == shown


def test_own_submissions_are_filtered_by_language_and_state(anna: User, bela: User, quality: Project) -> None:
    task = disputed(anna, bela, quality)
    other = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    Assignment.objects.filter(pk=other.pk).update(state="submitted")
    Dialogue.objects.filter(tasks=task).update(language="zh")
    Dialogue.objects.filter(pk=other.dialogue_id).update(language="en")
    client = signed(anna)
    for query, expected in (
        ("", {task.dialogue_id, other.dialogue_id}),
        ("?language=zh", {task.dialogue_id}),
        ("?label=open", {other.dialogue_id}),
        ("?label=open&language=zh", set()),
    ):
        page = client.get(f"/p/quality/queue/{query}")
        assert {row.dialogue_id for row in page.context["page"].rows} == expected
    assert "None of your dialogues matches." in page.content.decode()


def test_a_thread_stands_beside_the_utterance_that_it_is_about(
    client: Client, anna: User, tina: User, quality: Project
) -> None:
    held = claim_next_task(annotator=anna, project=quality, claim_id=uuid4())
    thread = ask_question(
        asker=anna,
        project=quality,
        dialogue_id=held.dialogue_id,
        thread_id=uuid4(),
        text="Is this <b>a step</b>?",
        position=1,
    )
    page = signed(tina).get(f"{DIALOGUES}{held.dialogue_id}/").content.decode()
    first, second = page.split('id="u1"')
    link = f'/p/quality/threads/{held.dialogue_id}/#t{thread.pk}"'
    assert link in second
    assert link not in first
    assert "Is this &lt;b&gt;a step&lt;/b&gt;?" in second


@pytest.mark.parametrize("sort", ["name", "-name", "group", "joined"])
def test_members_are_sorted(mara: User, anna: User, bela: User, quality: Project, sort: str) -> None:
    page = signed(mara).get("/p/quality/members/", {"sort": sort})
    names = [row.user.username for row in page.context["page"].rows]
    expected = {
        "name": ["anna", "bela", "mara"],
        "-name": ["mara", "bela", "anna"],
        "group": ["mara", "anna", "bela"],
        "joined": ["mara", "anna", "bela"],
    }
    assert names == expected[sort]


def test_batches_are_sorted(mara: User, quality: Project) -> None:
    imported(quality, 5)
    plan_labelling(project=quality, actor=None, plan_id=uuid4())
    cut_batches(project=quality, actor=mara, size=2, with_rest=False, cut_id=uuid4())
    client = signed(mara)
    for sort, expected in (("batch", [1, 2, 3, 4]), ("-batch", [4, 3, 2, 1]), ("", [4, 3, 2, 1])):
        rows = client.get("/p/quality/batches/", {"sort": sort}).context["page"].rows
        assert [row.batch.number for row in rows] == expected
    for sort in ("group", "-labelled", "-step"):
        assert len(client.get("/p/quality/batches/", {"sort": sort}).context["page"].rows) == 4


def test_a_project_in_several_languages_points_to_the_setting_until_a_person_has_chosen(
    anna: User, quality: Project
) -> None:
    address, setting = "/p/quality/queue/", 'href="/account/#id_reading_languages"'
    first = Dialogue.objects.earliest("pk")
    Dialogue.objects.update(language="en")
    assert setting not in signed(anna).get(address).content.decode()
    Dialogue.objects.filter(pk=first.pk).update(language="zh")
    page = signed(anna).get(address).content.decode()
    assert "You are given dialogues in all languages." in page
    assert setting in page
    assert 'id="id_reading_languages"' in signed(anna).get("/account/").content.decode()
    assert setting in signed(anna).get("/p/quality/label/").content.decode()  # beside a reason to skip
    User.objects.filter(pk=anna.pk).update(reading_languages=["en"])
    assert setting not in signed(anna).get(address).content.decode()
