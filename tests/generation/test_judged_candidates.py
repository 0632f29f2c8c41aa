"""The 80 openings, their candidates, and what two readers thought of them: files, figures, and the model card."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from generation import loaded
from generation.demo_model.corpus import LANGUAGES
from generation.models import BackendKind, CandidateRequest, Generator
from generation.protocol import BackendError, ReplySet
from generation.worker import drain
from preference.training.demo_model.candidates import (
    REPLIES,
    candidates,
    judged_openings,
    read_rows,
    request_for,
)
from preference.training.demo_model.judgements import (
    Judged,
    agreement,
    findings,
    read_judged,
    share,
    table,
)
from projects.models import Project
from tests.candidate_requests import create_dialogue, create_generator, create_request

DEMO_MODEL = Path(__file__).parents[2] / "generation" / "demo_model"
REPLY_COLUMNS = "number\tlanguage\ttopics\tmood\topening\tcandidate\treply\n"
VERDICT_COLUMNS = "number\tcandidate\tsensible\tfluent\tremark\n"


def test_forty_openings_a_language_half_of_them_outside_the_topics() -> None:
    groups = Counter((opening.language, opening.topics) for opening in judged_openings())
    assert groups == {(code, topics): 20 for code in LANGUAGES for topics in ("inside", "outside")}


@pytest.mark.parametrize("language", LANGUAGES)
def test_moods_are_mixed_and_deaths_are_among_them(language: str) -> None:
    moods = Counter(opening.mood for opening in judged_openings() if opening.language == language)
    assert moods == {"good": 9, "bad": 10, "grave": 4, "neutral": 10, "question": 7}


@pytest.fixture
def demo_model(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Generator]:
    """The shipped model, as a worker loads it."""
    models = type(loaded._loaded)()
    monkeypatch.setattr(loaded, "_loaded", models)
    yield create_generator("demo", BackendKind.HF, model=str(DEMO_MODEL / "model"), threads=1)
    for model in models.values():
        model.backend.close()


def test_an_annotator_gets_these_candidates_and_they_were_drawn_as_the_file_says(
    project: Project, demo_model: Generator
) -> None:
    """Which of the draws are kept may change with the rules for that, and the file with it; the draws may not."""
    opening = judged_openings()[0]
    request = create_request(create_dialogue(project, opening.text), demo_model, one_script=True)
    CandidateRequest.objects.filter(pk=request.pk).update(seed=opening.number)
    drain("worker")
    request.refresh_from_db()
    assert request.candidate_set is not None
    with loaded.use_backend(demo_model) as backend:
        assert sorted(each["text"] for each in request.candidate_set.candidates) == sorted(
            candidates(backend, opening)
        )
        (drawn,) = backend.generate([request_for(opening)])
    assert isinstance(drawn, ReplySet)
    written = [row["reply"] for row in read_rows(REPLIES) if row["number"] == str(opening.number)]
    assert len(written) == 7
    assert set(written) <= {reply.text for reply in drawn.replies}


def test_a_model_that_fails_is_an_error() -> None:
    class Failing:
        version = "1"

        def generate(self, requests: object) -> list[BackendError]:
            return [BackendError("The device is full.", "Free it.")]

    with pytest.raises(BackendError, match="The device is full"):
        candidates(Failing(), judged_openings()[0])  # type: ignore[arg-type]


def test_every_opening_has_five_to_seven_different_candidates() -> None:
    rows = read_rows(REPLIES)
    replies = {opening.number: [] for opening in judged_openings()}  # type: dict[int, list[str]]
    for row in rows:
        replies[int(row["number"])].append(row["reply"])
    assert {len(texts) for texts in replies.values()} <= {5, 6, 7}
    assert all(len(set(texts)) == len(texts) for texts in replies.values())


def judged(number: int, first: bool, second: bool) -> Judged:
    return Judged(
        number, 1, "en", "inside", "good", "We won!", "Yay!", (first, second), (True, True), ("", "")
    )


def test_shares_and_agreement_by_hand() -> None:
    four = [judged(1, True, True), judged(1, True, False), judged(2, False, False), judged(2, False, False)]
    assert share(four, lambda one: one.sensible[0]).value == 0.5
    assert share(four, lambda one: one.sensible[1]).value == 0.25
    agreed, kappa = agreement(four)
    assert agreed.value == 0.75
    # Chance: both "sensible" 1/2 * 1/4, neither 1/2 * 3/4, together 1/2; (3/4 - 1/2) / (1 - 1/2).
    assert kappa.value == pytest.approx(0.5)


def test_intervals_resample_openings() -> None:
    """Candidates to one opening mostly fail together: forty of them tell less than forty openings would."""
    together = [judged(at % 2, bool(at % 2), True) for at in range(40)]
    apart = [replace(one, number=at) for at, one in enumerate(together)]
    wide, narrow = (share(each, lambda one: one.sensible[0]) for each in (together, apart))
    assert (wide.low, wide.high) == (0, 1)
    assert narrow.low is not None
    assert narrow.low > 0.3


def test_openings_that_got_something_sensible_are_counted() -> None:
    rows = [judged(1, True, False), judged(1, True, False), judged(2, False, False)]
    assert "candidate: 1 (first reader) and 0 (second reader) of 2." in findings(rows)
    assert "The 1 without any hold 1 of the 1 candidates that neither" in findings(rows)


def test_a_missed_goal_and_a_foreign_letter_are_reported() -> None:
    rows = [judged(at, at < 4, at < 3) for at in range(4)]
    assert "Goal of 75 % sensible in English: reached" in findings(rows)
    worse = [
        replace(one, reply="About始 isn't hot.", mood="grave", remarks=("joke at a death", ""))
        for one in rows[1:]
    ]
    assert "Goal of 75 % sensible in English: **missed**" in findings(worse)
    assert "foreign script: 3 of 3 candidates" in findings(worse)
    assert "3 (first reader) and 0 (second reader) of the 3 candidates" in findings(worse)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    replies, first, second = (tmp_path / name for name in ("replies.tsv", "first.tsv", "second.tsv"))
    replies.write_text(f'{REPLY_COLUMNS}1\ten\tinside\tgood\tWe won!\t1\tThe "cup"?\n', encoding="utf-8")
    first.write_text(f"{VERDICT_COLUMNS}1\t1\t1\t1\t\n", encoding="utf-8")
    second.write_text(f"{VERDICT_COLUMNS}1\t1\t0\t1\todd\n", encoding="utf-8")
    return replies, first, second


def test_candidates_are_read_with_both_verdicts(files: tuple[Path, Path, Path]) -> None:
    (one,) = read_judged(files[0], files[1:])
    assert (one.reply, one.sensible, one.fluent) == ('The "cup"?', (True, False), (True, True))
    assert one.remarks == ("", "odd")


@pytest.mark.parametrize(
    ("rows", "message"),
    [("", "one row for each candidate"), ("1\t1\tyes\t1\t\n", "must be 0 or 1, but opening 1")],
)
def test_missing_and_odd_verdicts_are_refused(
    files: tuple[Path, Path, Path], rows: str, message: str
) -> None:
    files[2].write_text(VERDICT_COLUMNS + rows, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_judged(files[0], files[1:])


def test_the_model_card_has_the_figures_of_the_command() -> None:
    card = (DEMO_MODEL / "MODEL_CARD.md").read_text(encoding="utf-8")
    rows = read_judged()
    assert table(rows) in card
    assert findings(rows) in card
