"""The demo log of scripted annotators: its rule, and that the shipped file is what the code makes."""

import json
from collections import Counter
from typing import Any

import pytest

from generation.backends.hf import HFBackend
from generation.backends.replies import reply_key
from generation.demo_model.corpus import heldout_openings
from generation.demo_model.demo_log import DIALOGUES, HERE, read_log
from generation.demo_model.demo_log.annotator import NEAR, LoggedUtterance, choose_utterance, particularity
from generation.demo_model.demo_log.making import DOMAINS, dialogue_row, plan_dialogue, write_log
from generation.demo_model.demo_log.thoughts import Plan, Thought, thoughts, utterance_after

PLAN = Plan("test", "en", 12)


@pytest.fixture(scope="module")
def log() -> list[dict[str, Any]]:
    return [json.loads(line) for line in read_log().splitlines()]


def turns(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [turn for row in log for turn in row["conversation"][1:]]


def thoughts_of(*texts: str) -> list[Thought]:
    return [Thought(text, f"seed {text}") for text in texts]


def test_another_last_seed_is_another_thing_to_say_at_the_same_place() -> None:
    opening = thoughts(PLAN, [], 1)[0]
    replies = thoughts(PLAN, [opening.seed], 12)
    assert len({thought.text for thought in replies}) == len(replies) > 3
    for thought in replies:
        assert utterance_after(PLAN, [opening.seed, thought.seed]) == thought.text
        assert utterance_after(PLAN, [opening.seed]) == opening.text


def test_a_dialogue_ends() -> None:
    seeds: list[str] = []
    while possible := thoughts(PLAN, seeds, 1):
        seeds.append(possible[0].seed)
    assert 12 <= len(seeds) <= 20


def answer_to(thoughts: list[Thought], *candidates: str) -> LoggedUtterance:
    return choose_utterance(thoughts, candidates, "en")


def test_rare_words_are_particular() -> None:
    common, rare = particularity("I see.", "en"), particularity("My boat leaks.", "en")
    assert 0 < common < rare
    # A mean of its sentences: saying more is not better as such.
    assert particularity("I see. My boat leaks.", "en") == pytest.approx((common + rare) / 2)
    assert particularity("?!", "en") == 0


def test_it_prefers_what_no_candidate_says() -> None:
    one = answer_to(thoughts_of("Same here.", "I prefer the mountains, though."), "Same here.", "Goodbye!")
    assert (one.text, one.action, one.source) == ("I prefer the mountains, though.", "rewrite", None)
    assert one.seed == "seed I prefer the mountains, though."


def test_of_its_own_things_it_says_the_most_particular_one() -> None:
    one = answer_to(thoughts_of("I see.", "The attic is full of bees.", "Same here."), "Goodbye!")
    assert one.text == "The attic is full of bees."


def test_a_candidate_is_selected_where_nothing_else_comes_to_mind() -> None:
    one = answer_to(thoughts_of("Same here.", "I am from Brno."), "Bye!", "i am from Brno.", "Same  here.")
    assert (one.text, one.action, one.source, one.edit_distance) == ("i am from Brno.", "select", 1, 0)


def test_a_text_near_a_candidate_is_a_revision_of_the_nearest() -> None:
    one = answer_to(thoughts_of("I like black tea."), "No.", "I like tea.", "I am at home.")
    assert (one.action, one.source, one.edit_distance) == ("revise", 1, 6)
    assert NEAR == 0.5


def test_the_file_is_marked_as_scripted_and_bilingual(log: list[dict[str, Any]]) -> None:
    assert all(row["scripted"] is True and row["id"].startswith("scripted-") for row in log)
    assert len(log) == DIALOGUES == len({row["id"] for row in log})
    assert Counter(row["language"] for row in log) == {"en": DIALOGUES / 2, "zh": DIALOGUES / 2}


def test_its_domains_are_few_and_large(log: list[dict[str, Any]]) -> None:
    domains = Counter(row["domain"] for row in log)
    assert domains.keys() == set(DOMAINS.values())
    assert min(domains.values()) >= DIALOGUES / 20


def test_every_turn_has_candidates_and_a_model_version(log: list[dict[str, Any]]) -> None:
    shown = [turn["response_candidates"] for turn in turns(log)]
    assert Counter(len(texts) for texts in shown).most_common(1)[0][0] == 7
    assert min(map(len, shown)) >= 4
    assert all(len({reply_key(text) for text in texts}) == len(texts) for texts in shown)
    assert len({turn["model_version"] for turn in turns(log)}) == 1


def test_actions_say_how_the_text_came_about(log: list[dict[str, Any]]) -> None:
    for turn in turns(log):
        shown, source = turn["response_candidates"], turn["source"]
        is_shown = reply_key(turn["utterance"]) in {reply_key(text) for text in shown}
        assert is_shown == (turn["action"] == "select")
        assert (source is None) == (turn["action"] == "rewrite")
        assert turn["action"] != "select" or shown[source] == turn["utterance"]


def test_openings_kept_for_judging_the_model_are_not_in_it(log: list[dict[str, Any]]) -> None:
    heldout = {text for _, _, text in heldout_openings()}
    assert not heldout & {turn["utterance"] for row in log for turn in row["conversation"]}


def test_the_file_is_small() -> None:
    assert sum(path.stat().st_size for path in HERE.glob("*.gz")) < 1_500_000


@pytest.mark.slow
def test_the_shipped_dialogues_can_be_made_again(log: list[dict[str, Any]]) -> None:
    shipped = {row["id"]: row for row in log}
    backend = HFBackend(str(HERE.parent / "base_model"), threads=1)
    for dialogue in write_log([0, 1], backend):
        # The log was made when the base was the shipped model: its folder had another name, and the same weights.
        made = json.loads(
            json.dumps(dialogue_row(dialogue)).replace("demo_model/base_model@", "demo_model/model@")
        )
        assert made == shipped[made["id"]]
    backend.close()


def test_plans_differ() -> None:
    assert len({plan_dialogue(number).name for number in range(50)}) == 50
