"""What is worth a second look before a dialogue is handed in. The author may hand it in all the same."""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dialogues.models import Action, Dialogue
from generation.backends.replies import reply_key
from generation.scripts import is_mixed, main_script

SHORT = 12  # characters; "Yes, please." may be said twice


@dataclass(frozen=True, slots=True)
class FinishWarning:
    """code: stable, for programs. positions: the utterances that it is about."""

    code: str
    message: str
    positions: tuple[int, ...] = ()


Row = tuple[int, str, str]  # position, text, action


def finish_warnings(dialogue: Dialogue) -> list[FinishWarning]:
    """Verbatim repeats, letters of a foreign script, and dialogues in which every reply is a candidate as it was."""
    return warnings_about(
        list(dialogue.utterances.order_by("position").values_list("position", "text", "action"))
    )


def warnings_about(rows: list[Row]) -> list[FinishWarning]:
    return [*_repeats(rows), *_mixed_scripts(rows), *_nothing_of_ones_own(rows)]


def _repeats(rows: list[Row]) -> list[FinishWarning]:
    first: dict[str, int] = {}
    warnings = []
    for position, text, _action in rows:
        earlier = first.setdefault(reply_key(text), position)
        if earlier != position and len(text) > SHORT:
            message = _("Utterance %(n)d says the same as utterance %(earlier)d, word for word.")
            numbers = {"n": position + 1, "earlier": earlier + 1}
            warnings.append(FinishWarning("repeated", message % numbers, (earlier, position)))
    return warnings


def _mixed_scripts(rows: list[Row]) -> list[FinishWarning]:
    main = main_script(text for _position, text, _action in rows)
    mixed = tuple(position for position, text, _action in rows if is_mixed(text, main))
    if not mixed:
        return []
    message = ngettext(
        "Utterance %(numbers)s contains letters of another script.",
        "Utterances %(numbers)s contain letters of another script.",
        len(mixed),
    )
    numbers = ", ".join(str(position + 1) for position in mixed)
    return [FinishWarning("mixed_scripts", message % {"numbers": numbers}, mixed)]


def _nothing_of_ones_own(rows: list[Row]) -> list[FinishWarning]:
    replies = [action for position, _text, action in rows if position > 0]
    if not replies or any(action != Action.SELECT for action in replies):
        return []
    message = _("Every reply is a candidate as it was offered; none of them was revised or rewritten.")
    return [FinishWarning("nothing_of_ones_own", message)]
