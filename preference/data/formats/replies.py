"""The replies of a dialogue that can be trained on, read from a row of the format `diamante`.

Formats for training use nothing but that row, so that a snapshot gives the same rows as its project did.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from preference.data.selectors.random_replies import (
    SYSTEM,
    DrawSettings,
    PoolGroup,
    ReplyPool,
    normalize_spaces,
)
from preference.data.selectors.selection import FROM_CANDIDATES, UtteranceText

SAMPLED = ("seed", "tokens", "logprob", "score", "warmth")  # of a candidate; see generation.protocol.Reply
BEFORE_EDIT, UNSELECTED, RANDOM = "before-edit", "unselected", "random"

NOT_SAMPLED: Mapping[str, Any] = MappingProxyType({})


class Candidate(NamedTuple):
    """A reply that was not sent. origin: its relation to the reply that was.

    position: where it was displayed, from 0; None if it was not. sampling: how it was drawn, by the keys of SAMPLED;
    empty if unknown.
    """

    text: str
    model_version: str
    origin: str
    position: int | None = None
    sampling: Mapping[str, Any] = NOT_SAMPLED

    def provenance(self, prefix: str) -> dict[str, Any]:
        """As columns of a row; None where unknown."""
        sampled = {f"{prefix}_{key}": self.sampling.get(key) for key in SAMPLED}
        return {f"{prefix}_position": self.position, **sampled}


class Reply(NamedTuple):
    """An utterance with the candidates that it was preferred to: none empty, none equal to it, none twice.

    language: as the dialogue names it, "" if it names none.
    """

    dialogue_id: str
    split: str
    language: str
    position: int
    context: Sequence[UtteranceText]
    said: UtteranceText
    action: str
    model_version: str
    rejected: Sequence[Candidate]

    @property
    def human(self) -> str:
        return self.said.text

    def identity(self) -> dict[str, Any]:
        """Which reply it is, as columns of a row."""
        return {"dialogue_id": self.dialogue_id, "turn": self.position, "language": self.language}


@dataclass(slots=True)
class DrawContext:
    """Random draws while a file is written, and the turns that gave no row or no random pair, counted by reason."""

    draws: DrawSettings = field(default_factory=DrawSettings)
    replies: ReplyPool = field(default_factory=ReplyPool)
    skipped: dict[str, int] = field(default_factory=dict)

    def skip(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def random_reply(self, reply: Reply, *, not_: Sequence[str] = ()) -> str | None:
        """A reply of another dialogue of the split and language, neither the sent one nor any of `not_`, or None."""
        generator = self.draws.generator(f"random/{reply.dialogue_id}", reply.position)
        known = {normalize_spaces(text) for text in (reply.human, *not_)}
        group = PoolGroup(reply.split, self.replies.language_of(reply.language, reply.human))
        return self.replies.other(group, reply.dialogue_id, known, generator)


def replies_of(row: Mapping[str, Any], draw_context: DrawContext) -> Iterator[Reply]:
    """The replies with a usable candidate; the opening is not a reply."""
    said = utterances_in(row)
    for position, one in enumerate(row["conversation"]):
        if not position or said[position].speaker.lower() == SYSTEM:
            continue
        rejected = _rejected(one)
        if not rejected:
            draw_context.skip("no_candidates")
            continue
        yield Reply(
            row["dialogue_id"],
            row["split"],
            row.get("language") or "",
            position,
            said[:position],
            said[position],
            one.get("action", ""),
            one.get("model_version", ""),
            rejected,
        )


def utterances_in(row: Mapping[str, Any]) -> list[UtteranceText]:
    """The utterances of a row: speaker, text, and the version of the model whose candidate was selected or revised."""
    return [
        UtteranceText(0, position, one["speaker"], one["utterance"], model_version=_version_of_source(one))
        for position, one in enumerate(row["conversation"])
    ]


def _version_of_source(one: Mapping[str, Any]) -> str:
    # Without candidates these keys may be metadata that means something else.
    chosen = one["response_candidates"] and one.get("action") in FROM_CANDIDATES
    return one.get("model_version", "") if chosen else ""


def _rejected(one: Mapping[str, Any]) -> list[Candidate]:
    """Select: the others. Revise: the source, before it was edited, and the others. Rewrite: all of them."""
    candidates: Sequence[str] = one["response_candidates"]
    versions = _list_of(str, one, "candidate_versions", len(candidates))
    sampling = _list_of(dict, one, "candidate_sampling", len(candidates))
    source = one.get("source") if one.get("action") == "revise" else None
    known, rejected = {normalize_spaces(one["utterance"])}, []
    # The source first: of two candidates with the same text, it counts as the one before the edit.
    places = sorted(range(len(candidates)), key=lambda place: place != source)
    for place in places:
        text = candidates[place]
        if (words := normalize_spaces(text)) and words not in known:
            known.add(words)
            origin = BEFORE_EDIT if place == source else UNSELECTED
            version = versions[place] if versions else one.get("model_version", "")
            rejected.append(
                Candidate(text, version, origin, place, sampling[place] if sampling else NOT_SAMPLED)
            )
    return rejected


def _list_of(kind: type, one: Mapping[str, Any], key: str, length: int) -> list[Any]:
    """A value for every candidate, or []. In an imported dialogue the key may be metadata that means something else."""
    values = one.get(key)
    if isinstance(values, list) and len(values) == length and all(isinstance(each, kind) for each in values):
        return values
    return []
