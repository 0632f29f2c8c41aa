"""Seven candidates to each of 80 openings that two readers judge, chosen as the product chooses what annotators get."""

import csv
from dataclasses import dataclass
from pathlib import Path

from generation.backends.choosing import choose_replies
from generation.demo_model.corpus import HELDOUT
from generation.protocol import Backend, BackendError, Message, ReplyRequest
from generation.scripts import allowed_scripts

JUDGED = HELDOUT.parent / "judged_twice"
OPENINGS, REPLIES = JUDGED / "openings.tsv", JUDGED / "replies.tsv"
SPARE = 11  # as generation.conversation asks for, which imports Django; a test compares both
COLUMNS = ("number", "language", "topics", "mood", "opening", "candidate", "reply")
Row = dict[str, str]


@dataclass(frozen=True, slots=True)
class Opening:
    """number: from 1, also the seed of its candidates. topics: "inside" or "outside" those of the corpus.

    mood: "good", "bad", "neutral", "question", or "grave" for a death or a serious illness.
    """

    number: int
    language: str
    topics: str
    mood: str
    text: str


def judged_openings() -> list[Opening]:
    """The openings, written and committed before the model had answered any of them."""
    return [
        Opening(int(row["number"]), row["language"], row["topics"], row["mood"], row["opening"])
        for row in read_rows(OPENINGS)
    ]


def read_rows(path: Path) -> list[Row]:
    """The rows of a table by their columns. Tabs between cells; quotes are ordinary characters."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def request_for(opening: Opening) -> ReplyRequest:
    """What the worker sends to the backend when an annotator is to answer the opening, with the default settings."""
    return ReplyRequest(
        conversation=f"judged {opening.number}",
        context=(Message("A", opening.text),),
        speaker="B",
        seed=opening.number,
        scripts=allowed_scripts(opening.language, [opening.text]),
        spare=SPARE,
    )


def candidates(backend: Backend, opening: Opening) -> list[str]:
    """The candidates that an annotator would get, in the order in which they were drawn. Raises BackendError."""
    request = request_for(opening)
    (answer,) = backend.generate([request])
    if isinstance(answer, BackendError):
        raise answer
    return [reply.text for reply in choose_replies(request, answer).replies]


def write_candidates(backend: Backend, path: Path = REPLIES) -> int:
    """Write the candidates to all openings for people to judge; returns how many. Equal models write equal files."""
    rows = [
        (one.number, one.language, one.topics, one.mood, one.text, place, " ".join(text.split()))
        for one in judged_openings()
        for place, text in enumerate(candidates(backend, one), start=1)
    ]
    lines = ["\t".join(map(str, row)) for row in [COLUMNS, *rows]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(rows)
