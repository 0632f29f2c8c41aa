"""Generator of daily chit-chat in English and Chinese; every text in it was written for this project."""

import hashlib
from pathlib import Path

from generation.demo_model.corpus.reading import HERE, LANGUAGES

HELDOUT = HERE.parent / "heldout" / "openings.txt"


def source_files() -> list[Path]:
    """Text sources and code of the generator, in a fixed order."""
    texts = [path for language in LANGUAGES for path in sorted((HERE / language).glob("*.txt"))]
    return [*texts, *sorted(HERE.glob("*.py"))]


def corpus_hash() -> str:
    """SHA-256 over all sources: with the seed it names the generated corpus."""
    digest = hashlib.sha256()
    for path in source_files():
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def heldout_openings() -> list[tuple[str, str, str]]:
    """(language, "inside" or "outside" the covered topics, opening), written before the corpus."""
    lines = HELDOUT.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(language, where, text) for language, where, text in rows]
