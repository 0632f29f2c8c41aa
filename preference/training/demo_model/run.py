"""One training run of the demo model, with its checkpoint and the folder that is shipped.

A Llama-shaped model of 5 M parameters learns the next token of generated chit-chat. Loss: the mean cross-entropy of
the tokens that have a label.

This run is simpler than joint training, on purpose: one process, a few CPU cores or one GPU, made once and shipped. It
shares no code with it but the idea of a checkpoint.
"""

import json
import subprocess
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn.functional import cross_entropy
from transformers import PreTrainedTokenizerFast

from generation.demo_model.corpus import corpus_hash
from generation.demo_model.corpus.general import KINDS
from preference.training.demo_model.data import (
    IGNORED,
    TokenBatch,
    batches,
    chunks_ahead,
    train_tokenizer,
    validation_batches,
)
from preference.training.demo_model.model import build_model, optimizers
from preference.training.demo_model.recipe import Recipe, rate

CHECKPOINT_EVERY = 120.0  # seconds; each comes with a validation and a line


@dataclass(slots=True)
class Progress:
    """How far a run is; saved with every checkpoint. seconds: of training.

    loss: a running mean in nats per token. validation_loss: the same of replies to openings that training never sees.
    kinds_right: the share of those openings whose kind is recognised.
    """

    tokens: int = 0
    steps: int = 0
    chunk: int = 0
    loss: float = 0.0
    validation_loss: float = 0.0
    kinds_right: float = 0.0
    seconds: float = 0.0


