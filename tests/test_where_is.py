"""docs/where-is.md names every app and every room, and nothing that does not exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "where-is.md").read_text(encoding="utf-8")
FLOORS = dict(re.findall(r"^\| `(\w+)/` \| (.+) \|$", TEXT, flags=re.MULTILINE))
LINES_OF_A_SCREEN = 40
# Folders that Django asks for, and what is data.
NOT_ROOMS = {"migrations", "management", "formats", "templatetags", "__pycache__"}


def test_it_fits_on_one_screen() -> None:
    assert len(TEXT.splitlines()) <= LINES_OF_A_SCREEN


def test_every_app_is_a_floor() -> None:
    apps = {path.parent.name for path in ROOT.glob("*/apps.py")}
    assert apps | {"common", "measures", "plots"} == set(FLOORS)


def test_every_room_of_annotation_and_preference_is_named() -> None:
    for floor in ("annotation", "assessment", "preference"):
        folders = {path.parent.name for path in (ROOT / floor).glob("*/__init__.py")} - NOT_ROOMS
        named = set(re.findall(r"`(\w+)/`", FLOORS[floor]))
        assert folders - named == set(), floor


def test_the_files_that_people_look_for_exist() -> None:
    files = re.findall(r"`([\w/]+\.(?:py|js))`", TEXT.partition("| looking for |")[2])
    assert len(files) > 5
    assert [name for name in files if not (ROOT / name).is_file()] == []


def test_everything_named_exists() -> None:
    for floor, text in FLOORS.items():
        for name in re.findall(r"`(\w+(?:\.\w+)?)/?`", text):
            assert list((ROOT / floor).rglob(name)), f"{floor}: {name}"
