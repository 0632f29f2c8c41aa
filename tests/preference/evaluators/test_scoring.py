"""Scoring the replies of a project with evaluators in a process of their own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils.translation import override
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import User
from common.refusals import Invalid, NotAllowed
from dialogues.models import Dialogue, Utterance
from jobs.models import JobState
from jobs.services import run_job
from preference import child_process
from preference.evaluators.catalogue import KINDS, parse_settings, specification
from preference.evaluators.files import folder_of_scoring
from preference.evaluators.models import EvaluatorName, Score, ScoringRun
from preference.evaluators.selectors.scoring import exported_scores, scoring_runs_of, sorted_scores, text_of
from preference.evaluators.services.scoring import start_scoring
from preference.training.evaluators import table
from preference.training.evaluators.specification import parse_specification
from projects.models import Project
from tests.generation.conftest import tiny_model as tiny_model
from tests.preference.conftest import Written, refused
from tests.preference.evaluators.conftest import imported
from tests.preference.training.evaluators.conftest import judge_server as judge_server

pytestmark = pytest.mark.django_db


def waiting(
    project: Project, actor: User | None = None, evaluator: str = "length", **request: Any
) -> ScoringRun:
    chosen = {"run_id": uuid4(), "enqueue": False, **request}
    return start_scoring(project=project, actor=actor, evaluator=evaluator, **chosen)


def carried_out(run: ScoringRun) -> ScoringRun:
    """As a worker of the queue `training` does."""
    job = run_job(job_id=run.job_id)
    assert job.state == JobState.DONE, (job.error, job.remedy)
    return ScoringRun.objects.select_related("job", "project", "model").get(pk=run.pk)


def scored(project: Project, evaluator: str = "length", **request: Any) -> ScoringRun:
    return carried_out(waiting(project, None, evaluator, **request))


# ---- what is scored --------------------------------------------------------------------------------------------------


def test_every_reply_of_authored_dialogues_is_scored(project: Project, written: Written) -> None:
    first, second = written(), written()
    run = scored(project)
    assert (run.job.done, run.job.total, run.scored, run.unscored) == (6, 6, 6, 0)
    scores = list(Score.objects.filter(run=run).select_related("utterance"))
    assert {score.dialogue_id for score in scores} == {first.pk, second.pk}
    assert all(score.value == len(score.utterance.text) and score.utterance.position for score in scores)
    assert run.description == {"evaluator": "length", "unit": "characters"}
    assert sum(n for _low, _high, n in run.summary["histogram"]) == 6
    assert run.summary["low"] == min(score.value or 0 for score in scores)
    assert not folder_of_scoring(run).exists()


def test_dialogues_that_experts_vetoed_or_nobody_finished_are_left_out(
    project: Project, written: Written
) -> None:
    kept = written("pass")
    written("veto")
    written(finish=False)
    assert {score.dialogue_id for score in Score.objects.filter(run=scored(project))} == {kept.pk}


def test_candidates_are_scored_beside_the_reply_that_was_sent(project: Project, written: Written) -> None:
    dialogue = written()
    run = scored(project, "bleu", target="candidates")
    assert (run.scored, run.unscored) == (21, 3)
    assert list(run.reasons.values()) == [3]  # nobody wrote a reference for what was sent
    shown = Score.objects.filter(run=run, utterance__position=1, place__isnull=False).select_related(
        "utterance__candidate_set"
    )
    assert [text_of(score) for score in shown.order_by("place")] == [
        f"candidate {place} of 1" for place in range(7)
    ]
    best = sorted_scores(run, "highest")[0]
    assert best.dialogue_id == dialogue.pk
    assert best.value == pytest.approx(100)  # the candidate that was sent unchanged
    exported = list(exported_scores(run))
    assert len(exported) == 24
    assert set(exported[0]) == {"dialogue", "position", "candidate", "text", "score", "reason"}


def test_in_labelling_the_last_utterance_stands_for_the_dialogue(quality: Project) -> None:
    imported(quality, 2, utterances=5)
    run = scored(quality)
    assert sorted(score.utterance.position for score in run.scores.all()) == [1, 1, 1, 4, 4]
    assert scored(quality, target="utterances").scored == 3 + 8


def test_an_imported_reference_is_used(quality: Project) -> None:
    Utterance.objects.filter(position=1).update(metadata={"reference": "Words and more words"})
    assert scored(quality, "rouge_l").scored == 3


def test_an_empty_reply_gets_no_score_but_a_reason_in_the_language_of_who_asked(quality: Project) -> None:
    Utterance.objects.filter(position=1, dialogue=Dialogue.objects.first()).update(text=" ")
    with override("zh-hans"):
        run = scored(quality)
    assert (run.scored, run.unscored) == (2, 1)
    (score,) = sorted_scores(run, "unscored")
    assert score.value is None
    assert "。" in score.reason
    assert run.reasons == {score.reason: 1}


def test_a_reply_that_was_deleted_meanwhile_is_left_out(
    quality: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow = child_process.follow

    def follow_and_delete(*arguments: Any, **options: Any) -> int:
        status: int = follow(*arguments, **options)
        Dialogue.objects.order_by("pk")[0].delete()
        return status

    monkeypatch.setattr(child_process, "follow", follow_and_delete)
    run = waiting(quality)
    Dialogue.objects.order_by("pk")[0].tasks.all().delete()
    assert carried_out(run).scored == 2


# ---- what is asked ---------------------------------------------------------------------------------------------------


def test_the_same_request_again_returns_the_first_run(quality: Project, mara: User) -> None:
    run_id = uuid4()
    request: dict[str, Any] = {"run_id": run_id, "settings": {"unit": "words"}}
    first = waiting(quality, mara, **request)
    assert waiting(quality, mara, **request) == first
    with refused("id_in_use"):
        waiting(quality, mara, run_id=run_id)
    assert ScoringRun.objects.count() == 1


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"evaluator": "praise"}, "evaluator"),
        ({"target": "candidates"}, "target"),
        ({"model": "some-model"}, "model"),
        ({"evaluator": "likelihood"}, "model"),
        ({"settings": {"size": 3}}, "settings"),
        ({"settings": {"unit": "pages"}}, "settings"),
        ({"evaluator": "distinct", "settings": {"n": 0}}, "settings"),
        ({"evaluator": "distinct", "settings": {"n": True}}, "settings"),
        ({"evaluator": "judge", "settings": {"server": "file:///etc"}}, "settings"),
        ({"evaluator": "judge", "settings": {"server": "http://j/v1,model=b"}}, "settings"),
        ({"evaluator": "judge", "settings": {"server": "http://j/v1"}}, "settings"),
        (
            {
                "evaluator": "judge",
                "settings": {"server": "http://j/v1", "server_model": "m", "question": "mood"},
            },
            "settings",
        ),
        (
            {
                "evaluator": "judge",
                "settings": {"server": "http://j/v1", "server_model": "m", "api_key_env": "SECRET_KEY"},
            },
            "settings",
        ),
    ],
)
def test_a_request_that_cannot_be_names_its_field(
    quality: Project, mara: User, request_: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        waiting(quality, mara, **request_)
    assert refusal.value.details["field"] == field
    assert not ScoringRun.objects.exists()


def test_only_administrators_send_a_key_to_a_server(quality: Project, mara: User) -> None:
    settings = {"server": "http://j/v1", "server_model": "m", "api_key_env": "LAPIDARY_KEY_JUDGE"}
    with pytest.raises(NotAllowed):
        waiting(quality, mara, "judge", settings=settings)
    mara.is_superuser = True
    assert waiting(quality, mara, "judge", settings=settings).settings["api_key_env"] == "LAPIDARY_KEY_JUDGE"


def test_a_project_without_a_finished_reply_has_nothing_to_score(project: Project) -> None:
    with refused("nothing_to_score"):
        waiting(project)


def test_a_model_of_somebody_else_is_not_found(quality: Project, mara: User) -> None:
    with refused("not_found"):
        waiting(quality, mara, "likelihood", model="/models/secret")


@pytest.mark.parametrize("evaluator", EvaluatorName.values)
def test_the_command_knows_every_evaluator_and_setting(evaluator: str, tmp_path: Path) -> None:
    text = specification(evaluator, parse_settings(evaluator, {}), "folder", comparisons=tmp_path)
    parsed = parse_specification(text)
    settings = [name for name in parsed.settings if name != "comparisons"]
    assert not set(settings) - set(table.KINDS[parsed.evaluator].settings)
    assert set(KINDS) == set(EvaluatorName.values)


def test_the_list_of_runs_takes_one_query(
    quality: Project, mara: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _number in range(3):
        waiting(quality, mara)
    with django_assert_num_queries(1):
        assert [(run.job.state, run.created_by) for run in scoring_runs_of(quality)] == [("queued", mara)] * 3


# ---- failures --------------------------------------------------------------------------------------------------------


def test_a_failure_is_reported_with_cause_and_remedy(
    quality: Project, settings: Settings, tmp_path: Path
) -> None:
    settings.TRAINING_BASE_MODELS = [str(tmp_path / "missing")]
    run = waiting(quality, None, "likelihood", model=str(tmp_path / "missing"))
    job = run_job(job_id=run.job_id)
    assert job.state == JobState.FAILED
    assert "missing" in job.error
    assert job.remedy


def test_a_judge_is_asked_a_question_of_the_schema(quality: Project, judge_server: str) -> None:
    settings = {"server": f"{judge_server}/good/v1", "server_model": "judge-1", "question": "quality"}
    run = scored(quality, "judge", settings=settings)
    assert run.scored + run.unscored == 3
    assert run.description["questions"][0]["key"] == "quality"
    assert "secret" not in str(run.description)


def test_a_judge_gets_its_key_and_no_other(
    quality: Project, judge_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAPIDARY_KEY_JUDGE", "secret")
    settings = {
        "server": f"{judge_server}/checks/v1",
        "server_model": "m",
        "api_key_env": "LAPIDARY_KEY_JUDGE",
    }
    run = scored(quality, "judge", settings=settings)
    assert {score.value for score in run.scores.all()} == {5}


# ---- models ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_model_compares_replies_with_replies_of_the_project(
    quality: Project, tiny_model: Callable[..., Path], settings: Settings
) -> None:
    folder = str(tiny_model("llama"))
    settings.TRAINING_BASE_MODELS = [folder]
    run = scored(quality, "paireval", model=folder, settings={"k": 2})
    examples = run.description["comparisons"]
    assert len(examples) == 2
    assert all(score.value is None or 0 <= score.value <= 1 for score in run.scores.all())
    assert run.base == folder
    assert scored(quality, "paireval", model=folder, settings={"k": 2}).description == run.description
    job = run_job(job_id=waiting(quality, None, "paireval", model=folder, settings={"k": 9}).job_id)
    assert (job.state, "3" in job.error) == (JobState.FAILED, True)


@pytest.mark.slow
def test_the_likelihood_of_a_model_without_training(
    quality: Project, tiny_model: Callable[..., Path], settings: Settings
) -> None:
    folder = str(tiny_model("llama"))
    settings.TRAINING_BASE_MODELS = [folder]
    run = scored(quality, "likelihood", model=folder)
    assert run.scored == 3
    assert all((score.value or 0) < 0 for score in run.scores.all())
