"""Formats `quadruples`, `preference`, `reward` and `kto`: which replies are paired with which, and what is drawn."""

import io
import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import call_command
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from dialogues.models import CandidateSet, Dialogue, Split
from jobs.models import Job
from preference.data.formats.catalogue import FORMATS
from preference.data.formats.quadruples import SIMILAR
from preference.data.formats.replies import DrawContext
from preference.data.formats.writing import Manifest, export
from preference.data.selectors import random_replies
from preference.data.selectors.random_replies import (
    DrawSettings,
    normalize_spaces,
    reply_pool_of_project,
    reply_pool_of_rows,
)
from preference.data.selectors.selection import Filters, select
from preference.training.joint.quadruples import character_f1
from projects.models import DialogueLanguage, Project
from tests.preference.conftest import EVERYTHING, PASS, Rows, Written, diamante_file

Imports = Callable[..., Job]
Drawing = Callable[..., list[tuple[str, str, str]]]


def made_of(
    project: Project, format: str, draws: DrawSettings, filters: Filters = EVERYTHING
) -> tuple[list[dict[str, Any]], Manifest]:
    out = io.BytesIO()
    manifest = export(FORMATS[format], select(project, filters), out, draws=draws)
    return [json.loads(line) for line in out.getvalue().splitlines()], manifest


def turn(*candidates: str, said: str, **about: Any) -> dict[str, Any]:
    return {
        "conversation": [
            {"utterance": "Opening", "response_candidates": []},
            {"utterance": said, "response_candidates": list(candidates), **about},
        ]
    }


@pytest.fixture
def pairs(project: Project, imports: Imports) -> Drawing:
    """pairs(row, …) imports these dialogues and gives (chosen, rejected, origin) of the first, without random ones."""

    def pairs(*dialogues: dict[str, Any]) -> list[tuple[str, str, str]]:
        imports(dialogues)
        Dialogue.objects.update(split=Split.TRAIN)
        made, _manifest = made_of(project, "preference", DrawSettings(random=False))
        return [
            (row["chosen"][0]["content"], row["rejected"][0]["content"], row["rejected_origin"])
            for row in made
        ]

    return pairs


SEVEN = [f"reply {place}" for place in range(7)]


def test_a_selected_reply_is_better_than_the_six_others(pairs: Drawing) -> None:
    found = pairs(turn(*SEVEN, said="reply 2", action="select", source=2))
    assert found == [("reply 2", text, "unselected") for text in SEVEN if text != "reply 2"]


def test_a_revised_reply_is_better_than_its_source_and_the_others(pairs: Drawing) -> None:
    found = pairs(turn(*SEVEN, said="reply two", action="revise", source=2, edit_distance=3))
    assert len(found) == 7
    assert found[0] == ("reply two", "reply 2", "before-edit")
    assert {origin for *_pair, origin in found[1:]} == {"unselected"}


def test_a_rewritten_reply_is_better_than_all_seven(pairs: Drawing) -> None:
    found = pairs(turn(*SEVEN, said="My own", action="rewrite"))
    assert found == [("My own", text, "unselected") for text in SEVEN]


def test_empty_equal_and_repeated_candidates_make_no_pair(pairs: Drawing) -> None:
    found = pairs(
        turn("same", " same ", "", "  ", "other", "other", "my  own", said="my own", action="rewrite")
    )
    assert [rejected for _chosen, rejected, _origin in found] == ["same", "other"]


def test_an_opening_and_a_turn_without_candidates_make_no_row(project: Project, imports: Imports) -> None:
    opening = {"utterance": "Opening", "response_candidates": ["a", "b"]}
    imports([{"conversation": [opening, {"utterance": "reply", "response_candidates": []}]}])
    rows, manifest = made_of(project, "preference", DrawSettings())
    assert (rows, manifest.skipped) == ([], {"no_candidates": 1})


def test_reward_and_kto_hold_the_same_pairs(written: Written, rows: Rows) -> None:
    written(PASS), written(PASS)
    Dialogue.objects.update(split=Split.TRAIN)
    pairs = rows("preference", Filters())
    assert rows("reward", Filters()) == [
        {key: value for key, value in row.items() if key != "prompt"}
        | {"chosen": row["prompt"] + row["chosen"], "rejected": row["prompt"] + row["rejected"]}
        for row in pairs
    ]
    judged = rows("kto", Filters())
    assert [row["origin"] for row in judged if not row["label"]] == [row["rejected_origin"] for row in pairs]
    assert [row["completion"] for row in judged if not row["label"]] == [row["rejected"] for row in pairs]
    assert Counter(row["label"] for row in judged) == {True: 6, False: len(pairs)}


