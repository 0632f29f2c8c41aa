"""From the sent text to what is stored: checks, and the derived action."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from rapidfuzz.distance import Levenshtein

from common.refusals import Invalid
from dialogues.models import Action, CandidateSet

ALLOWED_CONTROLS = "\n\t"


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a text came about: the action, the set and place of its source, characters changed from the source."""

    action: Action
    candidate_set: CandidateSet | None = None
    source: int | None = None
    edit_distance: int | None = None


def normalised(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def is_visible(character: str) -> bool:
    """Neither white space nor a format character, such as a zero-width space or a mark of direction."""
    return not character.isspace() and unicodedata.category(character) != "Cf"


def checked_text(text: str, limit: int) -> str:
    """The text without outer white space. Raises Invalid when nothing of it is visible, when it is too long or has
    control characters."""
    text = normalised(text)
    if not any(is_visible(character) for character in text):
        raise Invalid(
            _("The utterance is empty."), _("Write something, or pick a candidate."), reason="empty"
        )
    if len(text) > limit:
        raise Invalid(
            _("The utterance has %(n)d characters; this project allows %(limit)d.")
            % {"n": len(text), "limit": limit},
            _("Shorten it; your text is still in the input."),
            reason="too_long",
            limit=limit,
        )
    bad = next(
        (c for c in text if unicodedata.category(c) in ("Cc", "Cs") and c not in ALLOWED_CONTROLS), None
    )
    if bad is not None:
        raise Invalid(
            _("The utterance contains the control character U+%(code)04X.") % {"code": ord(bad)},
            _("Remove it: it often comes along when text is pasted."),
            reason="control_character",
        )
    return text


def derive(
    text: str, shown: Sequence[CandidateSet], picked: CandidateSet | None, source: int | None
) -> Provenance:
    """The action, from the text alone (protocols.md, `diamante`).

    shown: every set displayed for this turn. picked, source: the candidate that the person started from, if any.
    Equal to a displayed candidate → select; started from one and changed → revise; otherwise rewrite.
    """
    for candidates in sorted(shown, key=lambda one: one != picked):
        for place, candidate in enumerate(candidates.candidates):
            if candidate["text"].strip() == text:
                return Provenance(Action.SELECT, candidates, place, 0)
    if picked is not None and source is not None:
        distance = Levenshtein.distance(picked.candidates[source]["text"].strip(), text)
        return Provenance(Action.REVISE, picked, source, distance)
    return Provenance(Action.REWRITE, shown[-1] if shown else None)
