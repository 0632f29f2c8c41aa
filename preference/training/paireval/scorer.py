"""PairEval and DirectEval: scores of replies from the probabilities of label words.

PairEval (section 3.2): a reply r with history h meets k examples, each in both orders, because language models favour
a position. With P the model's probability over its whole vocabulary,

    score(r) = 1/k · Σ_j ½ [ P(" A" | r is A, example j is B) + P(" B" | example j is A, r is B) ]

The labels share what the vocabulary leaves them: their mass, P(" A") + P(" B"), is at most 1, and far less for a model
that does not answer the question. Score and mass are therefore reported together, with the score renormalised by the
mass of each prompt. The position bias is the mean of the first term minus the second: 0 for a fair model.

The released code multiplies each term by how people scored the example, which the paper does not say; `weights="human"`
selects that.

DirectEval (section 4.1.2): score(r) = P(" Yes"), for one conversation and without examples.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from generation.backends.hf import loading
from generation.protocol import BackendError
from preference.training.common.errors import TrainingError
from preference.training.common.evaluators import ReplyScore, ReplyToScore
from preference.training.common.messages import gettext as _
from preference.training.common.messages import join_sentences, ngettext
from preference.training.common.shared_context.forward import longest_sequence
from preference.training.common.shared_context.rows import Tokens
from preference.training.common.shared_context.trees import common_length
from preference.training.paireval.comparisons import COMPARISONS_FILE, as_row, read_comparisons
from preference.training.paireval.encoding import EncodedPrompt, PromptEncoder
from preference.training.paireval.prompts import DIRECT, INST, PAIR, QUESTIONS, Conversation
from preference.training.paireval.reading import Answer, PromptReader

EQUAL, HUMAN = "equal", "human"
WEIGHTS = (EQUAL, HUMAN)
# Two conversations that differ from their first letter on: what prompts about them share, all prompts share.
UNLIKE = (Conversation(("Where is it?",), "There."), Conversation(("Hello!",), "Hi."))
Conversations = tuple[Conversation, ...]


@dataclass(slots=True)
class Inquiry:
    """What is asked about one reply. target: the reply with its history. examples: those it is compared with.

    dropped: oldest utterances left out. note: a sentence, or "". reason: why nothing is asked; "" if something is.
    """

    reply: ReplyToScore
    target: Conversation
    examples: list[ReplyToScore] = field(default_factory=list)
    conversations: list[Conversations] = field(default_factory=list)
    prompts: list[EncodedPrompt] = field(default_factory=list)
    dropped: int = 0
    note: str = ""
    reason: str = ""

    def details(self) -> dict[str, Any]:
        """Columns of the output that say what was changed."""
        dropped = {"dropped_utterances": self.dropped} if self.dropped else {}
        return dropped | ({"note": self.note} if self.note else {})


class LabelEvaluator:
    """What PairEval and DirectEval share: from replies to prompts, and from answers to scores."""

    def __init__(
        self, name: str, encoder: PromptEncoder, reader: PromptReader, model: dict[str, Any]
    ) -> None:
        """name: of the evaluator. model: name and version, for the lineage."""
        self.name = name
        self._encoder, self.reader, self._model = encoder, reader, model

    @property
    def notes(self) -> list[str]:
        """What is slower or otherwise than asked for, in sentences."""
        return self.reader.notes

    def score(self, replies: Sequence[ReplyToScore]) -> list[ReplyScore]:
        """One score for each reply, in their order; None with a reason for one that cannot be scored."""
        inquiries = [self._inquire(reply) for reply in replies]
        self._encode(inquiries)
        answers = iter(self.reader.read([prompt for inquiry in inquiries for prompt in inquiry.prompts]))
        return [self._conclude(inquiry, [next(answers) for _ in inquiry.prompts]) for inquiry in inquiries]

    def describe(self) -> dict[str, Any]:
        """What decides about the scores."""
        question = self._encoder.question
        return {
            "name": self.name,
            "model": self._model,
            "question": question.name,
            "prompt": question.instruction,
            "answer": question.answer,
            "template": self._encoder.template,
            "label_tokens": list(self._encoder.labels),
        }

    def _inquire(self, reply: ReplyToScore) -> Inquiry:
        """The conversations to ask about, whole."""
        inquiry = Inquiry(reply, conversation_of(reply))
        if reply.response.strip():
            self._ask(inquiry)
        else:
            inquiry.reason = _("The response is empty.")
        return inquiry

    def _ask(self, inquiry: Inquiry) -> None:
        """Set the conversations of an inquiry, or the reason why there are none."""
        raise NotImplementedError

    def _summarize(self, inquiry: Inquiry, read: list[tuple[float, float]]) -> ReplyScore:
        raise NotImplementedError

    def _encode(self, inquiries: Sequence[Inquiry]) -> None:
        """Encode all prompts at once, then again those that are too long, with fewer utterances."""
        prompts = iter(self._encoder.encode(one for inquiry in inquiries for one in inquiry.conversations))
        for inquiry in inquiries:
            inquiry.prompts = [next(prompts) for _ in inquiry.conversations]
            if not self._encoder.fits(inquiry.prompts):
                self._shorten(inquiry)

    def _shorten(self, inquiry: Inquiry) -> None:
        """Drop as few of the reply's oldest utterances as make all its prompts fit; the newest one stays.

        The same number for every prompt, so that all comparisons are about the same conversation. By bisection: the
        fewer utterances, the shorter the prompt.
        """
        low, high = 0, max(0, len(inquiry.reply.history) - 1)  # too few, and at most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (
                (low, middle) if self._encoder.fits(self._prompts(inquiry, middle)) else (middle, high)
            )
        inquiry.prompts, inquiry.dropped = self._prompts(inquiry, high), high
        if not self._encoder.fits(inquiry.prompts):
            longest = max(len(prompt.tokens) for prompt in inquiry.prompts)
            inquiry.prompts, inquiry.dropped = [], 0
            inquiry.reason = _(
                "The prompt has %(tokens)s tokens even with the last utterance only, and the model takes %(positions)s."
            ) % {"tokens": longest, "positions": self._encoder.positions}
            return
        template = ngettext(
            "The oldest utterance is left out, because the model takes %(positions)s tokens.",
            "The %(count)s oldest utterances are left out, because the model takes %(positions)s tokens.",
            high,
        )
        note = template % {"count": high, "positions": self._encoder.positions}
        inquiry.note = join_sentences(inquiry.note, note)

    def _prompts(self, inquiry: Inquiry, dropped: int) -> list[EncodedPrompt]:
        """The prompts of an inquiry without the reply's oldest utterances."""
        shorter = inquiry.target.without_oldest(dropped)
        return self._encoder.encode(
            tuple(shorter if one is inquiry.target else one for one in conversations)
            for conversations in inquiry.conversations
        )

    def _conclude(self, inquiry: Inquiry, answers: Sequence[Answer]) -> ReplyScore:
        failures = [answer.reason for answer in answers if answer.probabilities is None]
        if reason := inquiry.reason or (failures[0] if failures else ""):
            return ReplyScore(inquiry.reply.id, None, reason, details=inquiry.details())
        return self._summarize(inquiry, [answer.probabilities for answer in answers if answer.probabilities])


