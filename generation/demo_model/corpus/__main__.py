"""`python -m generation.demo_model.corpus --tokens N --seed S --output FILE`: the corpus as JSON lines."""

import argparse
import json
import sys
from pathlib import Path

from generation.demo_model.corpus import heldout_openings
from generation.demo_model.corpus.dialogues import Turn, write_dialogues


def size(language: str, dialogue: list[Turn]) -> int:
    """Tokens, about: characters in Chinese, 1.25 a word in English, one end mark an utterance."""
    texts = [text for _, text in dialogue]
    words = sum(len(text) if language == "zh" else len(text.split()) * 1.25 for text in texts)
    return int(words) + len(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write generated chit-chat dialogues as JSON lines.")
    parser.add_argument("--tokens", type=int, default=100_000, help="stop after about this many tokens")
    parser.add_argument("--written", type=float, default=0.0, help="share of dialogues written by hand")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="a file; standard output if left out")
    options = parser.parse_args()
    heldout = frozenset(text for _, _, text in heldout_openings())
    total = 0
    with options.output.open("w", encoding="utf-8") if options.output else sys.stdout as out:
        for language, dialogue, _ in write_dialogues(options.seed, heldout, written=options.written):
            messages = [{"speaker": speaker, "text": text} for speaker, text in dialogue]
            out.write(json.dumps({"language": language, "messages": messages}, ensure_ascii=False) + "\n")
            total += size(language, dialogue)
            if total >= options.tokens:
                return


if __name__ == "__main__":
    main()
