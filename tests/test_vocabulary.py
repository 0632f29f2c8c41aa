"""Words that the project no longer uses, with those that took their place (style: plain present-day English)."""

import functools
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SUFFIXES = {".py", ".js", ".html", ".css", ".md", ".toml", ".yaml"}
# Migrations and event data are history; the demo's dialogues are people's own words.
NOT_READ = re.compile(r"/migrations/|demo_model/corpus/|tests/test_vocabulary\.py")
# As written, with case and underscores.
OLD_NAMES = {
    r"\b(import|from) \w+ as shapes\b|\bserializers as shapes\b": "serializers",
    r"\bclass \w+Shape\b|\w_shapes\b": "…Serializer",
    r"\bclass (Told|Made|Asked|Beside|Side|Joined)\b": "a noun that says what it holds",
    r"\b(label|claim)_statements\b|\baccounts[./]statements\b": "sql",
    r"\bjudged_blind\(|\bcame_free\(|\bturn_text\b|\bvalue_at\(": "the names that took their place",
    r"\bsubmission_used\b": "id_in_use",
    r"\baccounts[./]errors\b|\baccounts[./]rest[./](shapes|problems|pagination)\b": "common",
    r"[\"'#]standing[\"'\s]|\bpane[ .]standing\b": "sample_progress",
    r"\bpanes[ .](labelling )?sampling\b|\bsampling\.css\b": "sample_review",
    r"\bdef test_(who|what_is)_": "the person or thing that the test is about",
}
# Without case; an underscore counts as a space, so that names of functions are read as well.
OLD_PHRASES = {
    r"\bcontests?\b": "paired comparison",
    r"\bwhere there (is|are) no(ne)?\b": "if missing",
    r"\b(of|is|are|counts?) no more\b": "no longer",
    r"\b(is|are) told\b(?! apart)": "reported, sent, logged",
    r"\bin the place of\b": "instead of",
    r"\bcalled off\b": "cancelled",
    r"\banew\b": "again",
    # “There is no …”, “is no longer …” and “is no better …” are how people write.
    r"(?<!\bthere )\b(is|are) no (?!longer|better|faster|further)\w+": "is not a …",
}
PATH = re.compile(r"(?<![\w/.<>{}*:-])([\w-]+(?:/[\w-]+)*\.(?:py|js|css|html|md|toml|yaml|po))\b(?![\w/(])")
PLACEHOLDER = re.compile(r"\b[A-Z]+[./]")  # OUTPUT/report.html
SCRIPT_COMMENTS = re.compile(r"/\*(?:.|\n)*?\*/|(?:^|\s)//\s.*$", re.MULTILINE)
HASH_COMMENTS = re.compile(r'(?:^|\s)#\s.*$|"""(?:.|\n)*?"""', re.MULTILINE)
COMMENTS = {
    ".py": HASH_COMMENTS,
    ".toml": HASH_COMMENTS,
    ".yaml": HASH_COMMENTS,
    ".js": SCRIPT_COMMENTS,
    ".css": SCRIPT_COMMENTS,
    ".html": re.compile(r"\{#.*?#\}"),
}


@functools.cache
def tracked_files() -> list[str]:
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [name for name in listed if name and (ROOT / name).exists()]


@functools.cache
def texts() -> dict[str, str]:
    """The files whose words are checked."""
    names = [name for name in tracked_files() if Path(name).suffix in SUFFIXES or name == "Makefile"]
    return {
        name: (ROOT / name).read_text(encoding="utf-8") for name in names if not NOT_READ.search(f"/{name}")
    }


def places_of(old: str, line_of: Callable[[str], str], flags: int = 0) -> Iterator[str]:
    """The name and number of every line in which the expression matches."""
    pattern = re.compile(old, flags)
    for name, text in texts().items():
        for number, line in enumerate(line_of(text).splitlines(), start=1):
            if pattern.search(line):
                yield f"{name}:{number}: {line.strip()[:100]}"


@pytest.mark.parametrize(("old", "new"), OLD_NAMES.items())
def test_no_old_name_is_left(old: str, new: str) -> None:
    places = list(places_of(old, str))
    assert not places, f"instead: {new}\n" + "\n".join(places)


@pytest.mark.parametrize(("old", "new"), OLD_PHRASES.items())
def test_no_old_phrase_is_left(old: str, new: str) -> None:
    places = list(places_of(old, lambda text: text.replace("_", " "), re.IGNORECASE))
    assert not places, f"instead: {new}\n" + "\n".join(places)


def test_files_that_comments_name_exist() -> None:
    """Comments may leave out leading folders."""
    endings = {
        "/".join(parts[start:])
        for parts in (name.split("/") for name in tracked_files())
        for start in range(len(parts))
    }
    missing = [
        f"{name}: {path}"
        for name, text in texts().items()
        if Path(name).suffix in COMMENTS
        for comment in COMMENTS[Path(name).suffix].finditer(text)
        for path in PATH.findall(comment.group())
        if path not in endings and not PLACEHOLDER.match(path)
    ]
    assert not missing, "\n".join(missing)
