"""The report of a run, and of how far two runs agree (Ji et al., 2022, section 4)."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from assessment.report.selectors.rated_sessions import CountedAssignment, RunRatings, run_ratings
from assessment.sessions.models.runs import Run
from assessment.setup.models import AssessmentSettings
from measures.bootstrap import Floats
from measures.rated_dialogues import standardise
from measures.reliability import Reliability, reliability_tests
from measures.system_comparison import PairTest, Replication, pairwise_tests, replication
from measures.system_scores import SystemScores, ranked, system_scores
from projects.models import Project


@dataclass(frozen=True, slots=True)
class Split:
    """A number over all participants, over those who passed the reliability test, and over those who failed it.

    None for an empty group.
    """

    all: float | None
    passed: float | None
    failed: float | None


@dataclass(frozen=True, slots=True, eq=False)
class RunReport:
    """What the ratings of a run say.

    participants, dialogues: numbers; dialogues without those with the degraded system. minutes: mean per dialogue.
    tests: the reliability test of everybody with a rating; passed: ids of who passed. z: standardised ratings, of the
    shape of ratings.dialogues.scores. scores, raw: of the participants who passed, best first; standardised and 0-100.
    """

    ratings: RunRatings
    threshold: float
    participants: Split
    dialogues: Split
    minutes: Split
    tests: tuple[Reliability, ...]
    passed: frozenset[int]
    z: Floats
    scores: tuple[SystemScores, ...]
    raw: tuple[SystemScores, ...]
    pairwise: tuple[PairTest, ...]

    @property
    def run(self) -> Run:
        return self.ratings.run


def run_report(run: Run, settings: AssessmentSettings, threshold: float | None = None) -> RunReport:
    """The report of a run. threshold: of the reliability test; the project's by default.

    Everything rests on the assignments that ended paid. Without a degraded system nobody can pass the test, and the
    systems have no scores.
    """
    limit = settings.significance if threshold is None else threshold
    ratings = run_ratings(run, settings)
    table = ratings.dialogues
    tests, passed = _test_participants(ratings, settings, limit)
    rows, z = table.of_participants(passed), standardise(table)
    scores = ranked(system_scores(table, z, rows))
    raw = {each.system: each for each in system_scores(table, table.scores, rows)}
    return RunReport(
        ratings=ratings,
        threshold=limit,
        participants=_split_participants(ratings.assignments, passed),
        dialogues=_split_dialogues(ratings.assignments, passed, settings.ordinary_systems),
        minutes=_split_minutes(ratings.assignments, passed),
        tests=tests,
        passed=passed,
        z=z,
        scores=scores,
        raw=tuple(raw[each.system] for each in scores),
        pairwise=_ordered_pairs(pairwise_tests(table, z, rows), scores),
    )


def passed_participants(run: Run, settings: AssessmentSettings) -> frozenset[int]:
    """The ids of the participants of a run who passed the reliability test."""
    return _test_participants(run_ratings(run, settings), settings, settings.significance)[1]


def _test_participants(
    ratings: RunRatings, settings: AssessmentSettings, limit: float
) -> tuple[tuple[Reliability, ...], frozenset[int]]:
    """The tests, and the ids of who passed."""
    in_test = [each.name for each in settings.statement_list if each.in_reliability_test]
    tests = reliability_tests(ratings.dialogues, in_test)
    return tests, frozenset(int(str(test.participant)) for test in tests if test.passes(limit))


def project_reports(project: Project, number: int | None = None) -> list[RunReport]:
    """The reports of the project's runs in order, or of the one with this number."""
    settings = AssessmentSettings.objects.get(project=project)
    runs = Run.objects.filter(project=project, **({} if number is None else {"number": number}))
    return [run_report(run, settings) for run in runs.order_by("number")]


@dataclass(frozen=True, slots=True)
class RunPair:
    """How far two runs, by number, agree."""

    runs: tuple[int, int]
    replication: Replication


def replications(reports: Sequence[RunReport]) -> list[RunPair]:
    """Every two of the reports compared, the earlier run first."""
    return [
        RunPair(
            (one.run.number, other.run.number),
            replication(one.scores, other.scores, (one.pairwise, other.pairwise)),
        )
        for one, other in itertools.combinations(reports, 2)
    ]


def _split_participants(assignments: Iterable[CountedAssignment], passed: frozenset[int]) -> Split:
    people = {assignment.participant for assignment in assignments}
    return Split(len(people), len(people & passed), len(people - passed))


def _split_dialogues(assignments: Iterable[CountedAssignment], passed: frozenset[int], usual: int) -> Split:
    """A file's assignment without results counts with the usual number, as in Table 1 of the paper."""
    total = good = 0
    for assignment in assignments:
        dialogues = assignment.ordinary if assignment.conversations else usual
        total += dialogues
        good += dialogues if assignment.participant in passed else 0
    return Split(total, good, total - good)


def _split_minutes(assignments: Iterable[CountedAssignment], passed: frozenset[int]) -> Split:
    """The mean over assignments of their minutes per conversation, the degraded one included."""
    timed = [
        (assignment.participant in passed, assignment.seconds / 60 / assignment.conversations)
        for assignment in assignments
        if assignment.seconds is not None and assignment.conversations
    ]
    parts = (
        [minutes for _, minutes in timed],
        [minutes for has_passed, minutes in timed if has_passed],
        [minutes for has_passed, minutes in timed if not has_passed],
    )
    return Split(*(fmean(part) if part else None for part in parts))


def _ordered_pairs(tests: Iterable[PairTest], scores: Sequence[SystemScores]) -> tuple[PairTest, ...]:
    """In the order of the systems' scores."""
    places = {each.system: place for place, each in enumerate(scores)}
    return tuple(sorted(tests, key=lambda test: (places[test.better], places[test.worse])))
