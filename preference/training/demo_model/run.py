"""One training run of the demo model, with its checkpoint and the folder that is shipped.

A Llama-shaped model of 5 M parameters learns the next token of generated chit-chat. Loss: the mean cross-entropy of
the tokens that have a label. Optimisers: Muon for the matrices of the layers (Jordan et al., 2024), AdamW for the
embedding and the norms (Loshchilov and Hutter, 2019).

Muon replaces the update of a matrix by the nearest matrix with orthonormal rows or columns, so that all directions in
it learn at the same pace. An embedding has no such directions (every row is learned apart), and a norm is a vector.

This run is simpler than joint training, on purpose: one process, one CPU, made once and shipped. It shares no code with
it but the idea of a checkpoint.
"""

import json
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from generation.demo_model.corpus import corpus_hash
from preference.training.demo_model.data import IGNORED, TokenBatch, batches, train_tokenizer


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides the weights, besides the corpus and the machine's arithmetic.

    tokens: to train on in all. vocabulary, hidden, layers, heads, intermediate: of the model. batch_tokens: padded
    tokens per optimiser step. peak_lr: of Muon and AdamW. warmup_tokens, decay_share: see `rate`.
    """

    tokens: int = 10_000_000
    seed: int = 1
    vocabulary: int = 5120
    hidden: int = 256
    layers: int = 6
    heads: int = 4
    intermediate: int = 512
    batch_tokens: int = 2048
    peak_lr: float = 4e-3
    warmup_tokens: int = 100_000
    # Chunks of the corpus with labels on everything; after them come mostly first replies.
    whole_text_chunks: int = 12
    decay_share: float = 0.35
    # The shipped logits are the trained ones times this: temperature 1 then draws fewer stray words.
    sharpness: float = 1.6
    weight_decay: float = 0.05
    # The share of dialogues that were written by hand.
    written: float = 0.0


@dataclass(slots=True)
class Progress:
    """How far a run is; saved with every checkpoint. loss: a running mean in nats per token. seconds: of training."""

    tokens: int = 0
    steps: int = 0
    chunk: int = 0
    loss: float = 0.0
    seconds: float = 0.0


def build(recipe: Recipe, tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """A model with new weights, from torch's global generator."""
    config = LlamaConfig(
        vocab_size=recipe.vocabulary,
        hidden_size=recipe.hidden,
        intermediate_size=recipe.intermediate,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        num_key_value_heads=recipe.heads,
        max_position_embeddings=512,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = LlamaForCausalLM(config)
    # Together with logits only at labelled tokens (see `Run.step`): 1.8 times the default's tokens per CPU second.
    model.set_attn_implementation("eager")
    return model


def rate(recipe: Recipe, tokens: int) -> float:
    """Learning rate after `tokens` tokens: linear warm-up, constant, then linear decay to 0.

    In tokens and not in steps, because a step has a varying number of them.

    rate = peak · min((tokens + batch) / warmup, (1 - tokens / total) / decay_share, 1)
    """
    warm = min(1.0, (tokens + recipe.batch_tokens) / recipe.warmup_tokens)
    left = max(0.0, 1 - tokens / recipe.tokens)
    return recipe.peak_lr * min(warm, left / recipe.decay_share, 1.0)


def optimizers(model: LlamaForCausalLM, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the layers, AdamW for the embedding and the norms.

    After 0.6 M tokens the loss was 1.79, against 2.91 with AdamW alone, for a third more CPU time per token.
    """
    matrices = [p for name, p in model.named_parameters() if p.dim() == 2 and "embed" not in name]
    others = [p for name, p in model.named_parameters() if p.dim() != 2 or "embed" in name]
    muon = torch.optim.Muon(
        matrices, weight_decay=recipe.weight_decay, momentum=0.95, adjust_lr_fn="match_rms_adamw"
    )
    return [muon, torch.optim.AdamW(others, betas=(0.9, 0.98), weight_decay=0.0, fused=True)]


class Run:
    """One training run. With the same recipe and corpus it continues from the checkpoint in `work`."""

    def __init__(self, recipe: Recipe, work: Path) -> None:
        torch.manual_seed(recipe.seed)
        self.recipe, self.work = recipe, work
        # Read before training: the sources may be edited while it runs.
        self.corpus, self.commit = corpus_hash(written=recipe.written), commit()
        self.tokenizer = train_tokenizer(recipe.seed, recipe.vocabulary, written=recipe.written)
        self.model = build(recipe, self.tokenizer)
        self.optimizers = optimizers(self.model, recipe)
        self.progress = Progress()
        self.resume()

    @property
    def checkpoint(self) -> Path:
        """The one checkpoint, which the next replaces."""
        return self.work / "checkpoint.pt"

    def identity(self) -> dict[str, Any]:
        """What must be the same in a checkpoint and its continuation; `tokens` may change."""
        return {**asdict(self.recipe), "tokens": None, "sharpness": None, "corpus": self.corpus}

    def save(self) -> None:
        """Write the checkpoint beside the old one and swap them, so that a kill leaves a complete one."""
        state = {
            "identity": self.identity(),
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "progress": asdict(self.progress),
        }
        partial = self.checkpoint.with_suffix(".part")
        torch.save(state, partial)
        partial.replace(self.checkpoint)

    def resume(self) -> None:
        """Load the checkpoint, if it belongs to this recipe and corpus."""
        if not self.checkpoint.exists():
            return
        state = torch.load(self.checkpoint, weights_only=True)
        if state["identity"] == self.identity():
            self.model.load_state_dict(state["model"])
            for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
                optimizer.load_state_dict(saved)
            self.progress = Progress(**state["progress"])
            print(f"Going on at {self.progress.tokens:,} tokens ({self.checkpoint}).", flush=True)

    def step(self, inputs: torch.Tensor, labels: torch.Tensor) -> float:
        """One optimiser step on token ids and labels, both (rows, length); returns the loss in nats per token."""
        with torch.autocast("cpu", dtype=torch.bfloat16):
            # Padding is on the right, where causal attention never reaches it: no mask is needed.
            hidden = self.model.model(input_ids=inputs).last_hidden_state[:, :-1]
            targets = labels[:, 1:]
            labelled = targets != IGNORED
            # Logits only where there is a label: (labelled tokens, vocabulary).
            loss = cross_entropy(self.model.lm_head(hidden[labelled]).float(), targets[labelled])
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate(self.recipe, self.progress.tokens)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    def report(self) -> None:
        """Print one line."""
        speed = self.progress.tokens / max(1e-9, self.progress.seconds)
        left = (self.recipe.tokens - self.progress.tokens) / speed / 60
        print(
            f"step {self.progress.steps}  {self.progress.tokens / 1e6:.2f} M tokens  "
            f"loss {self.progress.loss:.3f}  {speed:,.0f} tokens/s  {left:.0f} min left",
            flush=True,
        )

    def chunk_batches(self) -> Iterator[TokenBatch]:
        """The batches of the current chunk of the corpus."""
        recipe, chunk = self.recipe, self.progress.chunk
        later = chunk >= recipe.whole_text_chunks
        return batches(
            recipe.seed,
            chunk,
            self.tokenizer,
            recipe.batch_tokens,
            first_replies=later,
            written=recipe.written,
        )

    def train(self) -> None:
        """Train until the recipe's tokens are reached, with a checkpoint after every chunk of the corpus."""
        self.model.train()
        while self.progress.tokens < self.recipe.tokens:
            started = time.monotonic()
            for batch in self.chunk_batches():
                loss = self.step(batch.inputs, batch.labels)
                # Exponential mean over about the last 50 steps; a single step's loss is too noisy to read.
                self.progress.loss += 0.02 * (loss - self.progress.loss) if self.progress.steps else loss
                self.progress.steps += 1
                self.progress.tokens += batch.tokens
            self.progress.chunk += 1
            self.progress.seconds += time.monotonic() - started
            self.report()
            self.save()

    def export(self, folder: Path) -> None:
        """Write an ordinary Hugging Face folder: fp16 safetensors, tokenizer, configuration, training.json.

        Scaling the last norm scales the logits by `sharpness`, because the output layer is linear.
        """
        with torch.no_grad():
            self.model.model.norm.weight.mul_(self.recipe.sharpness)
        self.model.train(False).half().save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        # fp16 only saves space. It is slow on CPUs, so the configuration tells loaders to use fp32.
        path = folder / "config.json"
        config = json.loads(path.read_text()) | {"dtype": "float32"}
        path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
        (folder / "training.json").write_text(json.dumps(self.explain(), indent=2) + "\n")

    def explain(self) -> dict[str, Any]:
        """Recipe, corpus, commit, steps and loss of this run."""
        parameters = sum(p.numel() for p in self.model.parameters())
        return {
            "recipe": asdict(self.recipe),
            "corpus_sha256": self.corpus,
            "commit": self.commit,
            "parameters": parameters,
            "progress": asdict(self.progress),
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
        }


def commit() -> str:
    """The commit that is checked out, or "unknown" outside a repository."""
    command = ["git", "rev-parse", "HEAD"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.strip() or "unknown"
