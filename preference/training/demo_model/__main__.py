"""Trains the bilingual chit-chat model that is shipped for `make demo`.

python -m preference.training.demo_model --output generation/demo_model/model
python -m preference.training.demo_model --output generation/demo_model/model --show-openings
"""

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from generation.demo_model.corpus import corpus_hash
from preference.training.demo_model.data import IGNORED, Batch, batches, train_tokenizer


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides the weights, besides the corpus and the machine's arithmetic."""

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


@dataclass(slots=True)
class Progress:
    """Where a run stands; saved with every checkpoint."""

    tokens: int = 0
    steps: int = 0
    chunk: int = 0
    loss: float = 0.0
    seconds: float = 0.0


def build(recipe: Recipe, tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
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
    # With a step's logits only where there is a label: 1.8 times the tokens a CPU second of the default.
    model.set_attn_implementation("eager")
    return model


def rate(recipe: Recipe, tokens: int) -> float:
    """Learning rate after `tokens`: linear warm-up, constant, then linear to 0 over the last `decay_share`."""
    warm = min(1.0, (tokens + recipe.batch_tokens) / recipe.warmup_tokens)
    left = max(0.0, 1 - tokens / recipe.tokens)
    return recipe.peak_lr * min(warm, left / recipe.decay_share, 1.0)


def optimizers(model: LlamaForCausalLM, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the layers, AdamW for the embedding and the norms.

    At 0.6 M tokens the loss was 1.79, with AdamW alone 2.91, for a third more CPU time a token.
    """
    matrices = [p for name, p in model.named_parameters() if p.dim() == 2 and "embed" not in name]
    others = [p for name, p in model.named_parameters() if p.dim() != 2 or "embed" in name]
    muon = torch.optim.Muon(
        matrices, weight_decay=recipe.weight_decay, momentum=0.95, adjust_lr_fn="match_rms_adamw"
    )
    return [muon, torch.optim.AdamW(others, betas=(0.9, 0.98), weight_decay=0.0, fused=True)]


class Run:
    """One training run with its checkpoint; a run with the same recipe and corpus goes on where it stopped."""

    def __init__(self, recipe: Recipe, work: Path) -> None:
        torch.manual_seed(recipe.seed)
        self.recipe, self.work = recipe, work
        # Read before training: the sources may be edited while it runs.
        self.corpus, self.commit = corpus_hash(), commit()
        self.tokenizer = train_tokenizer(recipe.seed, recipe.vocabulary)
        self.model = build(recipe, self.tokenizer)
        self.optimizers = optimizers(self.model, recipe)
        self.progress = Progress()
        self.resume()

    @property
    def checkpoint(self) -> Path:
        return self.work / "checkpoint.pt"

    def identity(self) -> dict[str, Any]:
        """What must not change between a checkpoint and its continuation; the end may be moved."""
        return {**asdict(self.recipe), "tokens": None, "sharpness": None, "corpus": self.corpus}

    def save(self) -> None:
        """Writes the checkpoint beside the old one and swaps them, so that a kill leaves one whole."""
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
        with torch.autocast("cpu", dtype=torch.bfloat16):
            # Right padding under a causal mask: no real token sees a pad, so no attention mask is needed.
            hidden = self.model.model(input_ids=inputs).last_hidden_state[:, :-1]
            targets = labels[:, 1:]
            kept = targets != IGNORED
            loss = cross_entropy(self.model.lm_head(hidden[kept]).float(), targets[kept])
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate(self.recipe, self.progress.tokens)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    def report(self) -> None:
        speed = self.progress.tokens / max(1e-9, self.progress.seconds)
        left = (self.recipe.tokens - self.progress.tokens) / speed / 60
        print(
            f"step {self.progress.steps}  {self.progress.tokens / 1e6:.2f} M tokens  "
            f"loss {self.progress.loss:.3f}  {speed:,.0f} tokens/s  {left:.0f} min left",
            flush=True,
        )

    def chunk_batches(self) -> Iterator[Batch]:
        recipe, chunk = self.recipe, self.progress.chunk
        later = chunk >= recipe.whole_text_chunks
        return batches(recipe.seed, chunk, self.tokenizer, recipe.batch_tokens, first_replies=later)

    def train(self) -> None:
        """Trains up to the recipe's tokens; checkpoints after every chunk of the corpus."""
        self.model.train()
        while self.progress.tokens < self.recipe.tokens:
            started = time.monotonic()
            for batch in self.chunk_batches():
                loss = self.step(batch.inputs, batch.labels)
                self.progress.loss += 0.02 * (loss - self.progress.loss) if self.progress.steps else loss
                self.progress.steps += 1
                self.progress.tokens += batch.tokens
            self.progress.chunk += 1
            self.progress.seconds += time.monotonic() - started
            self.report()
            self.save()

    def ship(self, folder: Path) -> None:
        """Writes an ordinary Hugging Face folder: fp16 safetensors, tokenizer, configuration, training.json."""
        with torch.no_grad():
            self.model.model.norm.weight.mul_(self.recipe.sharpness)
        self.model.train(False).half().save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        # Loaders that follow the configuration compute in fp32: fp16 is slow on CPUs, and only saves space.
        path = folder / "config.json"
        config = json.loads(path.read_text()) | {"dtype": "float32"}
        path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
        (folder / "training.json").write_text(json.dumps(self.explain(), indent=2) + "\n")

    def explain(self) -> dict[str, Any]:
        """Config, corpus, commit, steps and loss of this run."""
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
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(description="Train, or try, the shipped demo model.")
    parser.add_argument("--output", type=Path, required=True, help="folder of the model")
    parser.add_argument("--tokens", type=int, default=Recipe().tokens)
    parser.add_argument("--seed", type=int, default=Recipe().seed)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--work", type=Path, help="folder of the checkpoint; a temporary one if left out")
    parser.add_argument(
        "--show-openings", action="store_true", help="print 7 replies to each held-out opening"
    )
    parser.add_argument(
        "--show-dialogues", action="store_true", help="print 5 dialogues of 7 rounds a language"
    )
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.show_openings or options.show_dialogues:
        from preference.training.demo_model.replies import show_dialogues, show_openings

        (show_openings if options.show_openings else show_dialogues)(options.output)
        return
    work = options.work or Path(tempfile.gettempdir()) / "lapidary-demo-model"
    work.mkdir(parents=True, exist_ok=True)
    run = Run(Recipe(tokens=options.tokens, seed=options.seed), work)
    run.train()
    run.ship(options.output)
    print(f"Saved to {options.output}.")


if __name__ == "__main__":
    main()