class Run:
    """One training run. With the same recipe and corpus it continues from the checkpoint in `work`."""

    def __init__(
        self,
        recipe: Recipe,
        work: Path,
        device: str = "cpu",
        workers: int = 0,
        start: Path | None = None,
    ) -> None:
        """device: cpu or cuda. workers: processes that write the corpus ahead; 0: this one writes it.

        start: a folder that an earlier run exported; its weights, tokenizer and schedule go on, with the corpus as it
        is now and new optimisers.
        """
        torch.manual_seed(recipe.seed)
        self.recipe, self.work, self.device, self.workers = recipe, work, device, workers
        # Read before training: the sources may be edited while it runs.
        self.corpus, self.commit = corpus_hash(written=recipe.written), commit()
        self.earlier: dict[str, Any] = json.loads((start / "training.json").read_text()) if start else {}
        self.tokenizer = (
            PreTrainedTokenizerFast.from_pretrained(start)
            if start
            else train_tokenizer(recipe.seed, recipe.vocabulary, written=recipe.written)
        )
        self.model = build_model(recipe, self.tokenizer, device)
        self.kind_head = nn.Linear(recipe.hidden, len(KINDS)).to(device)
        self.optimizers = optimizers(self.model, recipe, bf16=self.computes_in_bf16)
        self.optimizers[1].add_param_group({"params": list(self.kind_head.parameters())})
        self.progress = Progress()
        if start:
            self.load(start)
        self.validation = validation_batches(self.tokenizer, min(recipe.batch_tokens, 4096))
        self.resume()

    @property
    def computes_in_bf16(self) -> bool:
        """Where the processor multiplies in it; where it does not, fp32 is many times faster."""
        able = torch.cpu.get_capabilities()
        return self.device == "cuda" or bool(able.get("avx512_bf16") or able.get("amx_bf16"))

    @property
    def checkpoint(self) -> Path:
        """The one checkpoint, which the next replaces."""
        return self.work / "checkpoint.pt"

    def identity(self) -> dict[str, Any]:
        """What must be the same in a checkpoint and its continuation; `tokens` may change."""
        changing = {"tokens": None, "sharpness": None}
        return {**asdict(self.recipe), **changing, "corpus": self.corpus, "earlier": self.earlier}

    def save(self) -> None:
        """Validate, report, and write the checkpoint beside the old one and swap them: a kill leaves a complete one."""
        self.progress.validation_loss, self.progress.kinds_right = self.validate()
        self.report()
        state = {
            "identity": self.identity(),
            "model": self.model.state_dict(),
            "kind_head": self.kind_head.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "progress": asdict(self.progress),
        }
        partial = self.checkpoint.with_suffix(".part")
        torch.save(state, partial)
        partial.replace(self.checkpoint)

    def load(self, folder: Path) -> None:
        """The weights of an exported folder without their sharpness, and how far that run was."""
        weights = load_file(folder / "model.safetensors", device=self.device)
        weights["model.norm.weight"] = (
            weights["model.norm.weight"].float() / self.earlier["recipe"]["sharpness"]
        )
        self.model.load_state_dict(weights, strict=False)  # the output layer is the embedding, and saved once
        self.progress = Progress(**self.earlier["progress"])

    def resume(self) -> None:
        """Load the checkpoint, if it belongs to this recipe and corpus."""
        if not self.checkpoint.exists():
            return
        state = torch.load(self.checkpoint, weights_only=True, map_location=self.device)
        if state["identity"] == self.identity():
            self.model.load_state_dict(state["model"])
            self.kind_head.load_state_dict(state["kind_head"])
            for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
                optimizer.load_state_dict(saved)
            self.progress = Progress(**state["progress"])
            print(f"Going on at {self.progress.tokens:,} tokens ({self.checkpoint}).", flush=True)

    def hidden_of(self, batch: TokenBatch) -> torch.Tensor:
        """(rows, length, hidden): what the last layer says at each token."""
        # Padding is on the right, where causal attention never reaches it: no mask is needed.
        states: torch.Tensor = self.model.model(input_ids=batch.inputs.to(self.device)).last_hidden_state
        return states

    def loss_of(self, hidden: torch.Tensor, batch: TokenBatch) -> torch.Tensor:
        """The mean loss of the labelled tokens of a batch, in nats."""
        targets = batch.labels.to(self.device)[:, 1:]
        labelled = targets != IGNORED
        # Logits only where there is a label: (labelled tokens, vocabulary).
        return cross_entropy(self.model.lm_head(hidden[:, :-1][labelled]).float(), targets[labelled])

    def kind_logits(self, hidden: torch.Tensor, batch: TokenBatch) -> torch.Tensor:
        """(rows, kinds), read where the first utterance ends, so before the reply."""
        ends = (batch.inputs == self.tokenizer.eos_token_id).int().argmax(1).to(self.device)
        logits: torch.Tensor = self.kind_head(
            hidden[torch.arange(len(ends), device=self.device), ends]
        ).float()
        return logits

    def kind_loss(self, hidden: torch.Tensor, batch: TokenBatch) -> torch.Tensor:
        """The mean loss of the kinds of the openings, in nats; 0 if none has a kind.

        One label for each opening says what many replies say only between the lines. The head that reads it is not
        exported.
        """
        kinds = batch.kinds.to(self.device)
        if not (kinds != IGNORED).any():
            return hidden.new_zeros(())
        return cross_entropy(self.kind_logits(hidden, batch), kinds, ignore_index=IGNORED)

    def step(self, batch: TokenBatch) -> torch.Tensor:
        """One optimiser step on a batch; returns the loss of its tokens in nats per token."""
        with self.autocast():
            hidden = self.hidden_of(batch)
            loss = self.loss_of(hidden, batch)
            of_kinds = self.kind_loss(hidden, batch) if self.recipe.kind_weight else 0.0
        torch.autograd.backward(loss + self.recipe.kind_weight * of_kinds)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate(self.recipe, self.progress.tokens)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def autocast(self) -> torch.autocast:
        """bf16 where the device is fast in it."""
        return torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.computes_in_bf16)

    def validate(self) -> tuple[float, float]:
        """The loss of replies to openings that training never sees, in nats per token, and the share of known kinds."""
        self.model.train(False)
        total, tokens, right, openings = 0.0, 0, 0, 0
        with torch.no_grad(), self.autocast():
            for batch in self.validation:
                hidden = self.hidden_of(batch)
                labelled = int((batch.labels[:, 1:] != IGNORED).sum())
                total += float(self.loss_of(hidden, batch)) * labelled
                tokens += labelled
                guessed = self.kind_logits(hidden, batch).argmax(1).cpu()
                right += int((guessed == batch.kinds).sum())
                openings += int((batch.kinds != IGNORED).sum())
        self.model.train()
        return total / tokens, right / openings

    def report(self) -> None:
        """Print one line."""
        speed = self.progress.tokens / max(1e-9, self.progress.seconds)
        left = (self.recipe.tokens - self.progress.tokens) / speed / 60
        print(
            f"step {self.progress.steps}  {self.progress.tokens / 1e6:.2f} M tokens  "
            f"loss {self.progress.loss:.3f}, of validation {self.progress.validation_loss:.3f}, "
            f"kinds {100 * self.progress.kinds_right:.0f} %  "
            f"{speed:,.0f} tokens/s  {left:.0f} min left",
            flush=True,
        )

    def train(self) -> None:
        """Train until the recipe's tokens are reached. Checkpoints are made between two chunks of the corpus."""
        self.model.train()
        recipe = self.recipe
        make = partial(
            make_chunk,
            seed=recipe.seed,
            tokenizer=self.tokenizer,
            budget=recipe.batch_tokens,
            whole_text_chunks=recipe.whole_text_chunks,
            written=recipe.written,
            thinned=recipe.thinned,
        )
        with chunks_ahead(make, self.progress.chunk, self.workers) as chunks:
            saved = time.monotonic()
            while self.progress.tokens < recipe.tokens:
                started = time.monotonic()
                self.learn(next(chunks))
                now = time.monotonic()
                self.progress.seconds += now - started
                if now - saved > CHECKPOINT_EVERY:
                    self.save()
                    saved = now
        self.save()

    def learn(self, chunk: list[TokenBatch]) -> None:
        """A step for each batch of a chunk of the corpus."""
        progress = self.progress
        mean = torch.tensor(progress.loss, device=self.device)
        for batch in chunk:
            loss = self.step(batch)
            # Exponential mean over about the last 50 steps; a single step's loss is too noisy to read.
            mean = mean + 0.02 * (loss - mean) if progress.steps else loss
            progress.steps += 1
            progress.tokens += batch.tokens
        progress.chunk += 1
        progress.loss = float(mean)

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
            "device": torch.cuda.get_device_name() if self.device == "cuda" else "cpu",
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            **({"earlier": self.earlier} if self.earlier else {}),
        }


def make_chunk(
    chunk: int,
    *,
    seed: int,
    tokenizer: PreTrainedTokenizerFast,
    budget: int,
    whole_text_chunks: int,
    written: float,
    thinned: float,
) -> list[TokenBatch]:
    """The batches of one chunk of the corpus; a function of its own, so that another process can run it."""
    later = chunk >= whole_text_chunks
    return list(
        batches(seed, chunk, tokenizer, budget, first_replies=later, written=written, thinned=thinned)
    )


def commit() -> str:
    """The commit that is checked out, or "unknown" outside a repository."""
    command = ["git", "rev-parse", "HEAD"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.strip() or "unknown"
