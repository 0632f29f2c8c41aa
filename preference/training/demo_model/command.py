"""Train the bilingual chit-chat models that are shipped for `make demo`, or print what they say.

python -m preference.training.demo_model --output generation/demo_model/base_model
python -m preference.training.demo_model --start generation/demo_model/base_model --output generation/demo_model/model
python -m preference.training.demo_model --output generation/demo_model/model --show-openings
python -m preference.training.demo_model --output generation/demo_model/model --write-candidates
"""

import argparse
import tempfile
from pathlib import Path

import torch

from generation.backends.hf import HFBackend
from preference.training.demo_model.candidates import REPLIES, write_candidates
from preference.training.demo_model.recipe import Recipe
from preference.training.demo_model.replies import show_dialogues, show_openings
from preference.training.demo_model.run import Run


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Train, or try, the shipped demo model.")
    parser.add_argument("--output", type=Path, required=True, help="folder of the model")
    parser.add_argument("--tokens", type=int, default=Recipe().tokens)
    parser.add_argument("--seed", type=int, default=Recipe().seed)
    parser.add_argument(
        "--written", type=float, default=Recipe().written, help="share of dialogues written by hand"
    )
    parser.add_argument("--thinned", type=float, default=0.0, help="share of openings that lose some tokens")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument(
        "--kind-weight",
        type=float,
        default=0.0,
        help="weight of recognising the kind of an opening, while training",
    )
    parser.add_argument(
        "--batch-tokens", type=int, default=Recipe().batch_tokens, help="of a step; a GPU is faster with more"
    )
    parser.add_argument(
        "--sharpness", type=float, default=Recipe().sharpness, help="factor on the logits of what is saved"
    )
    parser.add_argument("--vocabulary", type=int, default=Recipe().vocabulary)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--workers", type=int, default=0, help="processes that write the corpus ahead, for a GPU"
    )
    parser.add_argument(
        "--start", type=Path, help="folder of an earlier run, to go on with its weights and tokenizer"
    )
    parser.add_argument("--work", type=Path, help="folder of the checkpoint; a temporary one if left out")
    parser.add_argument(
        "--show-openings", action="store_true", help="print 7 replies to each held-out opening"
    )
    parser.add_argument(
        "--show-dialogues", action="store_true", help="print 5 dialogues of 7 rounds a language"
    )
    parser.add_argument(
        "--write-candidates",
        action="store_true",
        help="write 7 candidates to each of the 80 openings that two readers judged, as annotators get them",
    )
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.show_openings or options.show_dialogues:
        (show_openings if options.show_openings else show_dialogues)(options.output)
        return
    if options.write_candidates:
        print(f"Wrote {write_candidates(HFBackend(str(options.output)))} candidates to {REPLIES}.")
        return
    work = options.work or Path(tempfile.gettempdir()) / "lapidary-demo-model"
    work.mkdir(parents=True, exist_ok=True)
    recipe = Recipe(
        tokens=options.tokens,
        seed=options.seed,
        written=options.written,
        vocabulary=options.vocabulary,
        batch_tokens=options.batch_tokens,
        thinned=options.thinned,
        dropout=options.dropout,
        kind_weight=options.kind_weight,
        sharpness=options.sharpness,
    )
    run = Run(recipe, work, options.device, options.workers, options.start)
    run.train()
    run.export(options.output)
    print(f"Saved to {options.output}.")
