"""Candidates of two models in one set: balanced, different, blind, and logged with the model that wrote each."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from generation.backends.replies import reply_key
from generation.mixing import SAME_TEXT, Answer, CandidateResult, mix_candidates, shares
from generation.models import CandidateRequest, RequestState
from generation.protocol import BackendError, Message, Reply, ReplyRequest, ReplySet
from generation.selectors import describe_request, latest_request
from generation.worker import arrange_candidates, drain
from projects.models import Project
from tests.candidate_requests import (
    create_dialogue,
    create_generator,
    create_request,
    remove_last_utterance,
)

A_FEW = 60  # seeds
FAILED = BackendError("No disk.", "Buy one.", retryable=True)


def request(seed: int, count: int = 7) -> ReplyRequest:
    return ReplyRequest("d", (Message("A", "Hello"),), "B", seed, count)


class Writer:
    """A model that writes the texts of a list in turn, from a place that its seed says."""

    def __init__(self, version: str, texts: Sequence[str]) -> None:
        self.version, self.texts = version, texts
        self.asked: list[ReplyRequest] = []

    def __call__(self, requests: Sequence[ReplyRequest]) -> tuple[str, Sequence[Answer]]:
        self.asked += requests
        return self.version, [self._answer(one) for one in requests]

    def _answer(self, one: ReplyRequest) -> ReplySet:
        at = one.seed % len(self.texts)
        turned = [*self.texts[at:], *self.texts[:at]]
        return ReplySet(tuple(Reply(text, one.seed + n, 1) for n, text in enumerate(turned[: one.count])))


class Opener(Writer):
    """One whose first text is always the same."""

    def _answer(self, one: ReplyRequest) -> ReplySet:
        others = super()._answer(replace(one, count=one.count - 1)).replies
        return ReplySet((Reply("same", one.seed, 1), *others))


def failing(requests: Sequence[ReplyRequest]) -> tuple[str, Sequence[Answer]]:
    return "", [FAILED] * len(requests)


def texts(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def made_by(one: CandidateResult | BackendError) -> Counter[str]:
    assert isinstance(one, CandidateResult)
    return Counter(one.versions)


def test_seven_are_four_and_three_and_either_has_four_as_often() -> None:
    assert {shares(7, seed) for seed in range(9)} == {(4, 3), (3, 4)}
    assert sum(shares(7, seed)[0] for seed in range(100)) == 350
    assert [shares(6, 1), shares(1, 0), shares(1, 1)] == [(3, 3), (1, 0), (0, 1)]


def test_both_write_their_share() -> None:
    old, new = Writer("old", texts("o", 9)), Writer("new", texts("n", 9))
    answers = mix_candidates([request(seed) for seed in range(4)], (old, new))
    assert [made_by(one) for one in answers] == [{"old": 4, "new": 3}, {"old": 3, "new": 4}] * 2
    for one in answers:
        assert isinstance(one, CandidateResult)
        assert one.models == ("old", "new")
        assert all(
            reply.text[0] == version[0] for reply, version in zip(one.replies, one.versions, strict=True)
        )
    assert not {one.seed for one in old.asked} & {one.seed for one in new.asked}


def test_a_text_of_both_models_is_shown_once_and_favours_neither() -> None:
    """Two models that write the same: every text is one's in about half of the cases, and both keep their share."""
    owners: Counter[str] = Counter()
    for seed in range(2 * A_FEW):
        (one,) = mix_candidates(
            [request(seed)], (Writer("old", texts("x", 40)), Writer("new", ["x0", *texts("n", 40)]))
        )
        assert isinstance(one, CandidateResult)
        assert len({reply_key(reply.text) for reply in one.replies}) == 7
        assert sorted(made_by(one).values()) == [3, 4]
        owners.update(v for reply, v in zip(one.replies, one.versions, strict=True) if reply.text == "x0")
    same = [Writer("old", texts("x", 20)), Writer("new", texts("x", 20))]
    for seed in range(A_FEW):
        (one,) = mix_candidates([request(seed)], (same[0], same[1]))
        assert isinstance(one, CandidateResult)
        assert len({reply.text for reply in one.replies}) == len(one.replies) == 7 - len(one.failures)


@pytest.mark.parametrize("count", [2, 7])
def test_the_coin_is_fair(count: int) -> None:
    always = ["same", "same again", *texts("f", 12)]

    def first_the_same(version: str) -> Callable[[Sequence[ReplyRequest]], tuple[str, Sequence[Answer]]]:
        def answer(requests: Sequence[ReplyRequest]) -> tuple[str, Sequence[Answer]]:
            lists = [
                [always[0], *(f"{version}{one.seed}-{n}" for n in range(1, one.count))] for one in requests
            ]
            sets = [ReplySet(tuple(Reply(text, 1, 1) for text in found)) for found in lists]
            return version, sets

        return answer

    answers = mix_candidates(
        [request(seed, count) for seed in range(400)], (first_the_same("old"), first_the_same("new"))
    )
    owners = Counter(
        version
        for one in answers
        if isinstance(one, CandidateResult)
        for reply, version in zip(one.replies, one.versions, strict=True)
        if reply.text == "same"
    )
    assert owners.total() == 400
    assert 160 <= owners["old"] <= 240  # five standard deviations are 50
    assert all(isinstance(one, CandidateResult) and len(one.replies) == count for one in answers)


