"""The model with its head: what it computes, and what is in the folder that it is saved to."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from generation.backends.dialogue_format import DialogueFormat
from generation.backends.hf import HFBackend
from generation.backends.hf.scoring import HEAD_FILE
from generation.protocol import Message, ReplyRequest
from preference.training.common.errors import TrainingError
from preference.training.common.shared_context.probe import why_not_shared
from preference.training.common.shared_context.rows import Row
from preference.training.joint.encoding import Encoder
from preference.training.joint.evaluation.scoring import score_rows
from preference.training.joint.joint_model import JointModel
from preference.training.joint.layouts.micro_batches import Layout
from preference.training.joint.quadruples import draw_quadruples
from tests.generation.conftest import OTHER_END, build_tokenizer
from tests.generation.talk import GREEDY, TALK, talk, texts, tokens_of
from tests.generation.test_scoring import drawn
from tests.preference.training.conftest import save_tiny
from tests.preference.training.made_up import joint_model, learned, ragged


def batch(model: JointModel) -> list[dict[str, torch.Tensor]]:
    dialogues = ragged(1)
    layout = Layout("trees", dialogues, Encoder(model.tokenizer))
    return layout.micro_batches(draw_quadruples(dialogues, seed=1, epoch=0))


@pytest.mark.parametrize("shape", ["llama", "qwen3", "gpt2"])
def test_a_saved_model_is_an_ordinary_folder_with_a_head(tmp_path: Path, shape: str) -> None:
    model = joint_model(shape)
    made = batch(model)
    expected = model(**made[0])
    model.save_pretrained(tmp_path / "model", {"step": 7})
    assert json.loads((tmp_path / "model" / "training.json").read_text()) == {"step": 7}
    head = load_file(tmp_path / "model" / HEAD_FILE)
    assert {name: (value.dtype, tuple(value.shape)) for name, value in head.items()} == {
        "weight": (torch.float32, (1, 32)),
        "bias": (torch.float32, (1,)),
    }
    again = JointModel.from_pretrained(tmp_path / "model")(**made[0])
    torch.testing.assert_close(again.scores, expected.scores)
    torch.testing.assert_close(again.token_nll, expected.token_nll)
    plain: Any = AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    for (name, mine), theirs in zip(model.backbone.named_parameters(), plain.parameters(), strict=True):
        assert torch.equal(mine, theirs), name
    assert AutoTokenizer.from_pretrained(tmp_path / "model").eos_token == "<eou>"


@pytest.mark.parametrize("shape", ["llama", "gpt2"])
def test_a_saved_model_suggests_replies(tmp_path: Path, shape: str) -> None:
    joint_model(shape).save_pretrained(tmp_path / "model")
    (answer,) = HFBackend(str(tmp_path / "model")).generate([talk()])
    assert len(texts(answer)) == 7


def chat_base(folder: Path) -> Path:
    """A tiny model whose template ends a reply with another token than the eos_token, and wants the user first."""
    base = save_tiny(folder, "llama")
    refusal = "{% if messages[0]['role'] == 'assistant' %}{{ raise_exception('user first') }}{% endif %}"
    build_tokenizer(refusal + OTHER_END).save_pretrained(base)
    return base


def test_a_plain_model_is_saved_with_a_template_that_renders_as_it_was_trained(tmp_path: Path) -> None:
    model = JointModel.from_pretrained(chat_base(tmp_path / "base"))
    assert model.notes == [
        "The chat template of the base model is left out, and dialogues are rendered plainly: chat_template is false."
    ]
    model.save_pretrained(tmp_path / "model")
    assert model.tokenizer.chat_template is None
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    said = [*TALK[:2], Message("A", "  "), TALK[3]]
    messages = [{"role": "user" if one.speaker == "A" else "assistant", "content": one.text} for one in said]
    served = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    encoder = model.encoder(context=384, reply=64)
    assert tuple(served) == encoder.context([one.text for one in said])
    request = ReplyRequest("d", tuple(said), "A", 1)
    assert served == tokens_of(HFBackend(str(tmp_path / "model")), request)
    again = JointModel.from_pretrained(tmp_path / "model")
    assert (again.dialogue_format, again.notes, again.tokenizer.chat_template) == (DialogueFormat(), [], None)


def test_a_model_that_keeps_its_template_is_trained_evaluated_and_served_with_it(tmp_path: Path) -> None:
    kept = DialogueFormat(chat_template=True)
    model = JointModel.from_pretrained(chat_base(tmp_path / "base"), dialogue_format=kept)
    assert model.notes == []
    with torch.no_grad():
        model.head.weight.mul_(20)
    model.save_pretrained(tmp_path / "model")
    again = JointModel.from_pretrained(tmp_path / "model")
    assert again.dialogue_format == kept
    settings = json.loads((tmp_path / "model" / "generation_config.json").read_text())
    pad, eou = again.tokenizer.convert_tokens_to_ids(["<pad>", "<eou>"])
    assert settings["eos_token_id"] == [pad, eou], "every server stops where the template ends a reply"
    backend = HFBackend(str(tmp_path / "model"))
    for length in (1, 2, 3):
        request = talk(length, sampling=GREEDY, count=1)
        encoder = again.encoder(context=384, reply=64)
        context = encoder.context([message.text for message in request.context])
        assert tuple(tokens_of(backend, request)) == context
        ((draw,),) = drawn(backend, [request])
        row = Row()
        row.add([*draw.tokens, encoder.end], row.add(context), name="reply")
        (score,) = score_rows(again.eval(), [row], encoder.pad).values()
        assert draw.score == pytest.approx(score[0], abs=1e-3)


def test_a_model_with_speaker_marks_is_served_with_them(tmp_path: Path) -> None:
    model = joint_model("llama")
    model.save_pretrained(tmp_path / "plain")
    model.dialogue_format = DialogueFormat(speaker_marks=True)
    model.save_pretrained(tmp_path / "marked")
    assert JointModel.from_pretrained(tmp_path / "marked").dialogue_format.speaker_marks
    assert not JointModel.from_pretrained(tmp_path / "plain").dialogue_format.speaker_marks
    plain, marked = (HFBackend(str(tmp_path / name)) for name in ("plain", "marked"))
    assert marked.version.split("@")[1] != plain.version.split("@")[1]
    said = model.tokenizer.decode(tokens_of(marked, talk(2)))
    assert said == f"<bos>A:{TALK[0].text}<eou>B:{TALK[1].text}<eou>A:"
    assert model.tokenizer.decode(tokens_of(plain, talk(2))) == f"<bos>{TALK[0].text}<eou>{TALK[1].text}<eou>"
    (answer,) = marked.generate([talk()])
    assert len(texts(answer)) == 7


@pytest.mark.parametrize("written", ["", "[]", "{}", '{"speaker_marks": 1}', '{"chat_template": "yes"}'])
def test_a_folder_that_does_not_say_whether_it_has_marks_is_refused(tmp_path: Path, written: str) -> None:
    joint_model("llama").save_pretrained(tmp_path / "model")
    (tmp_path / "model" / "rendering.json").write_text(written)
    with pytest.raises(TrainingError, match="speaker marks"):
        JointModel.from_pretrained(tmp_path / "model")


def test_a_new_head_depends_on_its_seed_alone(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "base", "llama")
    torch.manual_seed(1)
    first = JointModel.from_pretrained(folder, seed=3).head.weight
    torch.manual_seed(2)
    assert torch.equal(JointModel.from_pretrained(folder, seed=3).head.weight, first)
    assert not torch.equal(JointModel.from_pretrained(folder, seed=4).head.weight, first)


def test_all_weights_learn(tmp_path: Path) -> None:
    model = JointModel.from_pretrained(save_tiny(tmp_path / "base", "llama"))
    assert model.training
    _, gradients = learned(model, batch(model))
    assert gradients.keys() == dict(model.named_parameters()).keys()


def test_saving_replaces_an_older_model_whole(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    joint_model("gpt2").save_pretrained(folder, {"old": True})
    joint_model("llama").save_pretrained(folder)
    assert not (folder / "training.json").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_full_disk_leaves_the_older_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = joint_model("llama")
    model.save_pretrained(tmp_path / "model", {"old": True})

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(model.backbone, "save_pretrained", full)
    with pytest.raises(TrainingError, match="No space left") as refused:
        model.save_pretrained(tmp_path / "model")
    assert refused.value.remedy
    assert (tmp_path / "model" / "training.json").exists()


def no_config(folder: Path) -> None:
    (folder / "config.json").unlink()


def other_head(folder: Path) -> None:
    save_file({"weight": torch.zeros(1, 5), "bias": torch.zeros(1)}, folder / HEAD_FILE)


def broken_head(folder: Path) -> None:
    (folder / HEAD_FILE).write_bytes(b"version https://git-lfs")


def larger_tokenizer(folder: Path) -> None:
    tokenizer = build_tokenizer()
    tokenizer.add_tokens([f"new{number}" for number in range(9)])
    tokenizer.save_pretrained(folder)


def no_end(folder: Path) -> None:
    build_tokenizer(ends=False).save_pretrained(folder)


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [
        (no_config, "no config.json"),
        (shutil.rmtree, "does not exist"),
        (other_head, "takes 5 numbers, but the model gives 32"),
        (broken_head, "cannot be read"),
        (larger_tokenizer, "knows 329 tokens, the model only 320"),
        (no_end, "no eos_token"),
    ],
)
def test_a_folder_that_cannot_be_trained_is_refused(
    tmp_path: Path, spoil: Callable[[Path], Any], cause: str
) -> None:
    folder = save_tiny(tmp_path / "base", "llama")
    spoil(folder)
    with pytest.raises(TrainingError, match=cause) as refused:
        JointModel.from_pretrained(folder)
    assert refused.value.remedy


def test_dropout_is_set_to_nought_and_said() -> None:
    model = joint_model("gpt2", resid_pdrop=0.3, attn_pdrop=0.3, embd_pdrop=0.3)
    assert model.notes == [
        "Dropout is set to 0, because replies that share a context cannot each have their own."
    ]
    made = batch(model)
    assert torch.equal(model(**made[0]).token_nll, model(**made[0]).token_nll)
    assert why_not_shared(model.backbone, 64) == ""
    assert joint_model("llama").notes == []
    assert joint_model("llama", attention_dropout=0.5).notes


def test_logits_that_are_scaled_after_the_last_product_are_kept_so() -> None:
    """Granite divides them; the fast way would learn from others than it writes with."""
    from transformers import GraniteConfig

    tokenizer = build_tokenizer()
    torch.manual_seed(0)
    config = GraniteConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        logits_scaling=8.0,
        initializer_range=0.2,
        pad_token_id=2,
        bos_token_id=0,
        eos_token_id=1,
    )
    build: Any = AutoModelForCausalLM.from_config
    model = JointModel(build(config), tokenizer)
    tokens = torch.tensor([[5, 6, 7, 8]])
    one = torch.tensor(1)
    found = model(
        input_ids=tokens,
        predict_at=torch.tensor([[0, 1], [0, 2]]),
        targets=tokens[0, 2:],
        score_at=torch.tensor([[0, 3]]),
        pairs=torch.empty(0, 2, dtype=torch.long),
        tokens_in_step=one,
        pairs_in_step=one,
    )
    logits = model.backbone(input_ids=tokens).logits[0, 1:3]
    expected = torch.nn.functional.cross_entropy(logits, tokens[0, 2:], reduction="none")
    torch.testing.assert_close(found.token_nll, expected)
    assert why_not_shared(model.backbone, 64) == ""


def test_a_micro_batch_without_pairs_or_targets_has_loss_nought() -> None:
    model = joint_model("llama")
    (micro,) = batch(model)
    empty = {
        **micro,
        "predict_at": torch.empty(0, 2, dtype=torch.long),
        "targets": torch.empty(0, dtype=torch.long),
        "pairs": torch.empty(0, 2, dtype=torch.long),
    }
    loss = model(**empty).loss
    torch.autograd.backward(loss)
    assert float(loss.detach()) == 0
