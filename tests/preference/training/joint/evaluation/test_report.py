"""The report of how a model ranks what people wrote, and the command that makes it."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from preference.training.common.dialogues import TrainingDialogue, Turn
from preference.training.joint.evaluation.command import main
from preference.training.joint.evaluation.report import build_report
from preference.training.joint.evaluation.scoring import ScoredReply, TurnScores
from tests.preference.training.ranked import rows, tiny_model, write_rows

Evaluates = Callable[..., int]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "joint"
    tiny_model().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("data") / "dialogues.jsonl", rows(5))


@pytest.fixture
def evaluates(model: Path, data: Path) -> Evaluates:
    """evaluates("--json") runs the command in this process and returns its exit status."""

    def evaluate(*more: str, model: Path = model, data: Path = data) -> int:
        return main(["--data", str(data), "--model", str(model), "--device", "cpu", *more])

    return evaluate


def reply(preference: float, logprob: float, tokens: int = 2, text: str = "") -> ScoredReply:
    return ScoredReply(text or f"reply {preference}", preference, logprob, tokens)


def turn(dialogue: int, human: ScoredReply, *others: ScoredReply, action: str = "rewrite") -> TurnScores:
    about = Turn(1, human.text, tuple(one.text for one in others), action, "")
    return TurnScores(dialogue, about, human, others, reply(-9.0, -90.0))


def dialogue(name: str, domain: str, language: str = "en") -> TrainingDialogue:
    return TrainingDialogue(name, "test", domain, language, (), ())


TURNS = [
    turn(0, reply(3, -8), reply(2, -2), reply(1, -4), action="select"),
    turn(0, reply(1, -2), reply(2, -6, text="a longer reply")),
    turn(1, reply(5, -8, tokens=8), reply(4, -4)),
]
DIALOGUES = [dialogue("a", "pets"), dialogue("b", "work", "zh")]


def test_the_figures_are_those_of_the_scores() -> None:
    overall = build_report(TURNS, DIALOGUES, has_head=True, seed=1)["overall"]
    assert overall["preference"]["p_at_1"]["value"] == pytest.approx(2 / 3)
    assert overall["preference"]["mrr"]["value"] == pytest.approx((1 + 1 / 2 + 1) / 3)
    # By token the third human reply is the likelier one, by sum the other.
    assert overall["generation"]["p_at_1"]["value"] == pytest.approx(2 / 3)
    assert overall["generation_sum"]["p_at_1"]["value"] == pytest.approx(1 / 3)
    assert overall["difference"]["p_at_1"]["value"] == pytest.approx(0)
    assert overall["pairs"]["human_model"]["value"] == pytest.approx(3 / 4)
    assert overall["pairs"]["human_model"]["n"] == 4
    assert overall["pairs"]["model_random"]["value"] == 1
    assert overall["nll"]["value"] == pytest.approx(18 / 12)
    assert overall["perplexity"]["value"] == pytest.approx(math.exp(1.5))
    assert overall["nll"]["n"] == 3
    assert overall["baselines"]["chance"]["value"] == pytest.approx((1 / 3 + 1 / 2 + 1 / 2) / 3)


def test_groups_are_by_domain_language_and_action() -> None:
    made = build_report(TURNS, DIALOGUES, has_head=True, seed=1)
    assert [(name, group["n_turns"]) for name, group in made["by_domain"].items()] == [
        ("pets", 2),
        ("work", 1),
    ]
    assert made["by_domain"]["pets"]["preference"]["p_at_1"]["value"] == 0.5
    assert made["by_language"].keys() == {"en", "zh"}
    assert made["by_action"]["rewrite"]["preference"]["p_at_1"]["value"] == 0.5
    assert (made["n_dialogues"], made["n_turns"]) == (2, 3)


def test_intervals_are_of_dialogues() -> None:
    made = build_report(TURNS, DIALOGUES, has_head=True, seed=1)
    found = made["overall"]["preference"]["p_at_1"]
    assert (found["low"], found["high"]) == (0.5, 1.0)
    assert made["by_domain"]["pets"]["preference"]["p_at_1"]["low"] is None


def test_without_a_head_there_is_generation_alone() -> None:
    overall = build_report(TURNS, DIALOGUES, has_head=False, seed=1)["overall"]
    assert overall["generation"]["p_at_1"]["value"] == pytest.approx(2 / 3)
    assert not {"preference", "difference", "pairs"} & overall.keys()


def test_the_command_prints_a_table(evaluates: Evaluates, capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluates() == 0
    shown = capsys.readouterr().out
    for words in (
        "preference score",
        "generation, per token",
        "P@1 by action",
        "pets",
        "human > random",
        "perplexity",
    ):
        assert words in shown
    assert max(len(line) for line in shown.splitlines()) <= 120


def test_the_command_prints_and_writes_json(
    evaluates: Evaluates, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "reports" / "evaluation.json"
    assert evaluates("--json", "--output", str(file)) == 0
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert made == json.loads(file.read_text())
    assert made["model"]["head"] == "trained"
    assert "joint@" in made["model"]["version"]
    assert len(made["data"]["sha256"]) == 64
    assert (made["split"], made["n_dialogues"]) == ("test", 5)
    assert made["overall"]["preference"]["map"]["n"] == made["n_turns"]


def test_a_second_run_gives_the_same_report(evaluates: Evaluates, capsys: pytest.CaptureFixture[str]) -> None:
    evaluates("--json")
    first = capsys.readouterr().out
    evaluates("--json")
    assert capsys.readouterr().out == first


def test_selected_candidates_may_count_as_copies_of_the_human_reply(
    evaluates: Evaluates, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    selected = rows(5)
    for row in selected:
        for turn in row["conversation"][1:]:
            turn["response_candidates"].append(turn["utterance"])
    data = write_rows(tmp_path / "selected.jsonl", selected)
    reports = {}
    for copies in ("removed", "relevant"):
        assert evaluates("--json", "--copies", copies, data=data) == 0
        reports[copies] = json.loads(capsys.readouterr().out)
        assert reports[copies]["copies"] == copies
    without, with_copies = (reports[name]["overall"]["preference"] for name in ("removed", "relevant"))
    assert without["map"]["value"] == without["mrr"]["value"] == with_copies["mrr"]["value"]
    assert with_copies["map"]["value"] > without["map"]["value"]
    assert with_copies["p_at_1"] == without["p_at_1"]


def test_a_model_without_a_head_is_said_to_have_none(
    evaluates: Evaluates, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = tiny_model()
    plain.backbone.save_pretrained(tmp_path / "plain")
    plain.tokenizer.save_pretrained(tmp_path / "plain")
    assert evaluates(model=tmp_path / "plain") == 0
    shown = capsys.readouterr().out
    assert "no preference head" in shown
    assert "preference score" not in shown
    assert evaluates("--untrained-head", model=tmp_path / "plain") == 0
    assert "untrained head" in capsys.readouterr().out


def test_a_split_without_dialogues_is_refused_with_what_there_is(
    evaluates: Evaluates, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluates("--split", "valid") == 1
    assert "no dialogue" in (said := capsys.readouterr().err.lower())
    assert "test 5" in said
    assert "--split all" in said
    assert evaluates("--split", "all") == 0


def test_a_split_without_candidates_is_refused(
    evaluates: Evaluates, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_rows(tmp_path / "mixed.jsonl", [*rows(2, split="train"), *rows(2, candidates=0)])
    assert evaluates(data=data) == 1
    assert "no candidates" in capsys.readouterr().err


def test_duplicate_replies_count_once(
    evaluates: Evaluates, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    single, double = rows(2), rows(2)
    for row in double:
        for said in row["conversation"][1:]:
            said["response_candidates"] = [said["utterance"], *said["response_candidates"] * 2]
    reports = []
    for name, given in (("single", single), ("double", double)):
        assert evaluates("--json", data=write_rows(tmp_path / name, given)) == 0
        reports.append(json.loads(capsys.readouterr().out)["overall"])
    assert reports[0] == reports[1]


def test_weights_that_are_not_numbers_are_refused(
    evaluates: Evaluates, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tiny_model()
    torch.nn.init.constant_(broken.head.weight, float("nan"))
    broken.save_pretrained(tmp_path / "broken")
    assert evaluates(model=tmp_path / "broken") == 1
    assert "NaN" in capsys.readouterr().err


def test_a_missing_model_and_an_unwritable_report_are_named(
    evaluates: Evaluates, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluates(model=tmp_path / "nowhere") == 1
    assert "nowhere" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert evaluates("--output", str(tmp_path / "file" / "report.json")) == 1
    assert "cannot be written" in capsys.readouterr().err
