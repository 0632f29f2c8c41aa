"""The report against numbers that can be counted by hand: means, κ, the majority, tests, and what it says of them."""

import json
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.utils import translation
from pytest_django import DjangoAssertNumQueries
from scipy.stats import mannwhitneyu

from accounts.models import User
from assessment.collections.models import CollectedDialogue, Collection
from assessment.collections.selectors.report import HUMAN, collection_report
from assessment.collections.selectors.verdict import verdict_sentences
from assessment.systems.connectors.protocol import Question
from generation.protocol import BackendError
from jobs.models import JobState
from jobs.services import run_job
from measures.estimate import Estimate
from projects.models import Project
from tests.assessment.collections.conftest import Collects, FakeSystems, add_dialogue
from tests.assessment.collections.raters import Opinion, rate, rate_everything
from tests.assessment.steps import begin, complete, opened_run

pytestmark = pytest.mark.django_db(transaction=True)


def made(collection: Collection) -> Collection:
    assert run_job(job_id=collection.job_id).state == JobState.DONE
    return Collection.objects.get(pk=collection.pk)


def always(**scores: tuple[int, int]) -> Opinion:
    """Every rater gives a system these scores; human: to the human reply."""
    return lambda rater, system: scores[system or "human"]


@pytest.fixture
def eight(collects: Collects, source: Project, fakes: FakeSystems) -> Collection:
    """Eight contexts, answered by a, by b and by a person."""
    for n in range(2):
        add_dialogue(source, f"more {n}", "yes")
    return made(collects("static", count=8))


def test_the_better_system_is_named_with_its_numbers(
    eight: Collection, rating: Project, raters: list[User]
) -> None:
    assert rate_everything(rating, raters, always(a=(2, 2), b=(1, 1), human=(2, 1))) == 3 * 24
    report = collection_report(eight)
    assert [row.system for row in report.systems] == ["a", HUMAN, "b"]
    assert report.systems[0].scores["engagingness"] == Estimate(2.0, 2.0, 2.0, 8)
    assert report.systems[2].scores["safety"].value == 1.0
    assert (report.planned, report.rated) == (24, 24)
    assert report.overall_agreement.value == 1.0
    engagingness = report.criteria[-1]
    assert engagingness.name == "engagingness"
    p = {(test.better, test.worse): test.p for test in engagingness.pairwise}
    assert p["a", "b"] == pytest.approx(1 / 256)  # eight of eight contexts
    assert p["b", HUMAN] is None  # no difference at all
    assert [(each.number, each.system) for each in report.beaten] == [(n, "a") for n in range(1, 9)]
    assert {each.criterion for each in report.beaten} == {"engagingness"}
    said = verdict_sentences(report)
    both = "in the 8 contexts that both answered"
    assert f"Coherence: “a” is better than “b” (2.00 against 1.00 {both}, p = 0.016)." in said
    assert (
        f"Coherence: the human reply and “a” do not differ significantly (2.00 against 2.00 {both})." in said
    )
    assert (
        f"Engagingness: “a” is better than the human reply (2.00 against 1.00 {both}, p = 0.016), "
        f"“b” (2.00 against 1.00 {both}, p = 0.016)."
    ) in said
    assert "Agreement is almost perfect (Fleiss' κ = 1.000, 96 items)." in said


def test_the_majority_counts_and_the_median_without_one(
    eight: Collection, rating: Project, raters: list[User]
) -> None:
    votes = {
        "a": {"rhea": 2, "ron": 2, "ruth": 0},  # majority 2
        "b": {"rhea": 0, "ron": 1, "ruth": 2},  # median 1
        "": {"rhea": 0, "ron": 0, "ruth": 0},
    }
    rate_everything(rating, raters, lambda rater, system: (votes[system][rater],) * 2)
    report = collection_report(eight)
    by_system = {row.system: row.scores["engagingness"].value for row in report.systems}
    assert by_system == {"a": 2.0, "b": 1.0, HUMAN: 0.0}
    engagingness = report.criteria[-1]
    assert engagingness.split == 8
    # Of 24 items: in 8 one of three pairs agrees, in 8 none, in 8 all; 40, 8 and 24 of the 72 answers are alike.
    observed, expected = (8 / 3 + 8) / 24, (40**2 + 8**2 + 24**2) / 72**2
    assert engagingness.agreement.value == pytest.approx((observed - expected) / (1 - expected))


def test_an_unclear_difference_says_how_many_contexts_would_show_it(
    eight: Collection, rating: Project, raters: list[User]
) -> None:
    """b is better in 4 contexts and a in 2."""
    rows = {row.dialogue_id: row for row in CollectedDialogue.objects.filter(collection=eight)}
    better = {number: "b" if number <= 4 else "a" for number in range(1, 7)}

    def opinion(number: int, system: str) -> int:
        return 2 if better.get(number) == system else 1

    for rater in raters:
        rate_by_number(rating, rater, rows, opinion)
    (said,) = [
        each for each in verdict_sentences(collection_report(eight)) if "Engagingness: “b” and “a”" in each
    ]
    assert said == (
        "Engagingness: “b” and “a” do not differ significantly "
        "(1.50 against 1.25 in the 8 contexts that both answered, p = 1). "
        "About 99 contexts would show a difference of this size."
    )


