"""Every layout, and every cut into micro-batches, has the loss and the gradient of plain triples."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, logsigmoid

from preference.training.common.dialogues import TrainingDialogue
from preference.training.common.lora import add_adapters
from preference.training.joint.encoding import Encoder
from preference.training.joint.joint_model import JointModel
from preference.training.joint.layouts.micro_batches import LAYOUTS, Layout
from preference.training.joint.quadruples import Quadruple, draw_quadruples
from tests.preference.training.made_up import dialogue, joint_model, learned, ragged

SHAPES = {
    "llama": {},
    "llama, tied": {"tie_word_embeddings": True},
    "qwen3": {},
    "qwen3, untied": {"tie_word_embeddings": False},
    "gpt2": {},
}
CLOSE = 1e-5


def model_of(name: str) -> JointModel:
    model = joint_model(name.split(",")[0], **SHAPES[name])
    tied = model.backbone.get_output_embeddings().weight is model.backbone.get_input_embeddings().weight
    assert tied == (name in ("llama, tied", "qwen3", "gpt2"))
    return model


def plain_loss(
    model: JointModel, encoder: Encoder, dialogues: list[TrainingDialogue], step: list[Quadruple]
) -> Tensor:
    """Equations 1 to 3 of the paper, sequence by sequence, with transformers' own forward and none of our layouts."""
    nll, ranking = [], []
    for drawn in step:
        dialogue = dialogues[drawn.dialogue]
        turn = dialogue.turns[drawn.turn]
        context = encoder.context(dialogue.utterances[: turn.position], dialogue.speakers)
        scores = []
        for text in (turn.human, drawn.model, drawn.random):
            reply = encoder.reply(text)
            output = model.backbone(
                input_ids=torch.tensor([[*context, *reply]]), output_hidden_states=True, use_cache=False
            )
            scores.append(model.head(output.hidden_states[-1][0, -1]))
            if text == turn.human:
                was_cut = encoder.utterance(text) != reply
                targets = torch.tensor(reply[:-1] if was_cut else reply)
                logits = output.logits[0, len(context) - 1 :][: len(targets)]
                nll.append(cross_entropy(logits, targets, reduction="none"))
        human, shown, other = scores
        for better, worse in ((human, shown), (human, other), (shown, other)):
            ranking.append(-logsigmoid(better - worse))
    return torch.cat(nll).mean() + torch.cat(ranking).mean()


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_layout_has_the_loss_and_gradient_of_the_papers_equations(name: str, seed: int) -> None:
    model = model_of(name)
    dialogues = ragged(seed)
    encoder = Encoder(model.tokenizer, context=48, reply=16)
    step = draw_quadruples(dialogues, seed=seed, epoch=0)
    loss = plain_loss(model, encoder, dialogues, step)
    torch.autograd.backward(loss)
    expected = {key: p.grad.clone() for key, p in model.named_parameters() if p.grad is not None}
    assert {"head.weight", "head.bias"} < expected.keys()
    for layout in LAYOUTS:
        made = Layout(layout, dialogues, encoder).micro_batches(step)
        losses, gradients = learned(model, made)
        assert losses["loss"] == pytest.approx(float(loss.detach()), abs=CLOSE)
        assert gradients.keys() == expected.keys()
        for key, gradient in gradients.items():
            torch.testing.assert_close(gradient, expected[key], atol=CLOSE, rtol=0, msg=f"{layout} {key}")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("names", [(), ("Ann", "Bob", "Ann", "Ann", "Carl", "Bob", "Bob")])
