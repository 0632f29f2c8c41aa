"""Words that the project no longer uses, with those that took their place (style: plain present-day English)."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
READ = ("*.py", "*.js", "*.html", "*.css", "*.md", "*.toml", "*.yaml", "Makefile")
# Migrations and event data are history; the demo's dialogues are people's own words.
NOT_READ = re.compile(
    r"/migrations/|demo_model/corpus/|tests/test_vocabulary\.py|tests/browser/screenshots\.py"
)
OLD_WORDS = {
    r"\b(import|from) \w+ as shapes\b|\bserializers as shapes\b": "serializers",
    r"\bclass \w+Shape\b|\w_shapes\b": "…Serializer",
    r"\bclass (Told|Made|Asked|Beside|Side|Joined)\b": "a noun that says what it holds",
    r"\b(label|claim)_statements\b|\baccounts[./]statements\b": "sql",
    r"\bcontests?\b": "paired comparison",
    r"\bjudged_blind\(|\bcame_free\(|\bturn_text\b|\bvalue_at\(": "the names that took their place",
    r"\bsubmission_used\b": "id_in_use",
    r"\baccounts[./]errors\b|\baccounts[./]rest[./](shapes|problems|pagination)\b": "common",
    r"\bwhere there (is|are) no(ne)?\b": "if missing",
    r"\b(of|is) no more\b": "no longer",
    r"\b(is|are) told\b": "reported, sent, logged",
    r"\bin the place of\b": "instead of",
    r"\bcalled off\b": "cancelled",
    r"\bis no (number|port|JSON|uuid)\b": "is not a …",
}


def lines() -> list[tuple[str, int, str]]:
    """Every line of the files that git knows, or of all files without git."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", *READ], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    names = [name for name in listed if name and not NOT_READ.search(f"/{name}") and (ROOT / name).exists()]
    return [
        (name, number, line)
        for name in names
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), start=1)
    ]


def test_no_old_word_is_left() -> None:
    places = [
        f"{name}:{number}: {line.strip()[:100]} (instead: {new})"
        for name, number, line in lines()
        for old, new in OLD_WORDS.items()
        if re.search(old, line)
    ]
    assert not places, "\n".join(places)
