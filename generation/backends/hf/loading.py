"""Loading a model from a folder or the Hub, with a cause and a remedy for everything that can be wrong with it."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from generation.backends.dialogue_format import PLAIN, DialogueFormat, read_format
from generation.backends.hf.chat_template import reply_frame
from generation.backends.hf.scoring import HEAD_FILE, PreferenceHead, read_head
from generation.protocol import BackendError

logger = logging.getLogger(__name__)

T = TypeVar("T")
WHOLE = (
    256 << 20
)  # weight files up to this many bytes are hashed completely, larger ones by size, first and last EDGE bytes
EDGE = 4 << 20


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that is ready to serve.

    ends: ids that end an utterance. never: ids that no reply may contain. positions: the longest sequence in tokens.
    head: scores replies; None for a model that was not trained jointly. dialogue_format: how it was trained to read
    dialogues.
    """

    model: Any
    tokenizer: Any
    ends: frozenset[int]
    never: tuple[int, ...]
    positions: int
    head: PreferenceHead | None = None
    dialogue_format: DialogueFormat = PLAIN


def is_folder(model: str) -> bool:
    """Whether `model` names a folder. A hub id is "name" or "owner/name", unless a folder of that name exists."""
    path = Path(model).expanduser()
    return path.is_dir() or path.is_absolute() or model.startswith((".", "~")) or model.count("/") > 1


def folder_of(model: str) -> Path:
    """The folder. Raises BackendError if it is missing or holds no model."""
    folder = Path(model).expanduser()
    if not folder.is_dir():
        raise BackendError(
            f"The model folder {folder} does not exist.",
            "Correct the generator's option `model`, or train or copy the model there.",
        )
    if not (folder / "config.json").is_file():
        raise BackendError(
            f"The folder {folder} has no config.json, so it is not a saved model.",
            "Name the folder that save_pretrained wrote.",
        )
    if not weight_files(folder):
        raise BackendError(
            f"The folder {folder} has no weights (*.safetensors or pytorch_model*.bin).",
            "Copy the whole folder; with git, run `git lfs pull` in it.",
        )
    return folder


def weight_files(folder: Path) -> list[Path]:
    files = {*folder.glob("*.safetensors"), *folder.glob("pytorch_model*.bin")}
    return sorted(files - {folder / HEAD_FILE})


def folder_hash(folder: Path) -> str:
    """12 hex digits over the files that decide replies and scores: configuration, tokenizer, weights and head."""
    digest = hashlib.sha256()
    settings = [path for pattern in ("*.json", "*.jinja", "*.txt") for path in sorted(folder.glob(pattern))]
    for path in [*settings, *weight_files(folder), *folder.glob(HEAD_FILE)]:
        size = path.stat().st_size
        digest.update(f"{path.name}:{size};".encode())
        with path.open("rb") as file:
            if size > WHOLE:
                digest.update(file.read(EDGE))
                file.seek(-EDGE, 2)
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
    return digest.hexdigest()[:12]


def load(model: str, device: str, dtype: str, **options: Any) -> Loaded:
    """Load model, tokenizer and, from a folder, the preference head. Raises BackendError if anything is wrong.

    options: of from_pretrained, for example a quantization_config; with a device_map, `device` does not count.
    """
    disable_progress_bar()  # type: ignore[no-untyped-call]  # a worker writes to a log, not to a terminal
    source = str(folder_of(model)) if is_folder(model) else model
    torch_device = _device(device)
    number_format = _dtype(dtype, torch_device)
    config = _attempt(f"The configuration of {model}", lambda: AutoConfig.from_pretrained(source))
    tokenizer = _attempt(f"The tokenizer of {model}", lambda: AutoTokenizer.from_pretrained(source))
    _check_tokenizer(model, tokenizer)
    place = None if "device_map" in options else torch_device
    network = _load_network(model, lambda: _read_network(source, config, number_format, options), place)
    size, hidden = network.get_output_embeddings().weight.shape
    _check_sizes(model, len(tokenizer), size)
    ends = _end_tokens(tokenizer, network)
    special = set(tokenizer.all_special_ids) | set(range(len(tokenizer), size))
    positions = getattr(config.get_text_config(decoder=True), "max_position_embeddings", None) or 1 << 30
    head, dialogue_format = None, PLAIN
    if is_folder(model):
        dialogue_format = read_format(Path(source))
        end = tokenizer.eos_token_id
        if dialogue_format.chat_template:
            end = _attempt(f"The chat template of {model}", lambda: reply_frame(tokenizer).end)
        ends |= {end}
        head = read_head(Path(source), hidden=hidden, end=end, device=network.device)
    return Loaded(network, tokenizer, ends, tuple(sorted(special - ends)), positions, head, dialogue_format)