def test_a_pair_says_which_reply_it_is_about_and_how_the_rejected_one_was_drawn(
    project: Project, written: Written
) -> None:
    one, _other = written(PASS), written(PASS)
    Dialogue.objects.update(split=Split.TRAIN, language="en")
    pairs = [
        row
        for row in made_of(project, "preference", DrawSettings())[0]
        if (row["dialogue_id"], row["turn"]) == (one.external_id, 2)
    ]
    *shown, drawn = pairs
    assert [row["rejected_position"] for row in shown] == [3, 0, 1, 2, 4, 5, 6]  # the source first
    for row in shown:
        assert row["rejected"][0]["content"] == f"candidate {row['rejected_position']} of 2"
        assert row["language"] == "en"
        assert row["model_version"] == "scripted@1"
        assert (row["rejected_seed"], row["rejected_tokens"]) == (row["rejected_position"], 4)
        assert (row["rejected_logprob"], row["rejected_score"]) == (-1.5, None)
    assert (drawn["rejected_origin"], drawn["model_version"]) == ("random", "")
    assert (drawn["rejected_position"], drawn["rejected_logprob"]) == (None, None)


def test_imported_metadata_with_the_name_of_a_list_of_candidates_is_not_taken_for_one(
    pairs: Drawing, project: Project
) -> None:
    odd = {"candidate_sampling": ["hot"], "candidate_versions": [7, 8]}
    found = pairs(turn("one", "two", said="three", action="rewrite", model_version="m@1", **odd))
    assert [rejected for _chosen, rejected, _origin in found] == ["one", "two"]
    row = made_of(project, "preference", DrawSettings(random=False))[0][0]
    assert (row["model_version"], row["rejected_seed"]) == ("m@1", None)


def test_prompts_are_what_the_replying_speaker_saw(written: Written, rows: Rows) -> None:
    written(PASS)
    by_prompt = [row["prompt"] for row in rows("kto", Filters()) if row["label"]]
    assert by_prompt == [row["prompt"] for row in rows("sft", Filters())]


def test_a_quadruple_has_what_a_trainer_needs(project: Project, written: Written) -> None:
    one, _other = written(PASS), written(PASS)
    Dialogue.objects.update(split=Split.TRAIN)
    made, manifest = made_of(project, "quadruples", DrawSettings(seed=3))
    assert list(made[1]) == [
        "context", "human", "model", "random", "model_version", "action", "dialogue_id", "turn", "language",
        "model_position", "model_seed", "model_tokens", "model_logprob", "model_score", "model_warmth",
    ]  # fmt: skip
    assert made[1]["model"] == f"candidate {made[1]['model_position']} of 2"
    assert (made[1]["model_seed"], made[1]["model_logprob"]) == (made[1]["model_position"], -1.5)
    assert made[1]["context"] == ["Hello, I have a cat.", "candidate 2 of 1"]
    assert (made[1]["human"], made[1]["action"]) == ("Candidate 3 of 2!", "revise")
    assert (made[1]["model_version"], made[1]["dialogue_id"], made[1]["turn"]) == (
        "scripted@1", one.external_id, 2,
    )  # fmt: skip
    assert (manifest.seed, manifest.epoch, manifest.rows) == (3, 0, 6)


def test_the_version_of_a_quadruple_is_that_of_its_own_candidate(project: Project, written: Written) -> None:
    written(PASS), written(PASS)
    Dialogue.objects.update(split=Split.TRAIN)
    for shown in CandidateSet.objects.all():
        for place, one in enumerate(shown.candidates):
            one["model_version"] = f"model {place % 2}"
        shown.model_version = ""
        shown.save()
    for row in made_of(project, "quadruples", DrawSettings())[0]:
        place = int(row["model"].split()[1])
        assert row["model_version"] == f"model {place % 2}"


# --- drawn ---

# Few different characters, so that texts are often equal or alike.
WORDS = st.text(alphabet="ab ", max_size=4)
TURNS = st.tuples(WORDS.filter(str.strip), st.lists(WORDS, max_size=7))
CONVERSATIONS = st.lists(st.lists(TURNS, min_size=2, max_size=4), min_size=1, max_size=4)


