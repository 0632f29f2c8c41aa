"""Working as an annotator: the dialogues that a person, or a program in their name, answers questions about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from lapidary.errors import Conflict
from lapidary.rows import Utterance
from lapidary.transport import Transport


class Assignment:
    """A dialogue that you hold, with its questions' version."""

    def __init__(self, transport: Transport, data: Mapping[str, Any]) -> None:
        self._transport = transport
        self.data = dict(data)

    def __repr__(self) -> str:
        return f"<Assignment {self.id} {self.data['state']}>"

    @property
    def id(self) -> int:
        return int(self.data["id"])

    @property
    def utterances(self) -> list[Utterance]:
        return [Utterance.read(each) for each in self.data["dialogue"]["utterances"]]

    def submit(
        self,
        dialogue: Mapping[str, Any] | None = None,
        utterances: Mapping[int, Mapping[str, Any]] | None = None,
        *,
        note: str = "",
    ) -> None:
        """Send answers: {question: value} about the dialogue, and by position about utterances.

        Raises BadRequest with each problem, Changed if the questions changed meanwhile (claim again).
        """
        by_position = {str(position): dict(values) for position, values in (utterances or {}).items()}
        body = {
            "id": str(uuid4()),
            "schema": self.data["schema"],
            "answers": {"dialogue": dict(dialogue or {}), "utterances": by_position},
            "note": note,
        }
        self._transport.post(f"labelling/{self.id}/submissions/", body, repeatable=True)

    def skip(self, reason: str) -> None:
        """Give it back with a reason; it is not offered to you again."""
        self._transport.post(f"labelling/{self.id}/skip/", {"reason": reason}, repeatable=True)


def claim(transport: Transport, project: str) -> Assignment | None:
    """The next dialogue, shown to you now; None if nothing is left for you at the moment."""
    try:
        address = f"projects/{project}/labelling/claim/"
        claimed = transport.post(address, {"claim_id": str(uuid4())}, repeatable=True)
    except Conflict as refused:
        if refused.code in NOTHING_NOW:
            return None
        raise
    return Assignment(transport, transport.get(f"labelling/{claimed['id']}/"))


NOTHING_NOW = frozenset({"all_done", "all_claimed", "other_languages", "balance", "limit_reached"})
