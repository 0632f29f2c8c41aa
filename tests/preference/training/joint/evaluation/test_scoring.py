"""Scores of the human reply and the candidates of a turn, by preference and by generation probability."""

from pathlib import Path

import pytest
import torch

from preference.training.common.dialogues import TrainingDialogue, read_dialogues
from preference.training.common.errors import TrainingError
from preference.training.joint.encoding import Encoder
from preference.training.joint.evaluation.scoring import TurnScores, load_ranker, score_turns
from preference.training.joint.joint_model import JointModel
from tests.preference.training.ranked import rows, tiny_model, write_rows


@pytest.fixture
def model() -> JointModel:
    return tiny_model()


@pytest.fixture
def dialogues(tmp_path: Path) -> list[TrainingDialogue]:
    return read_dialogues(write_rows(tmp_path / "data.jsonl", rows()))


def by_hand(model: JointModel, context: tuple[str, ...], reply: str) -> tuple[float, float, int]:
    """Preference, log-probability and tokens of one reply, encoded alone."""
    tokenizer, end = model.tokenizer, model.tokenizer.eos_token_id
    said = [[*tokenizer.encode(text, add_special_tokens=False), end] for text in (*context, reply)]
    ids = [tokenizer.bos_token_id, *(token for tokens in said for token in tokens)]
    with torch.no_grad():
        output = model.backbone(torch.tensor([ids]), output_hidden_states=True)
        score = model.head(output.hidden_states[-1][0, -1])
    logs, size = output.logits[0].log_softmax(-1), len(said[-1])
    logprob = sum(float(logs[at - 1, ids[at]]) for at in range(len(ids) - size, len(ids)))
    return float(score), logprob, size


def numbers(scores: list[TurnScores]) -> list[float]:
    replies = [reply for one in scores for reply in (one.human, *one.candidates, one.random) if reply]
    return [value for reply in replies for value in (reply.preference, reply.logprob)]


def test_every_reply_has_the_scores_that_it_has_alone(
    model: JointModel, dialogues: list[TrainingDialogue]
) -> None:
    scores = score_turns(model, dialogues, Encoder(model.tokenizer), seed=3)
    assert len(scores) == sum(len(dialogue.turns) for dialogue in dialogues)
    for one in scores[:12]:
        context = dialogues[one.dialogue].utterances[: one.turn.position]
        assert one.human.text == one.turn.human
        assert tuple(reply.text for reply in one.candidates) == one.turn.candidates
        assert one.random is not None
        for reply in (one.human, *one.candidates, one.random):
            found = (reply.preference, reply.logprob, reply.tokens)
            assert found == pytest.approx(by_hand(model, context, reply.text), abs=1e-4)


def test_sharing_contexts_changes_no_score(model: JointModel, dialogues: list[TrainingDialogue]) -> None:
    encoder = Encoder(model.tokenizer)
    shared, alone = (
        score_turns(model, dialogues, encoder, share_contexts=share, token_budget=600)
        for share in (True, False)
    )
    assert numbers(shared) == pytest.approx(numbers(alone), abs=1e-4)


def test_contexts_that_are_too_long_are_cut_as_in_training(
    model: JointModel, dialogues: list[TrainingDialogue]
) -> None:
    encoder = Encoder(model.tokenizer, context=24, reply=8)
    shared, alone = (score_turns(model, dialogues, encoder, share_contexts=share) for share in (True, False))
    assert numbers(shared) == pytest.approx(numbers(alone), abs=1e-4)


def test_every_utterance_is_encoded_once(
    model: JointModel, dialogues: list[TrainingDialogue], monkeypatch: pytest.MonkeyPatch
) -> None:
    fed: list[int] = []
    model.backbone.get_input_embeddings().register_forward_hook(
        lambda _module, inputs, _output: fed.append(inputs[0].numel())
    )
    encoder = Encoder(model.tokenizer)
    score_turns(model, dialogues, encoder, share_contexts=True)
    shared, fed[:] = sum(fed), []
    score_turns(model, dialogues, encoder, share_contexts=False)
    assert shared < sum(fed) / 3


def test_the_end_of_a_cut_reply_is_not_its_writers(
    model: JointModel, dialogues: list[TrainingDialogue]
) -> None:
    encoder = Encoder(model.tokenizer, reply=6)
    for shared in (True, False):
        scored = score_turns(model, dialogues, encoder, share_contexts=shared)
        replies = [reply for turn in scored for reply in (turn.human, *turn.candidates)]
        cut = [reply for reply in replies if encoder.cuts(reply.text)]
        assert 0 < len(cut) < len(replies)
        assert {reply.tokens for reply in cut} == {5}
        assert all(
            reply.tokens == len(encoder.reply(reply.text))
            for reply in replies
            if not encoder.cuts(reply.text)
        )


def test_random_replies_are_those_of_the_seed(model: JointModel, dialogues: list[TrainingDialogue]) -> None:
    drawn = [
        [
            one.random.text
            for one in score_turns(model, dialogues, Encoder(model.tokenizer), seed=seed)
            if one.random
        ]
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_one_dialogue_has_no_random_reply(model: JointModel, dialogues: list[TrainingDialogue]) -> None:
    long = max(dialogues, key=lambda dialogue: len(dialogue.turns))
    assert {one.random for one in score_turns(model, [long], Encoder(model.tokenizer))} == {None}


def test_a_score_that_is_not_a_number_is_named(model: JointModel, dialogues: list[TrainingDialogue]) -> None:
    torch.nn.init.constant_(model.head.bias, float("nan"))
    with pytest.raises(TrainingError, match="is not a number") as refused:
        score_turns(model, dialogues, Encoder(model.tokenizer))
    assert "checkpoint" in refused.value.remedy


def test_a_model_stays_in_its_mode(model: JointModel, dialogues: list[TrainingDialogue]) -> None:
    model.train()
    score_turns(model, dialogues[:1], Encoder(model.tokenizer))
    assert model.training


def test_a_head_is_trained_untrained_or_absent(model: JointModel, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path / "joint")
    model.backbone.save_pretrained(tmp_path / "plain")
    model.tokenizer.save_pretrained(tmp_path / "plain")
    trained, head = load_ranker(str(tmp_path / "joint"), device="cpu")
    assert head == "trained"
    assert torch.equal(trained.head.weight, model.head.weight)
    assert load_ranker(str(tmp_path / "plain"), device="cpu")[1] is None
    fresh, head = load_ranker(str(tmp_path / "joint"), untrained_head=True, seed=5, device="cpu")
    assert head == "untrained"
    assert not torch.equal(fresh.head.weight, model.head.weight)
