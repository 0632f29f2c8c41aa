"""Derive how a sent text came about, and check the text."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from rapidfuzz.distance import Levenshtein

from common.refusals import Invalid
from dialogues.models import Action, CandidateSet

ALLOWED_CONTROLS = "\n\t"


@dataclass(frozen=True, slots=True)
class DerivedProvenance:
    """The provenance of a text that is not stored yet. The fields are those of `dialogues.models.Provenance`."""

    action: Action
    candidate_set: CandidateSet | None = None
    source: int | None = None
    edit_distance: int | None = None


def normalise(text: str) -> str:
    """Unix line ends, no outer white space: the form in which an utterance is stored."""
    return text.replace("\r\n", "\n").strip()


def is_visible(character: str) -> bool:
    """Neither white space nor a format character, such as a zero-width space or a direction mark."""
    return not character.isspace() and unicodedata.category(character) != "Cf"


def clean_text(text: str, limit: int) -> str:
    """Return the normalised text. limit: in characters.

    Raises Invalid if nothing in the text is visible, if it is too long, or if it contains control characters.
    """
    text = normalise(text)
    if not any(is_visible(character) for character in text):
        raise Invalid(
            _("The utterance is empty."), _("Write something, or pick a candidate."), reason="empty"
        )
    if len(text) > limit:
        raise Invalid(
            _("The utterance has %(n)s characters; this project allows %(limit)s.")
            % {"n": intcomma(len(text)), "limit": intcomma(limit)},
            _("Shorten it; your text is still in the input."),
            reason="too_long",
            limit=limit,
        )
    _check_control_characters(text)
    return text


def _check_control_characters(text: str) -> None:
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cs") and character not in ALLOWED_CONTROLS:
            raise Invalid(
                _("The utterance contains the control character U+%(code)04X.") % {"code": ord(character)},
                _("Remove it: it often comes along when text is pasted."),
                reason="control_character",
            )


def derive_provenance(
    text: str, shown: Sequence[CandidateSet], picked: CandidateSet | None, source: int | None
) -> DerivedProvenance:
    """Derive the action from the text alone, as the format `diamante` defines it.

    shown: every set displayed for this turn. picked, source: the candidate that the annotator started from, if any.
    A text equal to a displayed candidate is `select`; started from a candidate and changed is `revise`; anything else
    is `rewrite`.
    """
    for candidate_set in sorted(shown, key=lambda each: each != picked):
        for place, candidate in enumerate(candidate_set.candidates):
            if candidate["text"].strip() == text:
                return DerivedProvenance(Action.SELECT, candidate_set, place, 0)
    if picked is not None and source is not None:
        distance = Levenshtein.distance(picked.candidates[source]["text"].strip(), text)
        return DerivedProvenance(Action.REVISE, picked, source, distance)
    return DerivedProvenance(Action.REWRITE, shown[-1] if shown else None)
