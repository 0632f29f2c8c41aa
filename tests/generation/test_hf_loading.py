"""What can be wrong with a model is said with its cause and remedy, before a person meets it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from generation.backends.hf import HFBackend
from generation.backends.hf.packing import PackedLinear
from generation.protocol import BackendError
from tests.generation.conftest import build_tokenizer
from tests.generation.talk import Model, had, talk, texts


def broken(folder: Path, copy: Path, change: Callable[[Path], None]) -> Path:
    copy.mkdir()
    for file in folder.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    change(copy)
    return copy


def no_tokenizer(folder: Path) -> None:
    for file in folder.glob("tokenizer*"):
        file.unlink()


def other_width(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))


FAULTS: list[tuple[Callable[[Path], object], str]] = [
    (lambda folder: (folder / "config.json").unlink(), "config.json"),
    (lambda folder: (folder / "config.json").write_text("{"), "configuration"),
    (lambda folder: (folder / "model.safetensors").unlink(), "weights"),
    (
        lambda folder: (folder / "model.safetensors").write_bytes(b"version https://git-lfs"),
        "cannot be loaded",
    ),
    (no_tokenizer, "tokenizer"),
    (lambda folder: build_tokenizer(ends=False).save_pretrained(folder), "eos_token"),
    (other_width, "missing"),
]


@pytest.mark.parametrize(("fault", "named"), FAULTS, ids=[named for _, named in FAULTS])
def test_a_broken_folder_is_refused_with_cause_and_remedy(
    tiny_model: Model, tmp_path: Path, fault: Callable[[Path], None], named: str
) -> None:
    backend = HFBackend(str(broken(tiny_model(), tmp_path / "copy", fault)))
    with pytest.raises(BackendError, match=named) as refused:
        backend.check()
    assert refused.value.remedy
    (answer,) = backend.generate([talk()])
    assert isinstance(answer, BackendError)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"model": "/nowhere/at/all"}, "does not exist"),
        ({"device": "cuda:9"}, "GPU"),
        ({"device": "abacus"}, "abacus"),
        ({"dtype": "int3"}, "int3"),
        ({"chat": True}, "chat template"),
    ],
)
def test_a_wrong_option_is_refused_with_cause_and_remedy(
    tiny_model: Model, options: dict[str, Any], named: str
) -> None:
    if options.get("device") == "cuda:9" and torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(BackendError, match=named) as refused:
        HFBackend(**{"model": str(tiny_model()), **options}).check()
    assert refused.value.remedy


def test_a_model_of_not_a_number_is_found_by_the_check(tiny_model: Model, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    def spoil(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        weights["lm_head.weight"].fill_(float("nan"))
        save_file(weights, folder / "model.safetensors", {"format": "pt"})

    backend = HFBackend(str(broken(tiny_model(), tmp_path / "copy", spoil)))
    with pytest.raises(BackendError, match="not a number"):
        backend.check()
    (answer,) = backend.generate([talk()])
    assert isinstance(answer, BackendError)


def test_the_version_names_the_folder_and_changes_with_its_weights(tiny_model: Model, tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        weights = bytearray((folder / "model.safetensors").read_bytes())
        weights[-1] ^= 1
        (folder / "model.safetensors").write_bytes(weights)

    same = HFBackend(str(broken(tiny_model(), tmp_path / "copy", lambda folder: None))).version
    assert "/copy@" in same
    changed = broken(tiny_model(), tmp_path / "other", change)
    assert HFBackend(str(changed)).version.split("@")[1] != same.split("@")[1]


def test_half_precision_answers_too(tiny_model: Model, caplog: pytest.LogCaptureFixture) -> None:
    (answer,) = HFBackend(str(tiny_model()), dtype="bfloat16").generate([talk()])
    assert len(texts(answer)) == 7
    assert "encodes its context again" not in caplog.text


@pytest.mark.parametrize("shape", ["llama", "gpt2"])
def test_packed_weights_give_the_same_replies(
    tiny_model: Model, shape: str, caplog: pytest.LogCaptureFixture
) -> None:
    packed, plain = (HFBackend(str(tiny_model(shape)), pack_weights=flag) for flag in (True, False))
    assert any(isinstance(module, PackedLinear) for module in packed._load().loaded.model.modules())
    assert not any(isinstance(module, PackedLinear) for module in plain._load().loaded.model.modules())
    one, other = had(packed.generate([talk(4)])[0]), had(plain.generate([talk(4)])[0])
    assert [reply.text for reply in one] == [reply.text for reply in other]
    assert [r.logprob for r in one] == pytest.approx([r.logprob for r in other], rel=1e-4)
    assert "plain layout" not in caplog.text


def test_a_closed_backend_loads_again(llama: HFBackend) -> None:
    before = texts(llama.generate([talk()])[0])
    llama.close()
    assert texts(llama.generate([talk()])[0]) == before