@given(CONVERSATIONS, st.integers(0, 50), st.integers(0, 3))
def test_whatever_people_wrote_the_four_of_a_quadruple_fit(
    spoken: list[list[tuple[str, list[str]]]], seed: int, epoch: int
) -> None:
    """model and random differ from human, random from model, model is shown and unlike, random is from elsewhere."""
    dialogues: dict[str, Any] = {
        str(number): {
            "dialogue_id": str(number),
            "split": "train",
            "conversation": [
                {"utterance": said, "response_candidates": shown, "speaker": "AB"[place % 2]}
                for place, (said, shown) in enumerate(turns)
            ],
        }
        for number, turns in enumerate(spoken)
    }
    draws = DrawSettings(seed, epoch)
    again, drawn = (
        DrawContext(draws, reply_pool_of_rows(dialogues.values(), ["train"], draws)) for _twice in range(2)
    )
    rows = list(FORMATS["quadruples"].frozen_rows(dialogues.values(), drawn))
    assert rows == list(FORMATS["quadruples"].frozen_rows(dialogues.values(), again))
    for row in rows:
        assert len({normalize_spaces(row[name]) for name in ("human", "model", "random")} - {""}) == 3
        said = dialogues[row["dialogue_id"]]["conversation"][row["turn"]]
        assert said["utterance"] == row["human"]
        shown = {normalize_spaces(text): text for text in reversed(said["response_candidates"])}
        others = [text for words, text in shown.items() if words and words != normalize_spaces(row["human"])]
        nearer = [
            text
            for text in others
            if character_f1(row["human"], text) < character_f1(row["human"], row["model"])
        ]
        assert row["model"] in said["response_candidates"]
        assert len(nearer) < SIMILAR
        elsewhere = [one for name, one in dialogues.items() if name != row["dialogue_id"]]
        assert any(
            row["random"] == one["utterance"] for other in elsewhere for one in other["conversation"][1:]
        )
    possible = sum(1 for one in dialogues.values() for _turn in one["conversation"][1:])
    assert len(rows) + sum(drawn.skipped.values()) == possible


def test_the_same_seed_and_epoch_draw_the_same_and_others_differ(project: Project, imports: Imports) -> None:
    imports(diamante_file(6))
    Dialogue.objects.update(split=Split.TRAIN)
    first, again = (made_of(project, "quadruples", DrawSettings(1, 0))[0] for _twice in range(2))
    others = [made_of(project, "quadruples", draws)[0] for draws in (DrawSettings(1, 1), DrawSettings(2, 0))]
    assert first == again
    for other in others:
        assert [row["human"] for row in other] == [row["human"] for row in first]
        assert [row["model"] for row in other] != [row["model"] for row in first]
        assert [row["random"] for row in other] != [row["random"] for row in first]


def test_a_page_more_or_less_draws_the_same(
    project: Project, imports: Imports, monkeypatch: pytest.MonkeyPatch
) -> None:
    imports(diamante_file(7))
    whole = made_of(project, "kto", DrawSettings(4))[0]
    monkeypatch.setattr("preference.data.selectors.selection.READ_AT_ONCE", 2)
    assert made_of(project, "kto", DrawSettings(4))[0] == whole


def test_a_project_and_its_rows_draw_the_same_sample_however_small(
    project: Project, imports: Imports, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_replies, "POOL_SIZE", 5)
    imports(diamante_file(6))
    Dialogue.objects.update(split=Split.TRAIN, language="en")
    draws = DrawSettings(3, 1)
    live = reply_pool_of_project(select(project, EVERYTHING), draws)
    frozen = reply_pool_of_rows(rows("diamante"), Split.values, draws)
    assert live == frozen
    assert [len(sample) for sample in live.by_group.values()] == [5]


def test_a_random_reply_never_comes_from_another_split(project: Project, imports: Imports) -> None:
    imports(diamante_file(8))
    for number, dialogue in enumerate(Dialogue.objects.order_by("id")):
        split = Split.TEST if number % 2 else Split.TRAIN
        Dialogue.objects.filter(pk=dialogue.pk).update(split=split, language="en")
    splits = dict(Dialogue.objects.values_list("external_id", "split"))
    by_text = {
        one["utterance"]: splits[row["dialogue_id"]]
        for row in made_of(project, "diamante", DrawSettings())[0]
        for one in row["conversation"]
    }
    rows = made_of(project, "quadruples", DrawSettings())[0]
    assert len(rows) == 24
    assert all(by_text[row["random"]] == splits[row["dialogue_id"]] for row in rows)


