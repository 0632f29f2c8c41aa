"""Turns of the assistant before the first of the user, in the formats of TRL.

In a dialogue of two people, the one who spoke first is the assistant of every second reply. Many chat templates refuse
such a conversation. The rows keep it by default; they can also do without.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from preference.data.models.exports import LeadingTurns

Message = dict[str, str]
NO_USER = "no_user_turn"  # why a turn gives no row


def fit_leading_turns(
    rows: Iterable[dict[str, Any]], mode: str, skip: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """The rows with the leading turns kept, merged into the first turn of the user, or dropped.

    skip: called once for every turn whose rows would have no turn of the user left.
    """
    if mode == LeadingTurns.KEEP:
        yield from rows
        return
    skipped = None
    for row in rows:
        fitted = _fit_row(row, mode)
        turn = row["dialogue_id"], row["turn"]
        if fitted is not None:
            yield fitted
        elif turn != skipped:
            skip(NO_USER)
            skipped = turn


def _fit_row(row: Mapping[str, Any], mode: str) -> dict[str, Any] | None:
    if "prompt" in row:
        prompt = _fit(row["prompt"], mode)
        return {**row, "prompt": prompt} if prompt else None
    context = _fit(row["chosen"][:-1], mode)  # the format reward has the context inside both
    if not context:
        return None
    return {**row, **{name: [*context, row[name][-1]] for name in ("chosen", "rejected")}}


def _fit(messages: Sequence[Message], mode: str) -> list[Message]:
    """The context of a reply as the mode wants it; empty if it has no turn of the user."""
    roles = [message["role"] for message in messages]
    first = roles.index("user") if "user" in roles else len(roles)
    leading = [message["content"] for message in messages[:first] if message["role"] == "assistant"]
    if not leading:
        return list(messages)
    system = [message for message in messages[:first] if message["role"] == "system"]
    if mode == LeadingTurns.DROP:
        return [*system, *messages[first:]] if first < len(roles) else []
    said = [*leading, *(message["content"] for message in messages[first : first + 1])]
    return [*system, {"role": "user", "content": "\n".join(said)}, *messages[first + 1 :]]
