"""Every page has a picture in `make screenshots`."""

import re
from collections.abc import Iterator
from pathlib import Path

from django.urls import URLPattern, URLResolver, get_resolver

from tests.browser.collection_shots import COLLECTION_NO_PAGES, COLLECTION_SHOTS
from tests.browser.report_shots import REPORT_SHOTS
from tests.browser.shots import IN_BETWEEN, NO_PAGES, SHOTS
from tests.browser.study_shots import STUDY_NO_PAGES, STUDY_SHOTS

ALL_SHOTS = (*SHOTS, *STUDY_SHOTS, *REPORT_SHOTS, *COLLECTION_SHOTS)
ROOT = Path(__file__).resolve().parents[2]
HEAVIEST = 300_000  # bytes


def names(patterns: list[URLPattern | URLResolver]) -> Iterator[str]:
    """Of the product's own addresses; the administration's, the API's and the style guide's are left out."""
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            if pattern.name:
                yield pattern.name
        elif not str(pattern.pattern).startswith(("admin/", "api/", "styleguide/")):
            yield from names(pattern.url_patterns)


def test_every_page_has_a_picture() -> None:
    known = {shot.name for shot in ALL_SHOTS} | NO_PAGES | STUDY_NO_PAGES | COLLECTION_NO_PAGES | IN_BETWEEN
    missing = set(names(get_resolver().url_patterns)) - known
    assert not missing, (
        "give these a Shot in tests/browser/shots.py, or list them there among the addresses without a page"
    )


def test_no_picture_is_of_a_page_that_is_gone() -> None:
    outdated = {shot.name for shot in ALL_SHOTS if not shot.address} - set(names(get_resolver().url_patterns))
    assert not outdated


def test_no_picture_takes_the_place_of_another() -> None:
    stems = [shot.stem for shot in ALL_SHOTS]
    assert len(stems) == len(set(stems))


def test_every_picture_of_the_documents_is_there_and_light() -> None:
    for document in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for picture in re.findall(r"!\[[^]]*\]\(([^)#:]+)\)", document.read_text()):
            picture = document.parent / picture
            assert picture.is_file(), (
                f"{document.name} shows {picture}: python -m tests.browser.screenshots --readme"
            )
            assert picture.stat().st_size < HEAVIEST, picture
