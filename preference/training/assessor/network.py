"""The neural classifiers: any pretrained encoder or decoder, and two that start from scratch.

All of them are transformers models for sequence classification with their tokenizer. An encoder is read at its first
token ([CLS]), a decoder at its last one, because only that has seen the whole dialogue.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
)
from transformers.utils import logging as transformers_logging

from generation.backends.hf.loading import folder_hash, folder_of, is_folder
from generation.protocol import BackendError
from preference.training.assessor import gru
from preference.training.assessor.recipe import AssessorRecipe
from preference.training.assessor.task import PredictionTask
from preference.training.common.errors import TrainingError
from preference.training.common.lora import add_adapters
from preference.training.common.memory import is_out_of_memory
from preference.training.common.messages import gettext as _

PAD, CLS, SEP = "<pad>", "<cls>", "<sep>"
# Their positions start after the padding id, so that the last rows of the table are out of reach.
SHIFTED_POSITIONS = frozenset({"roberta", "xlm-roberta", "camembert", "longformer", "mpnet", "data2vec-text"})


@dataclass(slots=True)
class Network:
    """model: gives `logits`, (rows, classes), for `input_ids` and `attention_mask`, (rows, length).

    max_length: tokens of a dialogue, at most what the model has positions for.
    """

    model: Any
    tokenizer: Any
    task: PredictionTask
    max_length: int

    @property
    def device(self) -> torch.device:
        return torch.device(self.model.device)

    @property
    def parameters(self) -> int:
        """How many weights it has."""
        return sum(weight.numel() for weight in self.model.parameters())


def load_pretrained(source: str | Path, task: PredictionTask, recipe: AssessorRecipe) -> Network:
    """A pretrained model with a new output layer, drawn from the recipe's seed. source: a folder or a hub id.

    Raises TrainingError if it cannot be loaded.
    """
    gru.register()
    torch.manual_seed(recipe.seed)
    model, tokenizer = _read_model(source, num_labels=len(task.classes), ignore_mismatched_sizes=True)
    if recipe.lora_rank:
        # The adapters go to the body, and freeze it; the new output layer stays as it is and learns.
        add_adapters(
            model.base_model, rank=recipe.lora_rank, alpha=recipe.lora_alpha, dropout=recipe.lora_dropout
        )
    return Network(model, tokenizer, task, min(recipe.max_length, longest_input(model, tokenizer)))


def load_trained(folder: Path, task: PredictionTask, max_length: int) -> Network:
    """A model whose output layer is trained, too. Raises TrainingError if any of its weights is missing."""
    gru.register()
    model, tokenizer = _read_model(folder)
    return Network(model, tokenizer, task, max_length)


def _read_model(source: str | Path, **options: Any) -> tuple[Any, Any]:
    """Model and tokenizer, on the CPU in fp32, padding on the right. options: of from_pretrained.

    Weights of the output layer may be missing if the options say how many labels it gets; others may not, because
    transformers would fill them with random numbers.
    """
    try:
        place = str(folder_of(str(source))) if is_folder(str(source)) else str(source)
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(place)
            loaded: Any = AutoModelForSequenceClassification.from_pretrained(
                place, dtype=torch.float32, output_loading_info=True, **options
            )
    except BackendError as error:
        raise TrainingError(error.cause, error.remedy) from error
    except Exception as error:  # transformers raises almost anything here
        if is_out_of_memory(error):
            raise TrainingError(
                _("The model %(model)s does not fit into memory.") % {"model": source},
                _("Use a smaller model."),
            ) from error
        reason = str(error).strip().split("\n", 1)[0] or type(error).__name__
        raise TrainingError(
            _("The model %(model)s cannot be loaded: %(reason)s.")
            % {"model": source, "reason": reason.rstrip(".")},
            _("Check the name; without a network, give the path of a complete folder instead of a hub id."),
        ) from error
    model, report = loaded
    _check_weights(source, model, report, has_new_head="num_labels" in options)
    _prepare_padding(model, tokenizer, source)
    return model, tokenizer


def _check_weights(source: str | Path, model: Any, report: Any, *, has_new_head: bool) -> None:
    prefix = f"{model.base_model_prefix}."
    missing = sorted(map(str, report["missing_keys"]))
    if has_new_head:
        # A pooler belongs to the body by name, but models trained to fill in words come without one.
        missing = [name for name in missing if name.startswith(prefix) and "pooler" not in name]
    if missing:
        raise TrainingError(
            _("The weights of %(model)s are incomplete; for example %(name)s is missing.")
            % {"model": source, "name": missing[0]},
            _("Use a folder that was saved whole."),
        )


def _prepare_padding(model: Any, tokenizer: Any, source: str | Path) -> None:
    """Pad on the right with a token that both sides know.

    A decoder for classification reads the last token that is not padding. Many decoders come without a padding token;
    the one that ends a text takes its place, which no dialogue contains.
    """
    tokenizer.padding_side = "right"
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    if tokenizer.pad_token_id is None:
        raise TrainingError(
            _("The tokenizer of %(model)s has no token for padding, nor one that ends a text.")
            % {"model": source},
            _("Set pad_token in its tokenizer_config.json."),
        )
    model.config.get_text_config().pad_token_id = tokenizer.pad_token_id


def longest_input(model: Any, tokenizer: Any) -> int:
    """Tokens that the model has positions for; a very large number if it sets no limit."""
    config = model.config.get_text_config()
    positions = getattr(config, "max_position_embeddings", None) or 1 << 30
    if config.model_type in SHIFTED_POSITIONS:
        positions -= config.pad_token_id + 1
    return int(min(positions, tokenizer.model_max_length))


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Without progress bars, and without the advice to train a new output layer: that is what follows."""
    before = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        transformers_logging.set_verbosity(before)


