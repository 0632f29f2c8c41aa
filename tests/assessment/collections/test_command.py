"""`manage.py collect_dialogues` makes a collection in the foreground, and what is missing with the same id."""

from io import StringIO
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from assessment.collections.models import CollectedDialogue, CollectedState, Collection
from assessment.systems.connectors.protocol import Question
from assessment.systems.models import System
from generation.protocol import BackendError
from projects.models import Project
from tests.assessment.collections.conftest import FakeSystems

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def three_projects(pair: tuple[System, ...], source: Project, rating: Project) -> None:
    """The study with its systems, the source and the raters' project."""


def collect(*options: str) -> tuple[UUID, str]:
    """The id of the collection, and what was written about it."""
    out, err = StringIO(), StringIO()
    usual = ["--kind", "static", "--target", "rating", "--source", "source", "--systems", "a", "b"]
    call_command("collect_dialogues", "study", *usual, *options, stdout=out, stderr=err)
    return UUID(out.getvalue().strip()), err.getvalue()


def test_it_collects_in_the_foreground(fakes: FakeSystems) -> None:
    key, written = collect("--count", "2", "--seed", "7")
    assert Collection.objects.get(pk=key).seed == 7
    assert "6 dialogues made, 0 missing, 6 planned." in written


def test_the_same_id_makes_what_is_missing(fakes: FakeSystems) -> None:
    def fail(question: Question) -> str:
        raise BackendError("It is down.", "Start it.")

    fakes.answers["b"] = fail
    key, written = collect("--count", "2", "--without-human")
    assert "2 dialogues made, 2 missing, 2 planned." in written
    del fakes.answers["b"]
    again, written = collect("--count", "2", "--without-human", "--id", str(key))
    assert again == key
    assert "4 dialogues made, 0 missing, 2 planned." in written
    assert not CollectedDialogue.objects.filter(state=CollectedState.MISSING).exists()
    with pytest.raises(CommandError, match="already used"):
        collect("--count", "3", "--without-human", "--id", str(key))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--systems", "nobody"], "no system “nobody”"),
        (["--source", "nowhere"], "no project “nowhere”"),
        (["--target", "source"], "no labelling project “source”"),
        (["--run", "3"], "no run 3"),
        (["--count", "0"], "between 1 and"),
    ],
)
def test_wrong_names_are_refused(options: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        collect(*options)
