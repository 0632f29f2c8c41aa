"""The demo model that is shipped: an ordinary Hugging Face folder that answers in the language of the context."""

import json
import random
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from safetensors.torch import load_file  # noqa: E402

from generation.demo_model.corpus import LANGUAGES, corpus_hash, write_corpus  # noqa: E402
from generation.demo_model.corpus.general import KINDS  # noqa: E402
from generation.demo_model.corpus.written import exchanges  # noqa: E402
from generation.protocol import Message, ReplyRequest  # noqa: E402
from preference.training.demo_model.data import (  # noqa: E402
    IGNORED,
    batches,
    chunks_ahead,
    encode,
    thin_out,
    train_tokenizer,
    validation_batches,
)
from preference.training.demo_model.muon import Fp32Muon, orthogonalize  # noqa: E402
from preference.training.demo_model.recipe import Recipe, rate  # noqa: E402
from preference.training.demo_model.replies import dialogue, replies  # noqa: E402
from preference.training.demo_model.run import Run, make_chunk  # noqa: E402

FOLDER = Path(__file__).parents[2] / "generation" / "demo_model"
MODEL = FOLDER / "model"
HAN = re.compile(r"[\u4e00-\u9fff]")
OPENINGS = {"en": "I baked bread with my sister today!", "zh": "今天和妹妹一起烤了面包！"}


@pytest.fixture(scope="module")
def backend() -> Any:
    from generation.backends.hf import HFBackend

    return HFBackend(str(MODEL))


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return transformers.AutoTokenizer.from_pretrained(MODEL, local_files_only=True)


def test_it_loads_offline_and_has_about_five_million_parameters() -> None:
    model = transformers.AutoModelForCausalLM.from_pretrained(MODEL, local_files_only=True)
    assert 4_500_000 < sum(p.numel() for p in model.parameters()) < 6_000_000
    assert model.config.tie_word_embeddings


def test_the_weights_stay_small_enough_for_a_repository() -> None:
    assert 9_000_000 < (MODEL / "model.safetensors").stat().st_size < 12_000_000


def test_special_tokens(tokenizer: Any) -> None:
    assert (tokenizer.pad_token, tokenizer.bos_token, tokenizer.eos_token) == ("<pad>", "<bos>", "<eou>")
    assert 4000 <= len(tokenizer) <= 6000


