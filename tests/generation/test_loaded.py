"""Which models a worker keeps in memory, and that it says so."""

from typing import Any

import pytest

from generation import loaded
from generation.models import BackendKind, Generator
from generation.protocol import BackendError
from generation.selectors import workers_holding
from jobs import tasks as heartbeat
from jobs.services import record_heartbeat
from projects.models import Project
from tests.candidate_requests import create_dialogue, create_generator, create_request
from tests.generation.odd_backends import CLOSING, Closing


@pytest.fixture(autouse=True)
def nothing_loaded(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """A worker that has just begun; the models of the tests stand for local ones."""
    monkeypatch.setattr(loaded, "_loaded", type(loaded._loaded)())
    monkeypatch.setattr(heartbeat, "details", {})
    monkeypatch.setattr(loaded, "LOCAL", {CLOSING})
    settings.GENERATION_LOADED_MODELS = 2
    Closing.closed.clear()


def local(name: str, **options: Any) -> Generator:
    return create_generator(name, CLOSING, name=name, **options)


def use(*generators: Generator) -> None:
    for generator in generators:
        with loaded.use_backend(generator):
            pass


def test_the_servers_own_model_reads_as_many_utterances_as_the_settings_say(settings: Any, db: None) -> None:
    assert settings.GENERATION_UTTERANCES == 1  # of the shipped model
    named = create_generator("named", BackendKind.HF, model="models/mine")
    unnamed = create_generator("unnamed", BackendKind.HF)
    for utterances, wanted in ((1, 1), (0, None)):
        settings.GENERATION_UTTERANCES = utterances
        for generator in (None, unnamed):
            assert loaded.path_and_options(generator)[1]["max_utterances"] == wanted
        assert loaded.path_and_options(named)[1] == {"model": "models/mine"}


def test_the_least_recently_used_model_goes(db: None) -> None:
    one, two, three = local("one"), local("two"), local("three")
    use(one, two, one, three)
    assert Closing.closed == ["two"]
    use(one)
    assert Closing.closed == ["two"]


def test_a_model_in_use_stays(db: None) -> None:
    one, two, three = local("one"), local("two"), local("three")
    with loaded.use_backend(one) as first, loaded.use_backend(two):
        use(three)
        assert Closing.closed == []
        with loaded.use_backend(one) as again:
            assert again is first
    use(two, local("four"))
    assert "one" in Closing.closed


def test_a_model_that_is_changed_while_in_use_is_closed_when_it_is_given_back(db: None) -> None:
    one = local("one")
    with loaded.use_backend(one) as first:
        one.options = {"name": "one", "delay": 0.0}
        with loaded.use_backend(one) as second:
            assert second is not first
        assert Closing.closed == []
    assert Closing.closed == ["one"]


def test_models_of_other_servers_take_no_place(db: None) -> None:
    use(local("one"), create_generator("plain"), create_generator("other", delay=0.0), local("two"))
    assert Closing.closed == []


def test_a_model_that_cannot_be_used_is_tried_again(db: None) -> None:
    broken = local("broken", unavailable=True)
    for _try in range(2):
        with pytest.raises(BackendError), loaded.use_backend(broken):
            pass
    loaded.preload(broken.pk)  # says so in the log alone
    broken.options = {"name": "broken"}
    use(broken)


def test_a_worker_says_what_it_holds(db: None) -> None:
    one, two = local("one"), local("two")
    loaded.preload(one.pk)
    record_heartbeat(name="w-1", queues=["gpu"], details=heartbeat.details)
    assert heartbeat.details["models"] == ["closing@one"]
    assert workers_holding(one) == {"w-1": "closing@one"}
    assert workers_holding(two) == {}
    assert workers_holding(None) == {}


def test_a_model_that_was_deleted_is_not_loaded(db: None) -> None:
    loaded.preload(4711)
    assert heartbeat.details == {}


def test_a_worker_that_starts_loads_both_models_that_were_asked_last(project: Project) -> None:
    one, two = local("one"), local("two")
    create_request(create_dialogue(project, "Hello"), one, second=two)
    loaded.warm_up()
    assert heartbeat.details["models"] == ["closing@one", "closing@two"]
