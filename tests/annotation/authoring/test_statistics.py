"""Statistics compared with numbers calculated by hand."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

import pytest

from accounts.models import User
from annotation.authoring.models import Turn
from annotation.authoring.selectors.statistics import Actions, Bar, Column, Statistics
from annotation.tasks.models.work import Assignment, AssignmentState, Task
from dialogues.models import CandidateSet, Dialogue, DialogueState, Origin, ReviewState, Split, Utterance
from projects.models import Project, Role

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
Row = tuple[str, str, int | None, int | None]  # text, action, source, edit distance
Writes = Callable[..., Dialogue]

OPENING: Row = ("Hello!", "", None, None)  # 6 characters


@pytest.fixture
def wrote(project: Project) -> Writes:
    """wrote(ann, [row, …]) creates a finished dialogue of hers. An utterance without an action had no candidates."""

    def write(
        author: User,
        utterances: list[Row],
        *,
        split: str = Split.TRAIN,
        state: str = DialogueState.FINISHED,
        review: str = ReviewState.PASSED,
        at: datetime = MONDAY,
        active: int = 10_000,
        idle: int = 0,
    ) -> Dialogue:
        dialogue = Dialogue.objects.create(
            project=project,
            origin=Origin.AUTHORED,
            state=state,
            review_state=review,
            split=split,
            utterance_count=len(utterances),
        )
        assignment = Assignment.objects.create(
            task=Task.objects.create(project=project),
            project=project,
            annotator=author,
            dialogue=dialogue,
            claim_id=uuid4(),
            lease_until=at,
            claimed_at=at,
            touched_at=at,
            state=AssignmentState.SUBMITTED,
        )
        for position, (text, action, source, distance) in enumerate(utterances):
            candidate_set = (
                CandidateSet.objects.create(dialogue=dialogue, position=position, candidates=[])
                if action
                else None
            )
            provenance = {
                "action": action,
                "source": source,
                "edit_distance": distance,
                "candidate_set": candidate_set,
            }
            utterance = Utterance.objects.create(
                dialogue=dialogue, position=position, speaker="AB"[position % 2], text=text, **provenance
            )
            Turn.objects.create(
                assignment=assignment, dialogue=dialogue, utterance=utterance, position=position, text=text,
                stored_at=at, active_ms=active, idle_ms=idle,
            )  # fmt: skip
        return dialogue

    return write


SELECTED: Row = ("Yes.", "select", 0, 0)  # 4 characters
REVISED: Row = ("Yes, gladly.", "revise", 2, 8)  # 12 characters
REWRITTEN: Row = ("No", "rewrite", None, None)  # 2 characters


def by_split(project: Project) -> dict[str, Column]:
    return {column.split: column for column in Statistics(project).table_one()}


def test_table_one_counts_by_split(project: Project, ann: User, wrote: Writes) -> None:
    wrote(ann, [OPENING, SELECTED, REVISED])
    wrote(ann, [OPENING, REWRITTEN])
    wrote(ann, [OPENING, REWRITTEN], split=Split.TEST)
    columns = by_split(project)
    train = columns["train"]
    assert (train.dialogues, train.utterances) == (2, 5)
    assert train.mean_length == (6 + 4 + 12 + 6 + 2) / 5
    assert train.actions == Actions(select=1, revise=1, rewrite=1)
    assert (columns["test"].dialogues, columns["test"].utterances) == (1, 2)
    total = columns["total"]
    assert (total.dialogues, total.utterances) == (3, 7)
    assert total.mean_length == pytest.approx((6 + 4 + 12 + 6 + 2 + 6 + 2) / 7)
    assert total.actions == Actions(select=1, revise=1, rewrite=2)


def test_a_split_without_dialogues_has_no_mean(project: Project, ann: User, wrote: Writes) -> None:
    wrote(ann, [OPENING])
    valid = by_split(project)["valid"]
    assert (valid.dialogues, valid.utterances, valid.mean_length) == (0, 0, None)
    assert valid.actions.share("select").share is None


def test_an_empty_project_has_an_empty_table(project: Project) -> None:
    assert [column.dialogues for column in Statistics(project).table_one()] == [0, 0, 0, 0]
    assert by_split(project)["total"].mean_length is None


def test_openings_and_turns_without_candidates_do_not_count_as_actions(
    project: Project, ann: User, wrote: Writes
) -> None:
    wrote(ann, [OPENING, ("Offline.", "", None, None), SELECTED])
    total = by_split(project)["total"]
    assert (total.utterances, total.actions.total) == (3, 1)


def test_vetoed_and_unfinished_dialogues_are_not_in_the_data(
    project: Project, ann: User, wrote: Writes
) -> None:
    wrote(ann, [OPENING, REVISED], review=ReviewState.VETOED)
    wrote(ann, [OPENING, SELECTED], state=DialogueState.WRITING, review=ReviewState.UNREVIEWED)
    wrote(ann, [OPENING, REWRITTEN], review=ReviewState.UNREVIEWED)
    total = by_split(project)["total"]
    assert (total.dialogues, total.actions) == (1, Actions(0, 0, 1))
    assert sum(bar.count for bar in Statistics(project).edit_distances()) == 0
    assert sum(bar.count for bar in Statistics(project).places_chosen()) == 0


def test_another_project_counts_for_itself(
    project: Project, ann: User, mara: User, wrote: Writes, joins: Callable[..., User]
) -> None:
    wrote(ann, [OPENING, SELECTED])
    other = Project.objects.create(slug="other", title="Other", protocol="authoring")
    joins("ann", other, Role.ANNOTATOR)
    assert Statistics(other).table_one()[-1].dialogues == 0
    assert Statistics(other).actions_over_time().periods == []


def test_actions_are_counted_by_day_with_gaps(project: Project, ann: User, wrote: Writes) -> None:
    wrote(ann, [OPENING, SELECTED, SELECTED])
    wrote(ann, [OPENING, REWRITTEN], at=MONDAY + timedelta(days=2))
    course = Statistics(project).actions_over_time()
    assert course.unit == "day"
    assert course.with_gaps() == [
        (date(2026, 3, 2), Actions(2, 0, 0)),
        (date(2026, 3, 3), None),
        (date(2026, 3, 4), Actions(0, 0, 1)),
    ]


@pytest.mark.parametrize(
    ("days", "unit", "periods"), [(60, "day", 61), (61, "week", 9), (420, "week", 61), (421, "month", 14)]
)
def test_long_projects_are_counted_by_longer_periods(
    project: Project, ann: User, wrote: Writes, days: int, unit: str, periods: int
) -> None:
    wrote(ann, [OPENING, SELECTED])
    wrote(ann, [OPENING, REWRITTEN], at=MONDAY + timedelta(days=days))
    course = Statistics(project).actions_over_time()
    assert course.unit == unit
    gaps = course.with_gaps()
    assert len(gaps) == periods
    assert gaps[-1][1] == Actions(0, 0, 1)


def test_work_on_vetoed_and_unfinished_dialogues_counts(project: Project, ann: User, wrote: Writes) -> None:
    wrote(ann, [OPENING, SELECTED], review=ReviewState.VETOED)
    wrote(ann, [OPENING, REVISED], state=DialogueState.WRITING, review=ReviewState.UNREVIEWED)
    (day,) = Statistics(project).actions_over_time().periods
    assert day.actions == Actions(1, 1, 0)


def test_undone_turns_do_not_count_as_work(project: Project, ann: User, wrote: Writes) -> None:
    dialogue = wrote(ann, [OPENING, SELECTED, REVISED])
    Turn.objects.filter(dialogue=dialogue, position=2).update(undone_at=MONDAY, utterance=None)
    (row,) = Statistics(project).actions_by_annotator()
    assert row.actions == Actions(1, 0, 0)


def test_annotators_with_most_turns_come_first(project: Project, ann: User, bob: User, wrote: Writes) -> None:
    wrote(ann, [OPENING, SELECTED])
    wrote(bob, [OPENING, REVISED, REWRITTEN])
    User.objects.filter(pk=bob.pk).update(display_name="Bob B.")
    people = Statistics(project).actions_by_annotator()
    assert [(str(row.person), row.actions) for row in people] == [
        ("Bob B.", Actions(0, 1, 1)),
        ("ann", Actions(1, 0, 0)),
    ]


def test_large_edit_distances_share_the_last_bar(project: Project, ann: User, wrote: Writes) -> None:
    far: Row = ("Something else entirely.", "revise", 1, 90)
    wrote(ann, [OPENING, REVISED, REVISED, far, ("x", "revise", 1, 50)])
    bars = Statistics(project).edit_distances()
    assert [bar for bar in bars if bar.count] == [Bar(8, 2), Bar(50, 2)]
    assert [bar.value for bar in bars] == list(range(1, 51))


def test_places_are_counted_from_one_and_include_unused_places(
    project: Project, ann: User, wrote: Writes
) -> None:
    wrote(ann, [OPENING, SELECTED, REVISED, REWRITTEN, SELECTED])
    counts = {bar.value: bar.count for bar in Statistics(project).places_chosen()}
    assert counts == {1: 2, 2: 0, 3: 1, 4: 0, 5: 0, 6: 0, 7: 0}


def test_paces_are_seconds_active_by_median_and_idle_by_mean(
    project: Project, ann: User, bob: User, wrote: Writes
) -> None:
    for seconds in (10, 20, 60):
        wrote(ann, [OPENING], active=seconds * 1000, idle=(seconds - 10) * 1000)
    wrote(bob, [OPENING], active=5000)
    first, second = Statistics(project).paces()
    assert (str(first.person), first.turns, first.active, first.idle) == ("ann", 3, 20.0, 20.0)
    assert first.active_p90 == pytest.approx(52.0)  # 20 + 0.8 × (60 - 20), interpolated
    assert (str(second.person), second.active, second.idle) == ("bob", 5.0, 0.0)


def test_turns_without_times_have_no_pace(project: Project, ann: User, wrote: Writes) -> None:
    wrote(ann, [OPENING], active=0, idle=0)
    assert Statistics(project).paces() == []
