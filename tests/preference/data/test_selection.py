"""Which dialogues leave."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from annotation.authoring.services.completion import take_back_dialogue
from annotation.tasks.models.work import Assignment
from dialogues.models import Dialogue, DialogueState, Split
from jobs.models import Job
from preference.data.formats.catalogue import FORMATS
from preference.data.formats.replies import DrawContext
from preference.data.selectors import selection
from preference.data.selectors.formats import formats_of_protocol
from preference.data.selectors.selection import Filters, Preview, preview, select
from projects.models import Project, Protocol
from tests.preference.conftest import EVERYTHING, PASS, VETO, Rows, Written, diamante_file

Imports = Callable[..., Job]


def ids(rows: list[dict[str, object]]) -> list[object]:
    return [row["id"] for row in rows]


def test_only_what_experts_passed_leaves(rows: Rows, written: Written) -> None:
    passed, _vetoed, _unreviewed = written(PASS), written(VETO), written()
    written(finish=False)
    assert ids(rows("diamante", Filters())) == [passed.external_id]


def test_unreviewed_dialogues_leave_when_asked_for_and_vetoed_ones_never(
    rows: Rows, written: Written
) -> None:
    passed, _vetoed, unreviewed = written(PASS), written(VETO), written()
    assert ids(rows("diamante", EVERYTHING)) == [passed.external_id, unreviewed.external_id]


@pytest.mark.parametrize("format", formats_of_protocol(Protocol.AUTHORING))
def test_a_split_leaves_alone_in_every_format(rows: Rows, written: Written, format: str) -> None:
    ones, others = [written(PASS), written(PASS)], [written(PASS), written(PASS)]
    Dialogue.objects.filter(pk__in=[one.pk for one in ones]).update(split=Split.TEST)
    Dialogue.objects.filter(pk__in=[other.pk for other in others]).update(split=Split.TRAIN)
    everything = rows(format, Filters())
    parts = [rows(format, Filters(splits=(split,))) for split in (Split.TEST, Split.VALID, Split.TRAIN)]
    assert parts[0]
    assert parts[1] == []
    assert [row for part in parts for row in part] == everything


def test_the_preview_counts_every_dialogue_once_with_its_reason(
    project: Project, written: Written, imports: Imports
) -> None:
    for verdict in (PASS, PASS, VETO, None):
        written(verdict)
    written(finish=False)
    elsewhere = written(PASS)
    Dialogue.objects.update(split=Split.TRAIN)
    Dialogue.objects.filter(pk=elsewhere.pk).update(split=Split.TEST)
    abandoned = written(finish=False)
    Dialogue.objects.filter(pk=abandoned.pk).update(state=DialogueState.ABANDONED)
    train = preview(project, Filters(splits=(Split.TRAIN,)))
    assert train == Preview(leaving=2, writing=1, abandoned=1, vetoed=1, unreviewed=1, other_split=1)
    assert (train.total, train.left_out) == (7, 5)
    assert preview(project, EVERYTHING).leaving == 4


def test_the_preview_says_what_the_export_then_does(
    project: Project, imports: Imports, rows: Rows, written: Written
) -> None:
    imports(diamante_file(40))
    written(PASS)
    for filters in (Filters(), EVERYTHING, Filters((Split.VALID, Split.TEST), include_unreviewed=True)):
        assert preview(project, filters).leaving == len(rows("diamante", filters))


def test_dialogues_finished_during_an_export_wait_for_the_next(
    project: Project, imports: Imports, written: Written
) -> None:
    imports(diamante_file(3))
    chosen = select(project, EVERYTHING)
    written(PASS)
    assert sum(len(page) for page in chosen.pages()) == 3


def test_a_dialogue_that_is_taken_back_during_an_export_leaves_whole_or_not(
    project: Project, written: Written, ann: User
) -> None:
    written()
    taken = written()
    chosen = select(project, EVERYTHING)
    (page,) = chosen.pages()
    take_back_dialogue(annotator=ann, assignment_id=Assignment.objects.get(dialogue=taken).pk)
    exported = list(FORMATS["diamante"].live_rows(chosen, page, DrawContext()))
    assert len(exported) == 1


def test_pages_are_bounded_by_utterances_too(
    project: Project, imports: Imports, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selection, "READ_AT_ONCE", 4)
    monkeypatch.setattr(selection, "UTTERANCES_AT_ONCE", 7)
    imports(diamante_file(dialogues=5, turns=3))
    imports(diamante_file(dialogues=1, turns=20))
    sizes = [len(page) for page in select(project, EVERYTHING).pages()]
    assert sizes == [2, 2, 1, 1]


@pytest.mark.parametrize(("format", "queries"), [("diamante", 2), ("sft", 2), ("judgements", 3)])
def test_the_queries_of_a_page_do_not_grow_with_it(
    project: Project,
    imports: Imports,
    django_assert_num_queries: DjangoAssertNumQueries,
    format: str,
    queries: int,
) -> None:
    imports(diamante_file(dialogues=60))
    chosen = select(project, EVERYTHING)
    with django_assert_num_queries(queries):
        list(FORMATS[format].live_rows(chosen, next(chosen.pages()), DrawContext()))


def test_another_projects_dialogues_stay_there(project: Project, imports: Imports, rows: Rows) -> None:
    other = Project.objects.create(slug="other", title="Other", protocol="authoring")
    imports(diamante_file(3), into=other)
    assert rows("diamante") == []
    assert preview(project, EVERYTHING).total == 0


def test_finished_at_says_nothing_about_what_leaves(project: Project, imports: Imports, rows: Rows) -> None:
    imports(diamante_file(1))
    Dialogue.objects.update(finished_at=timezone.now() + timedelta(days=1))
    assert len(rows("diamante")) == 1
