"""`python -m generation.demo_model.demo_log`: write the demo log again, from seeds, with the base of the demo model.

It takes about six minutes of one CPU core. Use --dialogues and --output to write a smaller one elsewhere.
"""

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from generation.demo_model.demo_log import DIALOGUES, FILE
from generation.demo_model.demo_log.making import dialogue_row, write_log
from generation.protocol import BackendError, load_backend

MODEL = FILE.parent.parent / "base_model"


def as_lines(rows: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the demo log again, from seeds.")
    parser.add_argument("--dialogues", type=int, default=DIALOGUES)
    parser.add_argument("--output", type=Path, default=FILE, help="a file that ends in .jsonl.gz")
    options = parser.parse_args()
    backend = load_backend("generation.backends.hf.HFBackend", {"model": str(MODEL)})
    try:
        dialogues = write_log(range(options.dialogues), backend)
    except BackendError as error:
        sys.stderr.write(f"{error.cause} {error.remedy}\n")
        return 1
    rows = [dialogue_row(dialogue) for dialogue in dialogues]
    options.output.write_bytes(gzip.compress(as_lines(rows), mtime=0))
    actions = Counter(utterance.action for dialogue in dialogues for utterance in dialogue.utterances[1:])
    shares = ", ".join(f"{action} {count / actions.total():.0%}" for action, count in sorted(actions.items()))
    print(f"{len(rows)} dialogues, {actions.total()} turns ({shares}), to {options.output}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