def _read_network(
    source: str, config: Any, dtype: Any, options: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    loaded: Any = AutoModelForCausalLM.from_pretrained(
        source, config=config, dtype=dtype, output_loading_info=True, **options
    )
    network, report = loaded
    return network, report


def _load_network(
    model: str, read: Callable[[], tuple[Any, dict[str, Any]]], device: torch.device | None
) -> Any:
    """The model, ready to run. device: None for where it is.

    Missing weights, which transformers fills with random numbers, raise BackendError.
    """
    network, report = _attempt(f"The model {model}", read)
    if report["missing_keys"] or report["mismatched_keys"]:
        missing = sorted(map(str, {*report["missing_keys"], *report["mismatched_keys"]}))
        raise BackendError(
            f"The weights of {model} do not fill its configuration: {len(missing)} are missing or of another "
            f"shape, for example {missing[0]}.",
            "Use a folder of a causal language model, saved whole.",
        )
    placed = _attempt(f"The model {model}", lambda: network.to(device) if device else network)
    return placed.eval().requires_grad_(False)


def version_of(model: str, loaded: Callable[[], Loaded]) -> str:
    """The names of a folder and its parent with the hash of its files, or a hub id with its commit.

    loaded: called only for a hub id, whose commit is known after loading.
    """
    if is_folder(model):
        folder = folder_of(model)
        return f"{'/'.join(folder.resolve().parts[-2:])}@{folder_hash(folder)}"
    commit = getattr(loaded().model.config, "_commit_hash", None)
    return f"{model}@{(commit or 'unknown')[:12]}"


def _attempt(what: str, action: Callable[[], T]) -> T:
    """Run `action`; any error becomes a BackendError, because transformers raises almost anything here."""
    try:
        return action()
    except torch.OutOfMemoryError as error:
        raise BackendError(
            f"{what} does not fit into memory.", "Use a smaller model or another device."
        ) from error
    except Exception as error:
        logger.warning("%s cannot be loaded.", what, exc_info=True)
        first_line = str(error).strip().split("\n", 1)[0] or type(error).__name__
        raise BackendError(
            f"{what} cannot be loaded: {first_line}",
            "Check the name; without a network, give the path of a complete folder instead of a hub id.",
        ) from error


def _device(device: str) -> torch.device:
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        place = torch.device(device)
    except RuntimeError as error:
        raise BackendError(f"{device!r} is not a device.", "Use auto, cpu, cuda or cuda:0.") from error
    if place.type == "cuda" and not torch.cuda.is_available():
        raise BackendError(
            "The generator asks for a GPU, and PyTorch sees none.",
            "Install PyTorch for CUDA and check `nvidia-smi`, or set device to auto.",
        )
    return place


def _dtype(dtype: str, device: torch.device) -> Any:
    """torch's dtype. auto on a CPU is float32, in which a reply depends least on the rest of its batch."""
    if dtype == "auto":
        return torch.float32 if device.type == "cpu" else "auto"
    number_format = getattr(torch, dtype, None)
    if number_format not in (torch.float32, torch.float16, torch.bfloat16):
        raise BackendError(f"{dtype!r} is not a number format.", "Use auto, float32, bfloat16 or float16.")
    return number_format


def _check_tokenizer(model: str, tokenizer: Any) -> None:
    if len(tokenizer) == 0:
        raise BackendError(
            f"{model} comes without a tokenizer.", "Save the tokenizer into the model's folder."
        )
    if tokenizer.eos_token_id is None:
        raise BackendError(
            f"The tokenizer of {model} has no eos_token, which ends an utterance.",
            "Set eos_token in tokenizer_config.json to the token that the model was trained to end with.",
        )


def _check_sizes(model: str, tokens: int, rows: int) -> None:
    if tokens > rows:
        raise BackendError(
            f"The tokenizer of {model} knows {tokens} tokens, the model only {rows}.",
            "Use the tokenizer that the model was trained with.",
        )


def _end_tokens(tokenizer: Any, model: Any) -> frozenset[int]:
    """The tokenizer's end and those of the generation settings, where chat models name several."""
    configured = getattr(model.generation_config, "eos_token_id", None)
    extra = configured if isinstance(configured, list) else [configured]
    return frozenset({tokenizer.eos_token_id, *(token for token in extra if token is not None)})
