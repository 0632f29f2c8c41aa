"""What each layout feeds, and which one a model and its data can have."""

from __future__ import annotations

import pytest
import torch

from preference.training.common.shared_context.probe import why_not_shared
from preference.training.common.shared_context.rows import Row
from preference.training.joint.encoding import Encoder
from preference.training.joint.layouts.arrange import NumberedQuadruple, trees
from preference.training.joint.layouts.choice import choose_layout
from preference.training.joint.layouts.collate import collate
from preference.training.joint.layouts.micro_batches import LAYOUTS, Layout
from preference.training.joint.quadruples import Quadruple, draw_quadruples
from tests.generation.conftest import build_tokenizer
from tests.preference.training.made_up import dialogue, fed, joint_model, learned, ragged


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(build_tokenizer())


def test_a_tree_row_says_what_stands_where() -> None:
    row = Row()
    root = row.add([1, 2])
    shared = row.add([3, 4], root, name="h", learned=True)
    row.add([5], root, name="m")
    row.add([6, 7], shared, name="r")
    made = collate([row], pad=9, pairs=[("h", "m"), ("m", "r")])
    tensors = made.tensors
    assert tensors["input_ids"].tolist() == [[1, 2, 3, 4, 5, 6, 7]]
    assert tensors["position_ids"].tolist() == [[0, 1, 2, 3, 2, 4, 5]]
    assert tensors["targets"].tolist() == [3, 4]
    assert tensors["predict_at"].tolist() == [[0, 1], [0, 2]]
    assert tensors["score_at"].tolist() == [[0, 3], [0, 4], [0, 6]]
    assert tensors["pairs"].tolist() == [[0, 1], [1, 2]]
    seen = [[at for at, visible in enumerate(line) if visible] for line in tensors["attention"][0].tolist()]
    assert seen == [
        [0],
        [0, 1],
        [0, 1, 2],
        [0, 1, 2, 3],
        [0, 1, 4],
        [0, 1, 2, 3, 5],
        [0, 1, 2, 3, 5, 6],
    ]
    assert (made.replies, made.learned) == (["h", "m", "r"], ["h", "h"])


def test_padding_sees_something_and_is_seen_by_nothing() -> None:
    short, long = Row(), Row()
    root = short.add([1])
    short.add([2], root)
    short.add([3], root)
    long.add([1, 2, 3, 4, 5])
    attention = collate([short, long], pad=0).tensors["attention"]
    assert attention.any(-1).all()
    assert not attention[0, :3, 3:].any()
    assert not attention[0, 3:, :3].any()


def test_plain_text_needs_no_mask() -> None:
    rows = [Row(), Row()]
    for row, words in zip(rows, ([1, 2, 3], [1]), strict=True):
        row.add([4, 5], row.add(words), name="x", learned=True)
    assert not {"attention", "position_ids"} & collate(rows, pad=0).tensors.keys()


@pytest.mark.parametrize("words", [[], [1]])
def test_a_piece_without_tokens_or_a_learned_one_without_context_is_a_mistake(words: list[int]) -> None:
    with pytest.raises(ValueError, match="piece"):
        Row().add(words, learned=True)


def test_the_tokens_that_each_layout_feeds(encoder: Encoder) -> None:
    """Closed formulas: c(t) tokens of context, h(t) m r of replies, u(i) of utterances, 1 for <bos>."""
    first = dialogue("hello there", "tea", "I like tea", "rain", annotated=(1, 3), candidates=("no", "yes"))
    second = dialogue("walk", "fine, thank you", annotated=(1,), candidates=("rain", "what"))
    dialogues = [first, second]
    step = [Quadruple(0, 0, "no", "walk"), Quadruple(0, 1, "yes", "hello"), Quadruple(1, 0, "rain", "do")]

    def size(text: str) -> int:
        return len(encoder.utterance(text))

    naive = packed = leaves = 0
    for drawn in step:
        words = dialogues[drawn.dialogue]
        turn = words.turns[drawn.turn]
        context = 1 + sum(map(size, words.utterances[: turn.position]))
        replies = [size(turn.human), size(drawn.model), size(drawn.random)]
        naive += 3 * (context + max(replies))  # one quadruple a batch, padded to its longest
        packed += context + sum(replies)
        leaves += sum(replies[1:])
    trunks = sum(1 + sum(map(size, words.utterances)) for words in dialogues)
    assert fed(Layout("naive", dialogues, encoder, token_budget=1), step) == naive
    assert fed(Layout("packed", dialogues, encoder), step) == packed
    assert fed(Layout("trees", dialogues, encoder), step) == trunks + leaves