def test_a_text_that_both_wrote_stands_first_as_often_whoever_keeps_it() -> None:
    """The places are drawn from the request's seed: the coin must be another draw."""
    kept, first = Counter[str](), Counter[str]()
    for seed in range(0, 4000, 2):  # the first model writes four
        (one,) = mix_candidates(
            [request(seed)], (Opener("old", texts("o", 20)), Opener("new", texts("n", 20)))
        )
        assert isinstance(one, CandidateResult)
        _order, shown = arrange_candidates(CandidateRequest(seed=seed), one)
        (place,) = (place for place, row in enumerate(shown) if row["text"] == "same")
        kept[shown[place]["model_version"]] += 1
        first[shown[place]["model_version"]] += place == 0
    assert all(0.12 < first[model] / kept[model] < 0.17 for model in ("old", "new")), (first, kept)


def test_two_models_that_know_but_one_text_say_so() -> None:
    (one,) = mix_candidates([request(3)], (Writer("old", ["Yes."]), Writer("new", ["yes. "])))
    assert isinstance(one, CandidateResult)
    assert len(one.replies) == 1
    assert SAME_TEXT in one.failures


@pytest.mark.parametrize(("first", "second"), [(True, False), (False, True)])
def test_a_model_that_fails_leaves_the_others_candidates(first: bool, second: bool) -> None:
    models = [Writer(f"m{n}", texts("t", 9)) if works else failing for n, works in enumerate((first, second))]
    (one,) = mix_candidates([request(2)], (models[0], models[1]))
    assert isinstance(one, CandidateResult)
    assert len(one.replies) == shares(7, 2)[0 if first else 1]
    assert one.failures == ("No disk.",) * (7 - len(one.replies))
    assert "" in one.models


def test_two_models_that_fail_are_a_failure() -> None:
    assert mix_candidates([request(2)], (failing, failing)) == [FAILED]


def test_one_request_of_a_batch_is_asked_again_alone() -> None:
    old, new = Writer("old", texts("o", 9)), Writer("new", texts("n", 9))
    old.texts = [*texts("o", 3), "n1", *texts("p", 5)]
    mix_candidates([request(seed) for seed in range(6)], (old, new))
    assert len(old.asked) + len(new.asked) < 2 * 12


def asked_for_both(project: Project, seed: int = 1) -> CandidateRequest:
    first = create_generator("first", replies=texts("first ", 12))
    second = create_generator("second", replies=texts("second ", 12))
    made = create_request(
        create_dialogue(project, "Hello"), first, second=second, order="best", shows_scores=False
    )
    CandidateRequest.objects.filter(pk=made.pk).update(seed=seed)
    return made


def test_a_stored_set_names_the_model_of_each_candidate(project: Project) -> None:
    made = asked_for_both(project)
    drain("w")
    made.refresh_from_db()
    shown = made.candidate_set
    assert made.state == RequestState.DONE
    assert shown is not None
    assert shown.model_version == ""
    assert shown.sampling["order"] == "random"
    first, second = shown.sampling["models"]
    assert Counter(one["model_version"] for one in shown.candidates) == {first: 3, second: 4}
    for place, one in enumerate(shown.candidates):
        assert shown.version_of(place) == (first if one["text"].startswith("first") else second)


def test_the_browser_does_not_learn_which_model_wrote_what(project: Project) -> None:
    made = asked_for_both(project)
    drain("w")
    told = describe_request(CandidateRequest.objects.get(pk=made.pk))
    assert told["model_version"] == ""
    assert all(row.keys() == {"text"} for row in told["candidates"])


def test_places_do_not_tell_the_models_apart(project: Project) -> None:
    """Each model is at the first place about as often as its share."""
    changes = 0
    for seed in range(12):
        made = asked_for_both(project, seed)
        drain("w")
        made.refresh_from_db()
        assert made.candidate_set is not None
        versions = [one["model_version"] for one in made.candidate_set.candidates]
        changes += sum(one != other for one, other in pairwise(versions))
    assert changes > 12 * 2


def test_a_project_that_gets_a_second_model_asks_again(project: Project) -> None:
    dialogue = create_dialogue(project, "Hello")
    first, second = create_generator("first"), create_generator("second")
    alone = create_request(dialogue, first)
    both, again = (
        create_request(dialogue, first, second=second),
        create_request(dialogue, first, second=second),
    )
    assert alone.pk != both.pk
    assert both.pk == again.pk
    assert latest_request(dialogue) == both
    remove_last_utterance(dialogue)
    assert latest_request(dialogue) is None