def test_speaker_marks_are_context_in_every_layout(layout: str, names: tuple[str, ...]) -> None:
    model = joint_model("llama")
    dialogues = [replace(talk, speakers=names[: len(talk.utterances)]) for talk in ragged(8, count=4)]
    marked = Encoder(model.tokenizer, context=60, reply=16, speaker_marks=True)
    plain = Encoder(model.tokenizer, context=60, reply=16)
    step = draw_quadruples(dialogues, seed=8, epoch=0)
    loss = plain_loss(model, marked, dialogues, step)
    assert float(loss.detach()) != pytest.approx(
        float(plain_loss(model, plain, dialogues, step).detach()), abs=CLOSE
    )
    torch.autograd.backward(loss)
    expected = {key: p.grad.clone() for key, p in model.named_parameters() if p.grad is not None}
    losses, gradients = learned(model, Layout(layout, dialogues, marked).micro_batches(step))
    assert losses["loss"] == pytest.approx(float(loss.detach()), abs=CLOSE)
    for key, gradient in gradients.items():
        torch.testing.assert_close(gradient, expected[key], atol=CLOSE, rtol=0, msg=key)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_reply_that_was_cut_does_not_learn_an_end(layout: str) -> None:
    """The head still reads the end that was put there, as serving does at max_new_tokens."""
    model = joint_model("llama")
    long, other = "I like tea and long walks in the rain", "no such reply, and a long one"
    dialogues = [dialogue("hello", long, "fine", candidates=(other,)), dialogue("walk", "rain")]
    encoder = Encoder(model.tokenizer, context=48, reply=8)
    assert [encoder.cuts(text) for text in (long, other, "fine")] == [True, True, False]
    step = draw_quadruples(dialogues, seed=1, epoch=0)
    made = Layout(layout, dialogues, encoder).micro_batches(step)
    learned_tokens = [int(token) for batch in made for token in batch["targets"]]
    assert learned_tokens.count(encoder.end) == 2  # of "fine" and "rain"
    assert len(learned_tokens) == 7 + len(encoder.utterance("fine")) + len(encoder.utterance("rain"))
    for batch in made:
        ends = batch["input_ids"][tuple(batch["score_at"].T)]
        assert set(ends.tolist()) == {encoder.end}
    losses, _ = learned(model, made)
    assert losses["loss"] == pytest.approx(
        float(plain_loss(model, encoder, dialogues, step).detach()), abs=CLOSE
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("budget", [16, 60, 200, 5000])
def test_how_a_step_is_cut_does_not_matter(layout: str, budget: int) -> None:
    model = joint_model("qwen3")
    dialogues = ragged(4, count=6)
    encoder = Encoder(model.tokenizer, context=48, reply=16)
    step = draw_quadruples(dialogues, seed=4, epoch=0)
    losses, gradients = learned(model, Layout("naive", dialogues, encoder).micro_batches(step))
    cut = Layout(layout, dialogues, encoder, token_budget=budget).micro_batches(step)
    assert len(cut) > 1 or budget == 5000
    mine, others = learned(model, cut)
    assert mine == pytest.approx(losses, abs=CLOSE)
    for key, gradient in others.items():
        torch.testing.assert_close(gradient, gradients[key], atol=CLOSE, rtol=0, msg=key)


def test_rows_of_uneven_trees_beside_each_other_are_padded_without_effect() -> None:
    model = joint_model("gpt2")
    dialogues = ragged(5, count=5)
    encoder = Encoder(model.tokenizer, context=300, reply=60)
    step = draw_quadruples(dialogues, seed=5, epoch=0)
    layout = Layout("trees", dialogues, encoder, token_budget=5000)
    layout._row_tokens = 1  # one tree a row
    (batch,) = layout.micro_batches(step)
    assert len(batch["input_ids"]) == 5
    losses, gradients = learned(model, [batch])
    expected, others = learned(model, Layout("naive", dialogues, encoder).micro_batches(step))
    assert losses == pytest.approx(expected, abs=CLOSE)
    for key, gradient in gradients.items():
        torch.testing.assert_close(gradient, others[key], atol=CLOSE, rtol=0, msg=key)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", ["llama", "qwen3", "gpt2"])
@pytest.mark.parametrize("rank", [0, 4])
def test_recomputed_activations_and_logits_give_the_same_gradient(shape: str, layout: str, rank: int) -> None:
    """Of all weights and the preference head, or of adapters and the head."""
    model = joint_model(shape)
    if rank:
        add_adapters(model.backbone, rank=rank, alpha=8)
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(weight, std=0.1)
    dialogues = ragged(6)
    encoder = Encoder(model.tokenizer, context=60, reply=20)
    made = Layout(layout, dialogues, encoder).micro_batches(draw_quadruples(dialogues, seed=6, epoch=0))
    losses, expected = learned(model, made)
    assert any(name.startswith("head.") for name in expected)
    model.backbone.activation_checkpointing_enable({"use_reentrant": False})
    model.loss_chunk = 3
    assert max(len(batch["targets"]) for batch in made) > 3 * model.loss_chunk
    others, gradients = learned(model, made)
    assert others == pytest.approx(losses, abs=CLOSE)
    assert gradients.keys() == expected.keys()
    for key, gradient in gradients.items():
        torch.testing.assert_close(gradient, expected[key], atol=CLOSE, rtol=0, msg=key)


def test_half_precision_comes_close() -> None:
    model = joint_model("qwen3")
    dialogues = ragged(7)
    encoder = Encoder(model.tokenizer, context=60, reply=20)
    made = Layout("trees", dialogues, encoder).micro_batches(draw_quadruples(dialogues, seed=7, epoch=0))
    expected, _ = learned(model, made)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        losses, _ = learned(model, made)
    assert losses == pytest.approx(expected, rel=0.05)