def model_version(source: str) -> str:
    """What identifies a base model before it is loaded: the hash of a folder's files, or the id itself."""
    return folder_hash(Path(source).expanduser()) if is_folder(source) else source


# From scratch


def new_network(kind: str, texts: Iterable[str], task: PredictionTask, recipe: AssessorRecipe) -> Network:
    """kind: gru or transformer. texts: what the tokenizer learns from, the input texts of training."""
    torch.manual_seed(recipe.seed)
    tokenizer = train_tokenizer(texts, recipe.vocabulary, recipe.max_length)
    build = {"gru": _new_gru, "transformer": _new_transformer}[kind]
    return Network(build(tokenizer, task, recipe), tokenizer, task, recipe.max_length)


def _new_gru(tokenizer: Any, task: PredictionTask, recipe: AssessorRecipe) -> Any:
    gru.register()
    config = gru.GruConfig(
        vocab_size=len(tokenizer),
        hidden_size=recipe.hidden,
        dropout=recipe.dropout,
        pad_token_id=tokenizer.pad_token_id,
        num_labels=len(task.classes),
    )
    return gru.GruForSequenceClassification(config)


def _new_transformer(tokenizer: Any, task: PredictionTask, recipe: AssessorRecipe) -> Any:
    """The "vanilla" encoder of Table 3, with 4 layers by default (Vaswani et al., 2017), in BERT's form."""
    config: Any = BertConfig
    return BertForSequenceClassification(
        config(
            vocab_size=len(tokenizer),
            hidden_size=recipe.hidden,
            num_hidden_layers=recipe.layers,
            num_attention_heads=recipe.heads,
            intermediate_size=4 * recipe.hidden,
            max_position_embeddings=recipe.max_length,
            hidden_dropout_prob=recipe.dropout,
            attention_probs_dropout_prob=recipe.dropout,
            pad_token_id=tokenizer.pad_token_id,
            num_labels=len(task.classes),
        )
    )


def train_tokenizer(texts: Iterable[str], vocabulary: int, max_length: int) -> PreTrainedTokenizerFast:
    """Byte-level BPE with at most `vocabulary` entries, and `<cls> text <sep>` around every text.

    Byte-level: any text can be encoded, without an unknown token. Every Chinese character is a pre-token, so that the
    vocabulary is spent on characters instead of frequent phrases.
    """
    core = Tokenizer(models.BPE())
    cut = pre_tokenizers.Split(Regex(r"\p{Han}"), behavior="isolated")
    core.pre_tokenizer = pre_tokenizers.Sequence([cut, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[PAD, CLS, SEP],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(texts, trainer)
    core.post_processor = _template(core)
    wrap: Any = PreTrainedTokenizerFast
    tokenizer: PreTrainedTokenizerFast = wrap(
        tokenizer_object=core,
        pad_token=PAD,
        cls_token=CLS,
        sep_token=SEP,
        model_max_length=max_length,
        clean_up_tokenization_spaces=False,
    )
    return tokenizer


def _template(core: Tokenizer) -> Any:
    from tokenizers.processors import TemplateProcessing

    tokens = [(token, core.token_to_id(token)) for token in (CLS, SEP)]
    return TemplateProcessing(single=f"{CLS} $A {SEP}", special_tokens=tokens)