@pytest.mark.parametrize(
    "text", ["It's 5 o'clock, isn't it?", "今天天气真好，我们去爬山吧！", "Ünïcode 龘 🙂"]
)
def test_the_tokenizer_gives_every_text_back(tokenizer: Any, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_no_token_spans_two_chinese_characters(tokenizer: Any) -> None:
    assert not [token for token in range(len(tokenizer)) if len(HAN.findall(tokenizer.decode([token]))) > 1]


@pytest.fixture(autouse=True)
def short_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("preference.training.demo_model.data.DIALOGUES_PER_CHUNK", 40)
    monkeypatch.setattr("preference.training.demo_model.data.TOKENIZER_DIALOGUES", 300)


@pytest.mark.parametrize("language", LANGUAGES)
def test_seven_replies_in_the_language_of_the_context(backend: Any, language: str) -> None:
    found = replies(backend, [OPENINGS[language]], seed=3)
    assert len(set(found)) == 7
    for reply in found:
        assert bool(HAN.search(reply)) == (language == "zh"), reply


@pytest.mark.parametrize("language", LANGUAGES)
def test_seven_rounds_without_an_empty_utterance(backend: Any, language: str) -> None:
    turns = dialogue(backend, OPENINGS[language])
    assert len(turns) == 14
    assert all(turns)


@pytest.mark.parametrize("folder", ["base_model", "model"])
def test_training_json_explains_the_weights(folder: str) -> None:
    told = json.loads((FOLDER / folder / "training.json").read_text())
    assert told["progress"]["steps"] > 100
    assert told["progress"]["loss"] < 2
    assert re.fullmatch(r"[0-9a-f]{40}", told["commit"])


@pytest.mark.parametrize("folder", ["base_model", "model"])
def test_the_corpus_is_the_one_that_the_weights_were_trained_on(folder: str) -> None:
    told = json.loads((FOLDER / folder / "training.json").read_text())
    assert told["corpus_sha256"] == corpus_hash(written=told["recipe"].get("written", 0.0)), (
        "The corpus was changed: train the model again, or undo it."
    )


def test_the_shipped_model_goes_on_from_the_base() -> None:
    base, first = (
        json.loads((FOLDER / name / "training.json").read_text()) for name in ("base_model", "model")
    )
    while "earlier" in first:
        first = first["earlier"]
    assert first == base


def test_batches_hold_whole_dialogues_within_the_budget(tokenizer: Any) -> None:
    batch = next(batches(1, 0, tokenizer, budget=1024))
    assert batch.inputs.shape == batch.labels.shape
    assert batch.inputs.numel() <= 1024
    assert (batch.inputs[:, 0] == tokenizer.bos_token_id).all()
    for row in batch.inputs:
        written = row[row != tokenizer.pad_token_id]
        assert written[-1] == tokenizer.eos_token_id


def test_pads_carry_no_label(tokenizer: Any) -> None:
    for batch in batches(2, 0, tokenizer, budget=4096):
        assert batch.tokens == (batch.inputs != tokenizer.pad_token_id).sum()
        assert (batch.labels[batch.inputs == tokenizer.pad_token_id] == IGNORED).all()


def test_a_thinned_row_keeps_its_form_and_every_reply(tokenizer: Any) -> None:
    row = encode(["I baked bread with my sister today!", "How lovely!", "Yes."], tokenizer)
    end = row.index(tokenizer.eos_token_id)
    thinned = [thin_out(row, tokenizer, random.Random(seed)) for seed in range(50)]
    assert {(ids[0], *ids[ids.index(tokenizer.eos_token_id) :]) for ids in thinned} == {(row[0], *row[end:])}
    left = sum(ids.index(tokenizer.eos_token_id) - 1 for ids in thinned) / 50 / (end - 1)
    assert 0.8 < left < 0.95


def test_validation_takes_every_reply_to_openings_that_training_never_sees(tokenizer: Any) -> None:
    found = validation_batches(tokenizer, budget=4096)
    held_out = [one for language in LANGUAGES for one in exchanges(language) if one.is_for_validation]
    assert sum(len(batch.inputs) for batch in found) == sum(len(one.replies) for one in held_out)
    drawn = [dialogue[0][1] for _, dialogue in write_corpus(1, 4000, written=1.0)]
    assert not {one.opening for one in held_out} & set(drawn)


def test_processes_write_the_same_chunks_in_the_same_order(
    tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "preference.training.demo_model.data.DIALOGUES_PER_CHUNK", 2000
    )  # as in new processes
    make = partial(
        make_chunk, seed=1, tokenizer=tokenizer, budget=16384, whole_text_chunks=2, written=0.5, thinned=0.3
    )
    with chunks_ahead(make, 1, 0) as here, chunks_ahead(make, 1, 2) as elsewhere:
        for _ in range(3):
            one, other = next(here), next(elsewhere)
            assert len(one) == len(other)
            assert all(torch.equal(a.inputs, b.inputs) for a, b in zip(one, other, strict=True))


def test_dropout_is_for_training_only(tiny: Recipe, tmp_path: Path) -> None:
    run = Run(replace(tiny, dropout=0.5), tmp_path)
    batch = next(batches(9, 0, run.tokenizer, 1024))
    run.model.train()
    assert not torch.equal(run.hidden_of(batch), run.hidden_of(batch))
    assert run.validate() == run.validate()


def test_the_learning_rate_rises_stays_and_falls_to_nothing() -> None:
    recipe = Recipe(tokens=1000, warmup_tokens=100, batch_tokens=10, peak_lr=1.0, decay_share=0.4)
    assert [rate(recipe, tokens) for tokens in (0, 100, 600, 800, 1000)] == pytest.approx([0.1, 1, 1, 0.5, 0])


@pytest.fixture
def tiny() -> Recipe:
    return Recipe(
        tokens=3000, vocabulary=400, hidden=16, layers=1, heads=2, intermediate=16, warmup_tokens=500
    )


def test_a_stopped_run_goes_on_where_it_stopped(tiny: Recipe, tmp_path: Path) -> None:
    first = Run(tiny, tmp_path)
    first.train()
    second = Run(tiny, tmp_path)
    assert second.progress == first.progress
    for one, other in zip(first.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_run_with_another_recipe_does_not_take_the_checkpoint(tiny: Recipe, tmp_path: Path) -> None:
    Run(tiny, tmp_path).train()
    assert Run(replace(tiny, peak_lr=1e-4), tmp_path).progress.steps == 0


def test_muon_in_fp32_takes_the_steps_of_pytorchs_own() -> None:
    torch.manual_seed(5)
    start = torch.randn(24, 40)
    gradients = [torch.randn(24, 40) for _ in range(5)]

    def walk(optimizer: Any) -> Any:
        weight = torch.nn.Parameter(start.clone())
        steps = optimizer([weight], lr=0.02, weight_decay=0.05, adjust_lr_fn="match_rms_adamw")
        for gradient in gradients:
            weight.grad = gradient.clone()
            steps.step()
        return weight.detach() - start

    ours, theirs = walk(Fp32Muon), walk(torch.optim.Muon)
    assert (ours - theirs).norm() < 0.02 * theirs.norm()  # bf16 has eight bits
    singular = torch.linalg.svdvals(orthogonalize(start, 5))
    assert 0.6 < singular.min() < singular.max() < 1.3


def test_a_second_task_learns_the_kinds_of_openings(tiny: Recipe, tmp_path: Path) -> None:
    run = Run(replace(tiny, written=1.0, kind_weight=1.0), tmp_path)
    every = batches(9, 0, run.tokenizer, 1024, first_replies=True, written=1.0)
    batch = max(every, key=lambda batch: len(batch.kinds))
    assert (batch.kinds != IGNORED).sum() > 0.5 * len(batch.kinds)
    known = (batch.kinds[:, None] == torch.arange(len(KINDS))).any(1)
    assert torch.equal(known, batch.kinds != IGNORED)
    losses = []
    for _ in range(20):
        losses.append(run.kind_loss(run.hidden_of(batch), batch).item())
        run.step(batch)
    assert losses[-1] < losses[0]
    run.export(tmp_path / "model")
    assert not [name for name in load_file(tmp_path / "model" / "model.safetensors") if "kind" in name]


def test_training_lowers_the_loss(tiny: Recipe, tmp_path: Path) -> None:
    run = Run(tiny, tmp_path)
    batch = next(batches(9, 0, run.tokenizer, 1024))
    first = run.step(batch)
    for _ in range(20):
        last = run.step(batch)
    assert last < first


def test_a_shipped_folder_loads_again(tiny: Recipe, tmp_path: Path) -> None:
    run = Run(tiny, tmp_path)
    run.export(tmp_path / "model")
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    assert model.dtype == torch.float32
    assert model.config.eos_token_id == run.tokenizer.eos_token_id


def test_the_tokenizer_of_a_seed_is_always_the_same() -> None:
    one, other = train_tokenizer(1, 500), train_tokenizer(1, 500)
    assert one.get_vocab() == other.get_vocab()


def test_the_training_text_is_the_corpus() -> None:
    from preference.training.demo_model.data import texts

    assert texts(5, 3) == [[text for _, text in dialogue] for _, dialogue in write_corpus(5, 3)]


def test_seven_different_replies_also_where_little_is_left_to_say(backend: Any) -> None:
    """A model that is sure of itself repeats a few farewells; the missing ones begin otherwise."""
    context = (Message("A", "I have to go now, bye!"), Message("B", "Bye! Take care."), Message("A", "Bye!"))
    [made] = backend.generate([ReplyRequest("farewell", context, "B", seed=3)])
    assert (len({reply.text for reply in made.replies}), made.failures) == (7, ())
    assert {reply.warmth for reply in made.replies} > {1.0}
