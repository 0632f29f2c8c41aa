"""Links between documents lead somewhere, and README names every benchmark."""

import re
from pathlib import Path

from django.core.management import get_commands

from benchmarks.__main__ import BENCHMARKS

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]+))?\)")


def anchors_of(document: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_documents_lead_somewhere() -> None:
    broken = []
    for document in DOCUMENTS:
        for path, anchor in LINK.findall(document.read_text(encoding="utf-8")):
            target = (document.parent / path) if path else document
            if not target.exists() or (anchor and anchor not in anchors_of(target)):
                broken.append(f"{document.relative_to(ROOT)}: {path}#{anchor}")
    assert broken == []


def test_commands_in_documents_exist_and_accounts_are_made_by_the_products_own() -> None:
    named = {
        name
        for document in DOCUMENTS
        for name in re.findall(r"manage\.py (\w+)", document.read_text(encoding="utf-8"))
    }
    assert named - set(get_commands()) == set()
    assert "create_user" in named
    assert "createsuperuser" not in named


def test_readme_names_every_benchmark() -> None:
    speed = (
        (ROOT / "README.md").read_text(encoding="utf-8").partition("## Speed")[2].partition("| command")[0]
    )
    assert set(BENCHMARKS) - set(re.findall(r"`(\w+)`", speed)) == set()


def test_every_benchmark_can_be_run_by_name() -> None:
    runnable = {
        path.stem
        for path in (ROOT / "benchmarks").glob("*.py")
        if "if __name__" in path.read_text(encoding="utf-8")
    }
    assert runnable - {"__main__"} == set(BENCHMARKS)
