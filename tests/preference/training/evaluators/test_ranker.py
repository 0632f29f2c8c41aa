"""Likelihood and preference score of replies, against encoding each alone."""

from pathlib import Path

import pytest
import torch

from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import ReplyToScore
from preference.training.common.shared_context.rows import Row
from preference.training.evaluators import ranker
from preference.training.evaluators.ranker import Ranker
from preference.training.joint.evaluation.scoring import score_rows
from preference.training.joint.joint_model import JointModel
from tests.preference.training.conftest import save_tiny
from tests.preference.training.evaluators.conftest import reply


@pytest.fixture(scope="module")
def jointly_trained(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("joint") / "model"
    JointModel.from_pretrained(tiny_model, seed=4).save_pretrained(folder)
    return str(folder)


REPLIES = [
    reply(1, "Yes, I like tea.", "Do you like tea?"),
    reply(2, "我很好，谢谢。", "Do you like tea?"),
    reply(3, "Long, and in the rain.", "Hello there!", "How was your walk?"),
    reply(4, "", "Hello there!"),
    reply(5, "Fine.", "Do you like tea?"),
]


def by_hand(folder: str, one: ReplyToScore) -> tuple[float, float]:
    """Preference score and mean log-probability of one reply, encoded alone."""
    model = JointModel.from_pretrained(folder)
    end = model.tokenizer.eos_token_id
    encoded = [
        [*model.tokenizer.encode(text, add_special_tokens=False), end]
        for text in (*one.history, one.response)
    ]
    ids = [model.tokenizer.bos_token_id, *(token for tokens in encoded for token in tokens)]
    with torch.no_grad():
        output = model.backbone(torch.tensor([ids]), output_hidden_states=True)
        score = model.head(output.hidden_states[-1][0, -1])
    logs, size = output.logits[0].log_softmax(-1), len(encoded[-1])
    logprob = sum(float(logs[at - 1, ids[at]]) for at in range(len(ids) - size, len(ids)))
    return float(score), logprob / size


def test_scores_equal_those_of_each_reply_alone(jointly_trained: str) -> None:
    likelihood = Ranker("l", jointly_trained, "likelihood", device="cpu").score(REPLIES)
    preference = Ranker("p", jointly_trained, "preference", device="cpu").score(REPLIES)
    for place in (0, 1, 2, 4):
        expected = by_hand(jointly_trained, REPLIES[place])
        assert (preference[place].value, likelihood[place].value) == pytest.approx(expected, abs=1e-5)
    assert [score.id for score in likelihood] == ["1", "2", "3", "4", "5"]
    assert likelihood[3].reason == preference[3].reason == "The response is empty."
    assert "truncated" not in likelihood[0].details


def test_a_model_that_cannot_share_contexts_scores_the_same(tmp_path: Path) -> None:
    """ALiBi takes positions from the place in the row."""
    folder = str(save_tiny(tmp_path / "alibi", "alibi"))
    found = Ranker("l", folder, "likelihood", device="cpu").score(REPLIES)
    assert found[1].value == pytest.approx(by_hand(folder, REPLIES[1])[1], abs=1e-5)


def test_long_texts_are_cut_and_the_row_says_so(jointly_trained: str) -> None:
    long = [reply(1, "tea " * 90, *["hello there " * 8] * 9), REPLIES[0]]
    found = Ranker("l", jointly_trained, "likelihood", context=64, reply=16, device="cpu").score(long)
    assert found[0].details["truncated"] == ["history", "response"]
    assert found[0].details["tokens"] == 15  # the end is that of the limit, and does not count
    assert "truncated" not in found[1].details


def test_without_a_head_there_is_no_preference(tiny_model: Path) -> None:
    with pytest.raises(TrainingError, match="no preference head"):
        Ranker("p", str(tiny_model), "preference", device="cpu")
    with pytest.raises(TrainingError, match="does not exist"):
        Ranker("l", "/no/such/folder", "likelihood", device="cpu")


def test_memory_that_runs_out_halves_the_rows(jointly_trained: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [
        score.value for score in Ranker("l", jointly_trained, "likelihood", device="cpu").score(REPLIES)
    ]
    sizes = []

    def score_one(model: JointModel, rows: list[Row], pad: int) -> ranker.Scores:
        sizes.append(len(rows))
        if len(rows) > 1:
            raise RuntimeError("CUDA out of memory.")
        return score_rows(model, rows, pad)

    monkeypatch.setattr(ranker, "score_rows", score_one)
    found = Ranker("l", jointly_trained, "likelihood", device="cpu").score(REPLIES)
    assert [score.value for score in found] == pytest.approx(expected, abs=1e-6)
    assert sizes == [2, 1, 1]


def test_scores_that_are_not_numbers_are_null(jointly_trained: str) -> None:
    broken = Ranker("p", jointly_trained, "preference", device="cpu")
    with torch.no_grad():
        broken._model.head.bias.fill_(float("nan"))
    found = broken.score(REPLIES[:1])
    assert (found[0].value, found[0].reason) == (None, "The model's score is not a number.")


def test_the_description_identifies_model_and_limits(jointly_trained: str) -> None:
    about = Ranker("l", jointly_trained, "likelihood", device="cpu").describe()
    assert about["evaluator"] == "likelihood"
    assert about["model"].startswith("joint")
    assert (about["context"], about["reply"]) == (384, 128)