def test_the_bound_for_fourteen_utterances_of_fifteen_tokens(encoder: Encoder) -> None:
    """T utterances of n tokens, all but one annotated: 3 · Σ (1 + nt + n) tokens become 1 + nT + 2n(T-1)."""
    count, n = 14, 15
    said = "do " * 14
    text = next(said[:cut] for cut in range(1, len(said)) if len(encoder.utterance(said[:cut])) == n)
    words = dialogue(*[text] * count, candidates=(text,))
    step = [Quadruple(0, turn, text, text) for turn in range(count - 1)]
    naive = 3 * sum(1 + n * t + n for t in range(1, count))
    tree = 1 + n * count + 2 * n * (count - 1)
    assert (naive, tree) == (4719, 601)
    assert fed(Layout("naive", [words], encoder, token_budget=1), step) == naive
    assert fed(Layout("trees", [words], encoder), step) == tree
    batches = Layout("naive", [words], encoder, token_budget=10**6)
    assert fed(batches, step) == 3 * (count - 1) * (1 + n * count)  # all in one batch: 13.7 times the tree


def test_a_trunk_ends_with_the_last_annotated_utterance(encoder: Encoder) -> None:
    words = dialogue("tea", "rain", "walk", "fine", annotated=(1,))
    assert fed(Layout("trees", [words], encoder), [Quadruple(0, 0, "no", "yes")]) == fed(
        Layout("packed", [words], encoder), [Quadruple(0, 0, "no", "yes")]
    )


def test_rows_are_filled_up_to_the_budget() -> None:
    encoder = Encoder(build_tokenizer())
    dialogues = ragged(1, count=30)
    layout = Layout("trees", dialogues, encoder)
    made = layout.micro_batches(draw_quadruples(dialogues, seed=1, epoch=0))
    assert all(len(batch["input_ids"]) == 1 for batch in made)
    lengths = [batch["input_ids"].shape[1] for batch in made]
    assert all(length <= 1024 for length in lengths)
    assert sum(lengths[:-1]) >= 0.9 * 1024 * (len(lengths) - 1)


def test_many_rows_go_together_where_the_budget_allows_it(encoder: Encoder) -> None:
    dialogues = ragged(1, count=40)
    step = draw_quadruples(dialogues, seed=1, epoch=0)
    (whole,) = Layout("trees", dialogues, encoder, token_budget=1 << 20).micro_batches(step)
    assert len(whole["input_ids"]) > 2
    used = sum(
        micro["input_ids"].numel() for micro in Layout("trees", dialogues, encoder).micro_batches(step)
    )
    assert whole["input_ids"].numel() <= 1.3 * used


def test_turns_beyond_the_limits_are_packed_apart(encoder: Encoder) -> None:
    """Their context loses its oldest utterances, which the tree still shows to others."""
    words = dialogue(*["I like tea"] * 6, candidates=("no",))
    size = len(encoder.utterance("I like tea"))
    short = Encoder(build_tokenizer(), context=1 + 2 * size, reply=16)
    step = [Quadruple(0, turn, "no", "yes") for turn in range(5)]
    layout = choose_layout(joint_model("llama"), [words], short)
    assert layout.name == "trees"
    assert "3 turns" in layout.notes[0]
    leaves = len(encoder.utterance("no")) + len(encoder.utterance("yes"))
    tree = 1 + 3 * size + 2 * leaves
    apart = 1 + 3 * size + leaves
    assert fed(layout, step) == tree + 3 * apart


