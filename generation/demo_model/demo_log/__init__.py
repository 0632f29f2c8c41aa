"""A small annotated log for trying “train, compare, promote”: dialogues by scripted annotators, shipped as a file.

`thoughts` draws what could be said next, `annotator` chooses among it, `making` gets candidates from the base of the
demo model and writes the dialogues. DATA_CARD.md describes the data. `python -m generation.demo_model.demo_log` writes
the file again.
"""

import gzip
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
FILE: Final = HERE / "demo_log.jsonl.gz"
DIALOGUES: Final = 400


def read_log() -> bytes:
    """JSON Lines in the format `diamante`."""
    return gzip.decompress(FILE.read_bytes())