def rate_by_number(project: Project, rater: User, rows: dict[Any, CollectedDialogue], opinion: Any) -> None:
    from annotation.tasks.models.work import Assignment

    def known(name: str, system: str) -> tuple[int, int]:
        held = Assignment.objects.filter(annotator=rater).latest("pk")
        return 1, opinion(rows[held.dialogue_id].number, system)

    rate(project, rater, known)


def test_a_report_before_and_during_the_rating(
    eight: Collection, rating: Project, raters: list[User]
) -> None:
    assert verdict_sentences(collection_report(eight)) == ["Nobody has finished rating a dialogue yet."]
    rate(rating, raters[0], always(a=(2, 2), b=(1, 1), human=(2, 1)))
    report = collection_report(eight)
    assert (report.rated, report.overall_agreement.value) == (0, None)
    assert report.systems[0].rated == 8


def test_a_failed_system_is_named_and_its_dialogues_are_listed(
    collects: Collects, fakes: FakeSystems, rating: Project, raters: list[User]
) -> None:
    def fail(question: Question) -> str:
        raise BackendError("It is down.", "Start it.")

    fakes.answers["b"] = fail
    report = collection_report(made(collects("static", count=3)))
    assert [(each.number, each.system, each.error) for each in report.missing] == [
        (n, "b", "It is down. Start it.") for n in (1, 2, 3)
    ]
    assert "“b” failed in 3 dialogues, which are missing." in verdict_sentences(report)
    rate_everything(rating, raters, always(a=(2, 2), human=(1, 1)))
    assert {row.system: row.scores["safety"].value for row in collection_report(report_of(rating)).systems} == {
        "a": 2.0, HUMAN: 1.0, "b": None,
    }  # fmt: skip


def report_of(rating: Project) -> Collection:
    return Collection.objects.get(target=rating)


def test_the_report_is_written_in_the_readers_language(
    eight: Collection, rating: Project, raters: list[User]
) -> None:
    rate_everything(rating, raters, always(a=(2, 2), b=(1, 1), human=(2, 1)))
    with translation.override("zh-hans"):
        said = verdict_sentences(collection_report(eight))
    assert any(sentence.startswith("连贯性") for sentence in said)


def test_the_size_of_a_collection_costs_no_queries(
    collects: Collects, fakes: FakeSystems, source: Project, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    small, large = made(collects("static", count=1)), made(collects("static", count=6))
    for collection in (small, large):
        collection = Collection.objects.select_related("target__labelling__schema").get(pk=collection.pk)
        with django_assert_num_queries(9):
            collection_report(collection)


def command_output(*arguments: str) -> str:
    out = StringIO()
    call_command("collection_report", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_writes_json_and_a_table(eight: Collection, rating: Project, raters: list[User]) -> None:
    rate_everything(rating, raters, always(a=(2, 2), b=(1, 1), human=(2, 1)))
    written = json.loads(command_output(str(eight.pk), "--json"), parse_constant=pytest.fail)
    assert [row["system"] for row in written["systems"]] == ["a", None, "b"]
    assert written["systems"][0]["scores"]["engagingness"] == {"value": 2.0, "low": 2.0, "high": 2.0, "n": 8}
    assert written["verdict"][0].startswith("Coherence: ")
    (pair,) = [
        each
        for each in written["criteria"][-1]["comparisons"]
        if {each["better"], each["worse"]} == {"a", "b"}
    ]
    assert (pair["better"], pair["n"], pair["needed"]) == ("a", 8, 6)
    table = command_output(str(eight.pk))
    assert "“a”" in table
    assert "2.000 [2.00, 2.00]" in table
    with pytest.raises(CommandError, match="no collection"):
        command_output(str(uuid4()))


def test_conversations_of_participants_are_compared_as_independent_samples(
    collects: Collects, study: Project, rating: Project, raters: list[User]
) -> None:
    """Participants chose their own topics, so no two conversations have the same context."""
    run = opened_run(study)
    for name in ("ann", "bob", "cleo", "dora"):
        complete(begin(study, name))
    collection = made(collects("human_bot", source=None, systems=(), run=run))
    rate_everything(rating, raters, lambda rater, system: (2, 2) if system == "a" else (1, 1))
    report = collection_report(collection)
    assert [row.made for row in report.systems] == [4] * 5
    assert report.beaten == ()
    engagingness = {(each.better, each.worse): each for each in report.criteria[-1].comparisons}
    won = engagingness["a", "b"]
    alone = mannwhitneyu([2.0] * 4, [1.0] * 4, method="asymptotic").pvalue
    assert won.n == 4
    assert won.p == pytest.approx(4 * alone)  # of four pairs in which anything differs
    assert engagingness["b", "c"].p is None
    said = verdict_sentences(report)
    assert any(sentence.startswith("Engagingness: “a” is better than “b”") for sentence in said) == (
        4 * alone < 0.05
    )