class PairEval(LabelEvaluator):
    """Compares every reply with the same k examples, in both orders."""

    def __init__(
        self,
        name: str,
        encoder: PromptEncoder,
        reader: PromptReader,
        model: dict[str, Any],
        comparisons: Sequence[ReplyToScore],
        *,
        k: int = 3,
        weights: str = EQUAL,
    ) -> None:
        """comparisons: the first k of them are used. Raises TrainingError if weights need scores that they lack."""
        super().__init__(name, encoder, reader, model)
        self.comparisons, self.k, self.weights = tuple(comparisons[:k]), k, weights
        unscored = next((one.id for one in self.comparisons if one.human is None), None)
        if weights == HUMAN and unscored is not None:
            raise TrainingError(
                _("The comparison example %(id)s has no score by a person.") % {"id": unscored},
                _("Add `human` to every example, or use --weights equal."),
            )

    def describe(self) -> dict[str, Any]:
        rows = [as_row(one) for one in self.comparisons]
        return super().describe() | {"k": self.k, "weights": self.weights, "comparisons": rows}

    def _ask(self, inquiry: Inquiry) -> None:
        """In both orders for each example, but not about an example that is the reply itself: nothing can be said."""
        target, same = inquiry.target, _key(inquiry.target)
        inquiry.examples = [one for one in self.comparisons if _key(conversation_of(one)) != same]
        for example in inquiry.examples:
            other = conversation_of(example)
            inquiry.conversations += [(target, other), (other, target)]
        if not inquiry.examples:
            inquiry.reason = _("Every comparison example equals this reply.")
        elif len(inquiry.examples) < self.k:
            inquiry.note = self._why_fewer(len(inquiry.examples))

    def _why_fewer(self, count: int) -> str:
        template = ngettext(
            "It is compared with one example instead of %(k)s.",
            "It is compared with %(count)s examples instead of %(k)s.",
            count,
        )
        left_out = _("A comparison example equals this reply.") if count < len(self.comparisons) else ""
        return join_sentences(left_out, template % {"count": count, "k": self.k})

    def _summarize(self, inquiry: Inquiry, read: list[tuple[float, float]]) -> ReplyScore:
        """read: P of both labels, two prompts an example: first the reply is A, then it is B."""
        # P of the label that stands for the reply.
        orders = [(first[0], second[1]) for first, second in zip(read[::2], read[1::2], strict=True)]
        human = self.weights == HUMAN
        weights = [(one.human or 0.0) if human else 1.0 for one in inquiry.examples]
        value = fmean(weight * fmean(order) for weight, order in zip(weights, orders, strict=True))
        details = {
            "mass": fmean(map(sum, read)),
            "renormalised": _renormalised([p for order in orders for p in order], read),
            "position_bias": fmean(first - second for first, second in orders),
            "orders": [list(order) for order in orders],
        }
        return ReplyScore(inquiry.reply.id, value, details=details | inquiry.details())