def languages_in_one_file() -> list[dict[str, Any]]:
    """Three dialogues each: English by name, English and Chinese by their characters, French by name.

    Every reply and candidate says which it is.
    """
    named: dict[str, Any] = {
        "named": {"language": "en"},
        "guessed": {},
        "中文": {},
        "nommé": {"language": "fr"},
    }
    return [
        {
            **about,
            "conversation": [
                {"utterance": f"{word}?"},
                {"utterance": f"{word} {number}", "response_candidates": [f"{word} as candidate"]},
            ],
        }
        for number in range(3)
        for word, about in named.items()
    ]


@pytest.mark.parametrize("format", ["quadruples", "preference", "reward", "kto"])
def test_a_random_reply_never_crosses_languages(
    project: Project, imports: Imports, rows: Rows, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    imports(languages_in_one_file())
    Dialogue.objects.update(split=Split.TRAIN)
    monkeypatch.setattr(random_replies, "POOL_SIZE", 2)
    live = reply_pool_of_project(select(project, EVERYTHING), DrawSettings(7))
    assert live == reply_pool_of_rows(rows("diamante"), Split.values, DrawSettings(7))
    assert {group.language: len(sample) for group, sample in live.by_group.items()} == {
        "en": 2,
        "": 2,
        "zh": 2,
        "fr": 2,
    }
    made = made_of(project, format, DrawSettings(7))[0]
    assert len(made) >= 12
    for row in made:
        words = re.findall("named|guessed|中文|nommé", json.dumps(row, ensure_ascii=False))
        assert len(set(words)) == 1, row


def test_dialogues_without_a_language_are_in_that_of_their_project(
    project: Project, imports: Imports
) -> None:
    imports(languages_in_one_file())
    Dialogue.objects.update(split=Split.TRAIN)
    project.language = DialogueLanguage.ENGLISH
    project.save(update_fields=["language"])
    pool = reply_pool_of_project(select(project, EVERYTHING), DrawSettings(7))
    assert {group.language: len(sample) for group, sample in pool.by_group.items()} == {"en": 9, "fr": 3}


def test_a_dialogue_alone_has_no_random_reply(project: Project, written: Written) -> None:
    written(PASS)
    rows, manifest = made_of(project, "quadruples", DrawSettings(), Filters())
    assert (rows, manifest.skipped) == ([], {"no_other_dialogue": 3})
    pairs, manifest = made_of(project, "preference", DrawSettings(), Filters())
    assert {row["rejected_origin"] for row in pairs} == {"unselected", "before-edit"}
    assert manifest.skipped == {"no_other_dialogue": 3}


def test_random_pairs_are_marked_and_can_be_left_out(project: Project, written: Written) -> None:
    written(PASS), written(PASS)
    Dialogue.objects.update(split=Split.TRAIN)
    origins = Counter(
        row["rejected_origin"] for row in made_of(project, "preference", DrawSettings(), Filters())[0]
    )
    assert origins == {"unselected": 2 * (6 + 6 + 7), "before-edit": 2, "random": 6}
    without = made_of(project, "preference", DrawSettings(random=False), Filters())[0]
    assert "random" not in {row["rejected_origin"] for row in without}


@pytest.mark.parametrize("format", ["quadruples", "preference"])
def test_the_queries_do_not_grow_with_the_dialogues(
    project: Project, imports: Imports, format: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    imports(diamante_file(30))
    selection = select(project, EVERYTHING)
    # One sample a split, the dialogues and the utterances of the page, and the empty page after it.
    with django_assert_max_num_queries(6):
        export(FORMATS[format], selection, io.BytesIO())


def test_the_command_tells_what_gave_no_row(
    project: Project, written: Written, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    written(PASS)
    target = tmp_path / "q.jsonl"
    call_command(
        "export_dataset",
        project.slug,
        "--format",
        "quadruples",
        "--seed",
        "5",
        "--epoch",
        "2",
        "--output",
        str(target),
    )
    manifest = json.loads((tmp_path / "q.jsonl.manifest.json").read_text())
    assert (manifest["seed"], manifest["epoch"]) == (5, 2)
    assert "For 3 turns no other dialogue of the split had a reply to draw." in capsys.readouterr().err
