"""One training: resumed, out of memory, with adapters."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from preference.training.assessor import training
from preference.training.assessor.data import LabelledDialogue, read_dialogues
from preference.training.assessor.network import Network, load_pretrained, new_network
from preference.training.assessor.prediction import batches_of_similar_length
from preference.training.assessor.recipe import AssessorRecipe, with_lora
from preference.training.assessor.task import QUALITY
from preference.training.assessor.training import Epoch, TrainingContext, steps_of, train_network
from preference.training.common.checkpointing import Saving
from preference.training.common.errors import TrainingError
from preference.training.common.stopping import Stopped, StopRequest
from tests.preference.training.assessor.synthetic import dialogue_rows, write_rows

RECIPE = AssessorRecipe(hidden=16, layers=1, heads=2, vocabulary=350, max_length=32, batch=8, epochs=2)
Dialogues = list[LabelledDialogue]


@pytest.fixture
def dialogues(tmp_path: Path) -> Dialogues:
    return read_dialogues(write_rows(tmp_path / "data.jsonl", dialogue_rows(44)), QUALITY)


def network_of(dialogues: Dialogues, kind: str = "transformer") -> Network:
    return new_network(kind, ["some text", "其他文本"], QUALITY, RECIPE)


def train(
    folder: Path,
    dialogues: Dialogues,
    *,
    stop: StopRequest | None = None,
    report: Callable[[int, int, float], None] = lambda step, epoch, loss: None,
    network: Network | None = None,
    every: int | None = None,
) -> tuple[Network, list[Epoch]]:
    network = network or network_of(dialogues)
    context = TrainingContext(folder, stop or StopRequest(), Saving(every), report)
    epochs = train_network(network, dialogues[:36], dialogues[36:], RECIPE, rate=1e-2, context=context)
    return network, epochs


def weights(network: Network) -> dict[str, Any]:
    return {name: weight.detach().clone() for name, weight in network.model.named_parameters()}


@pytest.mark.parametrize("stop_at", [2, 5, 7])
def test_a_stopped_training_ends_at_the_weights_of_one_that_was_not(
    tmp_path: Path, dialogues: Dialogues, stop_at: int
) -> None:
    whole, whole_epochs = train(tmp_path / "whole", dialogues)
    stop = StopRequest()

    def report(step: int, epoch: int, loss: float) -> None:
        if step == stop_at:
            stop.ask(signal.SIGTERM, "Stopped.")

    with pytest.raises(Stopped):
        train(tmp_path / "parts", dialogues, stop=stop, report=report)
    steps: list[int] = []
    resumed, epochs = train(tmp_path / "parts", dialogues, report=lambda step, *_: steps.append(step))
    assert steps == list(range(stop_at + 1, steps_of(RECIPE, 36) + 1))
    assert [(one.number, one.valid_f1) for one in epochs] == [
        (one.number, one.valid_f1) for one in whole_epochs
    ]
    assert [one.loss for one in epochs] == pytest.approx([one.loss for one in whole_epochs])
    for name, weight in weights(whole).items():
        assert torch.allclose(weight, weights(resumed)[name], atol=1e-6), name


def test_the_weights_are_those_of_the_best_epoch(
    tmp_path: Path, dialogues: Dialogues, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([0.9, 0.1])
    after_epoch: list[dict[str, Any]] = []

    def fake_f1(network: Network, *_: Any) -> float:
        after_epoch.append(weights(network))
        return next(scores)

    monkeypatch.setattr(training, "macro_f1", fake_f1)
    network, epochs = train(tmp_path, dialogues)
    assert [one.valid_f1 for one in epochs] == [0.9, 0.1]
    for name, weight in weights(network).items():
        assert torch.equal(weight, after_epoch[0][name]), name


def test_out_of_memory_halves_the_micro_batch_and_changes_nothing_else(
    tmp_path: Path, dialogues: Dialogues, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = network_of(dialogues, "gru")
    whole.model.config.dropout = 0.0
    whole.model.dropout.p = 0.0
    small = network_of(dialogues, "gru")
    small.model.dropout.p = 0.0
    train(tmp_path / "whole", dialogues, network=whole)
    forward = small.model.forward

    def too_large(input_ids: Any, attention_mask: Any) -> Any:
        if small.model.training and len(input_ids) > 2:
            raise RuntimeError("DefaultCPUAllocator: not enough memory")
        return forward(input_ids, attention_mask)

    monkeypatch.setattr(small.model, "forward", too_large)
    train(tmp_path / "small", dialogues, network=small)
    for name, weight in weights(whole).items():
        assert torch.allclose(weight, weights(small)[name], atol=1e-4), name


def test_memory_for_not_even_one_dialogue_is_an_error(
    tmp_path: Path, dialogues: Dialogues, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = network_of(dialogues)

    def too_large(**_: Any) -> Any:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(network.model, "forward", too_large)
    with pytest.raises(TrainingError, match="Memory ran out with a single dialogue"):
        train(tmp_path, dialogues, network=network)


def test_a_loss_that_is_not_finite_is_an_error(tmp_path: Path, dialogues: Dialogues) -> None:
    network = network_of(dialogues)
    with torch.no_grad():
        network.model.classifier.bias[0] = float("nan")
    with pytest.raises(TrainingError, match="At step 1 the loss is nan"):
        train(tmp_path, dialogues, network=network)


def test_adapters_train_only_themselves_and_the_new_output_layer(encoder: Path) -> None:
    network = load_pretrained(encoder, QUALITY, with_lora(RECIPE))
    trained = {name for name, weight in network.model.named_parameters() if weight.requires_grad}
    assert any("lora_A" in name for name in trained)
    assert any(name.startswith("classifier") for name in trained)
    assert all("lora" in name or name.startswith("classifier") for name in trained)


def test_batches_hold_every_row_once_and_similar_lengths() -> None:
    lengths = [n % 50 for n in range(203)]
    batches = list(batches_of_similar_length(lengths, 8, torch.Generator().manual_seed(1)))
    assert sorted(place for batch in batches for place in batch) == list(range(203))
    assert max(map(len, batches)) == 8
    spread = [max(lengths[p] for p in batch) - min(lengths[p] for p in batch) for batch in batches]
    assert sum(spread) / len(spread) < 5


def test_a_folder_without_weights_is_refused(encoder: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text((encoder / "config.json").read_text())
    with pytest.raises(TrainingError, match="has no weights"):
        load_pretrained(tmp_path, QUALITY, RECIPE)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="does not exist"):
        load_pretrained(tmp_path / "nothing", QUALITY, RECIPE)