class DirectEval(LabelEvaluator):
    """Asks of every reply alone whether it is good."""

    def _ask(self, inquiry: Inquiry) -> None:
        inquiry.conversations = [(inquiry.target,)]

    def _summarize(self, inquiry: Inquiry, read: list[tuple[float, float]]) -> ReplyScore:
        ((yes, no),) = read
        details = {"mass": yes + no, "renormalised": _renormalised([yes], read)}
        return ReplyScore(inquiry.reply.id, yes, details=details | inquiry.details())


def _renormalised(own: Sequence[float], read: Sequence[tuple[float, float]]) -> float | None:
    """The mean share of the reply's label in the mass of both; None if a prompt gives neither any probability."""
    masses = [sum(labels) for labels in read]
    return fmean(p / mass for p, mass in zip(own, masses, strict=True)) if all(masses) else None


def conversation_of(reply: ReplyToScore) -> Conversation:
    """A reply with its history and knowledge."""
    return Conversation(reply.history, reply.response, reply.knowledge)


def _key(one: Conversation) -> tuple[str, ...]:
    """Equal for conversations that differ in white space only."""
    return tuple(" ".join(text.split()) for text in (*one.history, one.response))


def shared_beginnings(encoder: PromptEncoder, comparisons: Sequence[ReplyToScore]) -> list[Tokens]:
    """What the prompts about any reply begin with: the question, and each example where it comes first."""
    firsts: list[Conversations] = [(conversation_of(one),) for one in comparisons] or [()]
    asked = [(*first, unlike) for first in firsts for unlike in UNLIKE]
    prompts = encoder.encode(asked)
    pairs = zip(prompts[::2], prompts[1::2], strict=True)
    return [one.tokens[: common_length(one.tokens, other.tokens)] for one, other in pairs]


def load_paireval(
    source: str | Path,
    *,
    comparisons: Path | None = None,
    k: int = 3,
    template: str | None = None,
    question: str | None = None,
    weights: str = EQUAL,
    device: str = "auto",
    token_budget: int | None = None,
    name: str = "",
) -> PairEval | DirectEval:
    """PairEval, or DirectEval with question="direct", of a model's folder or a hub id.

    comparisons: None reads those in the folder. k: examples to compare with. template, question: None takes those that
    the model was trained with, else "inst" and "pair". weights: EQUAL or HUMAN. device: auto, cpu or cuda.
    token_budget: tokens of a forward pass. name: of the evaluator, "paireval" or "directeval" if empty.

    Raises TrainingError if the model, its tokenizer or the examples do not allow it.
    """
    trained = trained_with(source)
    asked = QUESTIONS[question or trained.get("question", PAIR.name)]
    examples = [] if asked is DIRECT else _comparisons(source, comparisons)
    try:
        loaded = loading.load(str(source), device, "auto")
        version = loading.version_of(str(source), lambda: loaded)
    except BackendError as error:
        raise TrainingError(error.cause, error.remedy) from error
    encoder = PromptEncoder(
        loaded.tokenizer,
        asked,
        template or trained.get("template", INST),
        longest_sequence(loaded.model.config),
    )
    reader = PromptReader(
        loaded.model,
        pad=loaded.tokenizer.eos_token_id,
        beginnings=shared_beginnings(encoder, examples[:k]),
        token_budget=token_budget,
    )
    model = {"name": str(source), "version": version}
    if asked is DIRECT:
        return DirectEval(name or "directeval", encoder, reader, model)
    return PairEval(name or "paireval", encoder, reader, model, examples, k=k, weights=weights)


def trained_with(source: str | Path) -> dict[str, str]:
    """Question and template that a folder's training.json names; {} if it is of another training, or missing."""
    file = Path(source).expanduser() / "training.json"
    try:
        recipe = json.loads(file.read_text(encoding="utf-8"))["recipe"]
        return {name: recipe[name] for name in ("question", "template") if name in recipe}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _comparisons(source: str | Path, file: Path | None) -> list[ReplyToScore]:
    """The examples of the file, or of the model's folder. Raises TrainingError if neither is there."""
    beside = Path(source).expanduser() / COMPARISONS_FILE
    if file is None and not beside.is_file():
        raise TrainingError(
            _("The model %(model)s comes without comparison examples.") % {"model": source},
            _("Draw some: python -m preference.training.paireval draw --data … --output comparisons.jsonl"),
        )
    return read_comparisons(file or beside)