def test_a_dialogue_that_is_too_long_for_a_row_becomes_several_trees(encoder: Encoder) -> None:
    words = dialogue(*["I like tea"] * 20, candidates=("no",))
    wanted = [NumberedQuadruple(turn, Quadruple(0, turn, "no", "yes")) for turn in range(19)]
    units = trees(words, wanted, encoder, longest=60)
    assert len(units) > 1
    assert sorted(number for unit in units for number in unit.numbers) == list(range(19))


def test_the_same_turn_twice_in_a_step_hangs_on_two_trees(encoder: Encoder) -> None:
    words = dialogue("tea", "rain", "walk")
    step = [Quadruple(0, 0, "no", "yes"), Quadruple(0, 0, "yes", "no"), Quadruple(0, 1, "no", "yes")]
    (batch,) = Layout("trees", [words], encoder).micro_batches(step)
    assert len(batch["pairs"]) == 9
    assert int(batch["pairs_in_step"]) == 9


def test_a_blank_utterance_takes_no_token() -> None:
    model = joint_model("llama")
    encoder = Encoder(model.tokenizer)
    words = [dialogue("", "tea", "", "rain", annotated=(3,)), dialogue("walk", "fine")]
    step = draw_quadruples(words, seed=1, epoch=0)
    found = [learned(model, Layout(name, words, encoder).micro_batches(step))[0]["loss"] for name in LAYOUTS]
    assert found == pytest.approx([found[0]] * 3, abs=1e-5)


def test_an_empty_step_has_no_micro_batch(encoder: Encoder) -> None:
    assert Layout("trees", ragged(1), encoder).micro_batches([]) == []


def test_an_unknown_layout_is_refused(encoder: Encoder) -> None:
    with pytest.raises(ValueError, match="bushes"):
        Layout("bushes", [], encoder)


@pytest.mark.parametrize("shape", ["llama", "qwen3", "gpt2"])
def test_trees_are_chosen_where_a_model_can_share_contexts(shape: str) -> None:
    model = joint_model(shape)
    layout = choose_layout(model, ragged(1), Encoder(model.tokenizer))
    assert (layout.name, layout.notes) == ("trees", [])


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ("sliding", "its attention sees 16 tokens only, and a context with a reply has 64"),
        ("alibi", "trying it failed"),
        ("mamba", "it has layers that do not attend to all tokens (LinearAttentionLayer)"),
    ],
)
def test_other_models_get_plain_rows_and_a_reason(shape: str, reason: str) -> None:
    model = joint_model(shape)
    layout = choose_layout(model, ragged(1), Encoder(model.tokenizer, context=48, reply=16))
    assert layout.name == "naive"
    assert reason in layout.notes[0]
    losses, _ = learned(model, layout.micro_batches(draw_quadruples(ragged(1), seed=1, epoch=0)))
    assert 0 < losses["loss"] < 100


def test_a_window_that_holds_every_context_allows_sharing() -> None:
    model = joint_model("sliding", sliding_window=64)
    dialogues = ragged(2)
    encoder = Encoder(model.tokenizer, context=48, reply=16)
    assert why_not_shared(model.backbone, 64) == ""
    step = draw_quadruples(dialogues, seed=1, epoch=0)
    found = [learned(model, Layout(n, dialogues, encoder).micro_batches(step))[0]["loss"] for n in LAYOUTS]
    assert found == pytest.approx([found[0]] * 3, abs=1e-5)


def test_a_model_that_makes_its_own_positions_is_found_by_trying(monkeypatch: pytest.MonkeyPatch) -> None:
    model = joint_model("gpt2")
    forward = model.backbone.transformer.forward
    monkeypatch.setattr(
        model.backbone.transformer,
        "forward",
        lambda *ids, position_ids=None, **inputs: forward(*ids, **inputs),
    )
    assert why_not_shared(model.backbone, 64) == "it gives different probabilities that way"


def test_the_layout_that_is_asked_for_is_taken() -> None:
    model = joint_model("llama")
    for name in LAYOUTS:
        assert choose_layout(model, ragged(1), Encoder(model.tokenizer), name=name).name == name


def test_probing_leaves_the_random_numbers_alone() -> None:
    model = joint_model("llama")
    before = torch.random.get_rng_state()
    why_not_shared(model.backbone, 64)
    assert torch.equal(before, torch.random.get_rng_state())
