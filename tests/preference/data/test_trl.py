"""Every format for TRL: one training step of the installed TRL on our file, as load_dataset() reads it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from annotation.project_setup.services import create_project
from jobs.models import Job
from preference.data.formats.catalogue import FORMATS
from preference.data.formats.writing import Source, write_export_file
from preference.data.models.exports import FileType
from preference.data.selectors.selection import Filters, select
from preference.data.selectors.sources import select_source
from projects.models import Project
from tests.assessment.rating_files import assignment, import_ratings, rating_file, result
from tests.preference.conftest import EVERYTHING, diamante_file

Imports = Callable[..., Job]
TEMPLATE = (
    "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


# TRL 1.16 asks the installed transformers by a name that transformers 5 has renamed.
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Nothing is asked of a Hub, and caches go away with the test."""
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRL_EXPERIMENTAL_SILENCE"):
        monkeypatch.setenv(name, "1")
    return tmp_path


@pytest.fixture
def model() -> Any:
    """A Llama of one layer, 16 wide, and a tokenizer that has a chat template."""
    torch = pytest.importorskip("torch")
    from transformers import LlamaConfig

    from tests.generation.conftest import build_tokenizer

    tokenizer = build_tokenizer(ends=True)
    tokenizer.chat_template = TEMPLATE
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    torch.manual_seed(5)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=512,
        pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    return config, tokenizer


@pytest.fixture
def study(mara: User) -> Project:
    """Nine rated conversations that begin with the same words, of three systems; half of them are good."""
    project = create_project(actor=mara, slug="study", title="Study", preset="live-assessment")
    talks = [
        result(
            system,
            score,
            dialogue=[{"user": f"Do you like tea, {place // 3}?", "bot": f"{system} says {place}."}],
        )
        for place, (system, score) in enumerate(
            zip("abcabcabc", (80, 62, 20, 70, 64, 10, 90, 61, 5), strict=True)
        )
    ]
    import_ratings(project, rating_file(assignment("a", "w", *talks, result("qc", 2), result("qc", 1))))
    return project


@pytest.fixture
def loaded(imports: Imports, project: Project, offline: Path) -> Callable[[str, str], Any]:
    """loaded("sft", "parquet") is our export of three dialogues, as `datasets` reads it."""
    imports(diamante_file(3))
    return lambda format, file_type: load_rows(select(project, EVERYTHING), offline, format, file_type)


def load_rows(source: Source, folder: Path, format: str, file_type: str) -> Any:
    import datasets

    datasets.disable_progress_bars()
    shape = FORMATS[format]
    path = folder / f"rows.{shape.extension(file_type)}"
    manifest = write_export_file(path, shape, source, file_type=file_type)
    kind = "parquet" if file_type == FileType.PARQUET else "json"
    rows = datasets.load_dataset(kind, data_files=str(path), split="train", cache_dir=str(folder / "cache"))
    assert len(rows) == manifest.rows > 2
    return rows


def causal(config: Any, folder: Path) -> Any:
    """From a folder, since DPO and KTO load their reference model from where the model came from."""
    from transformers import AutoModelForCausalLM

    AutoModelForCausalLM.from_config(config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    return AutoModelForCausalLM.from_pretrained(folder)


def scored(config: Any, folder: Path) -> Any:
    from transformers import AutoModelForSequenceClassification

    config.num_labels = 1
    return AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]


def trainer_of(format: str) -> tuple[Any, Any, Callable[[Any, Path], Any]]:
    trl: Any = pytest.importorskip("trl")
    return {
        "sft": (trl.SFTTrainer, trl.SFTConfig, causal),
        "preference": (trl.DPOTrainer, trl.DPOConfig, causal),
        "reward": (trl.RewardTrainer, trl.RewardConfig, scored),
        "kto": (trl.KTOTrainer, trl.KTOConfig, causal),
    }[format]


@pytest.mark.slow
@pytest.mark.parametrize("format", ["sft", "preference", "reward", "kto"])
def test_trl_trains_on_our_file_as_it_is(
    loaded: Callable[[str, str], Any], model: Any, offline: Path, format: str
) -> None:
    rows = loaded(format, FileType.JSONL)
    assert rows.to_list() == loaded(format, FileType.PARQUET).to_list()
    train_one_step(rows, model, offline, format)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["sft", "preference"])
def test_trl_trains_on_replies_of_a_study(study: Project, model: Any, offline: Path, format: str) -> None:
    source = select_source(study, Filters())
    rows = load_rows(source, offline, format, FileType.JSONL)
    assert rows.to_list() == load_rows(source, offline, format, FileType.PARQUET).to_list()
    train_one_step(rows, model, offline, format)


def train_one_step(rows: Any, model: Any, offline: Path, format: str) -> None:
    (config, tokenizer), (trainer_class, config_class, made) = model, trainer_of(format)
    trainer = trainer_class(
        model=made(config, offline / "model"),
        args=config_class(
            output_dir=str(offline / "out"), max_steps=1, per_device_train_batch_size=2, report_to=[],
            activation_checkpointing=False, bf16=False, use_cpu=True, save_strategy="no", disable_tqdm=True,
            dataloader_pin_memory=False, learning_rate=1e-3, max_length=256,
        ),
        train_dataset=rows,
        processing_class=tokenizer,
    )  # fmt: skip
    before = [parameter.detach().clone() for parameter in trainer.model.parameters()]
    result = trainer.train()
    assert (result.global_step, result.training_loss > 0) == (1, True)
    assert any((old != new).any() for old, new in zip(before, trainer.model.parameters(), strict=True))
