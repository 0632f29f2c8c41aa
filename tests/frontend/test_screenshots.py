"""Every page has a picture in `make screenshots`, and every page of a project a tab."""

import re
from collections.abc import Iterator
from pathlib import Path

from django.urls import URLPattern, URLResolver, get_resolver

from frontend.templatetags.projects import TABS
from tests.browser.collection_shots import COLLECTION_NO_PAGES, COLLECTION_SHOTS
from tests.browser.report_shots import REPORT_SHOTS
from tests.browser.shots import IN_BETWEEN, NO_PAGES, SHOTS
from tests.browser.study_shots import STUDY_NO_PAGES, STUDY_SHOTS

ALL_SHOTS = (*SHOTS, *STUDY_SHOTS, *REPORT_SHOTS, *COLLECTION_SHOTS)
ROOT = Path(__file__).resolve().parents[2]
HEAVIEST = 300_000  # bytes


def named_addresses(patterns: list[URLPattern | URLResolver]) -> Iterator[URLPattern]:
    """Of the product's own pages; the administration's, the API's and the style guide's are left out."""
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            if pattern.name:
                yield pattern
        elif not str(pattern.pattern).startswith(("admin/", "api/", "styleguide/")):
            yield from named_addresses(pattern.url_patterns)


def names(beginning: str = "") -> set[str]:
    """The names of the addresses that begin so."""
    addresses = named_addresses(get_resolver().url_patterns)
    return {str(address.name) for address in addresses if str(address.pattern).startswith(beginning)}


def test_every_page_has_a_picture() -> None:
    known = {shot.name for shot in ALL_SHOTS} | NO_PAGES | STUDY_NO_PAGES | COLLECTION_NO_PAGES | IN_BETWEEN
    missing = names() - known
    assert not missing, (
        "give these a Shot in tests/browser/shots.py, or list them there among the addresses without a page"
    )


def test_every_page_of_a_project_belongs_to_a_tab() -> None:
    pages = {shot.name for shot in ALL_SHOTS} & names("p/<slug:slug>/")
    assert "project" in pages
    assert not pages - {name for tab in TABS for name in (tab.name, *tab.pages_below)}


def test_no_picture_is_of_a_page_that_is_gone() -> None:
    outdated = {shot.name for shot in ALL_SHOTS if not shot.address} - names()
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
