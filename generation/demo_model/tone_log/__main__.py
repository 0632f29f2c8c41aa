"""Write the log in which only the context decides, from seeds, with the base of the demo model.

    python -m generation.demo_model.tone_log --output FILE.jsonl

It takes about three minutes of one CPU core.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from generation.demo_model.tone_log import DIALOGUES
from generation.demo_model.tone_log.making import dialogue_row, write_log
from generation.protocol import BackendError, load_backend

MODEL = Path(__file__).parents[1] / "base_model"


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the log in which only the context decides.")
    parser.add_argument("--dialogues", type=int, default=DIALOGUES, help=f"default: {DIALOGUES}")
    parser.add_argument("--output", type=Path, required=True, help="a file that ends in .jsonl")
    options = parser.parse_args()
    backend = load_backend("generation.backends.hf.HFBackend", {"model": str(MODEL)})
    try:
        dialogues = write_log(range(options.dialogues), backend)
    except BackendError as error:
        sys.stderr.write(f"{error.cause} {error.remedy}\n")
        return 1
    lines = (json.dumps(dialogue_row(dialogue), ensure_ascii=False) + "\n" for dialogue in dialogues)
    options.output.write_text("".join(lines), encoding="utf-8")
    actions = Counter(utterance.action for dialogue in dialogues for utterance in dialogue.utterances[1:])
    shares = ", ".join(f"{action} {count / actions.total():.0%}" for action, count in sorted(actions.items()))
    print(f"{len(dialogues)} dialogues, {actions.total()} turns ({shares}), to {options.output}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
