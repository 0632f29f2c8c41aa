"""Published sets of judged replies, read as they were published. `--format` of the command names one.

usr   tc_usr_data.json, pc_usr_data.json (Mehri & Eskénazi, 2020a): replies of several systems, scores of three people
fed   fed_data.json (Mehri & Eskénazi, 2020b): replies of Meena, Mitsuku and people, scores of five people

A row gets the scores of single people for the question `Overall` as `humans`, and the means of all questions as
`aspects`, so that `--human aspects.natural` compares with another one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from preference.training.common.errors import TrainingError
from preference.training.common.json_lines import Row
from preference.training.common.messages import gettext as _

# What USR has as the fact of a history without one, and as the system that is a person.
NO_FACT, PERSON = "_nofact", "Original Ground Truth"
OVERALL = "Overall"


def read_published(file: Path, name: str) -> Iterator[tuple[str, Row]]:
    """Rows as those of a JSONL file, each with its place in words. name: of FORMATS. Raises TrainingError."""
    try:
        items = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise TrainingError(
            _("%(file)s cannot be read: %(reason)s.") % {"file": file, "reason": error.strerror},
            _("Name the file as it was published."),
        ) from error
    except (ValueError, RecursionError) as error:
        raise _other_format(file, name) from error
    try:
        for number, item in enumerate(items):
            place = _("entry %(number)s of %(file)s") % {"number": number + 1, "file": file}
            for row in FORMATS[name](number, item):
                yield place, row
    except (AttributeError, KeyError, IndexError, TypeError) as error:
        raise _other_format(file, name) from error


def _other_format(file: Path, name: str) -> TrainingError:
    return TrainingError(
        _("%(file)s is not a file of the format %(format)s.") % {"file": file, "format": name},
        _("Name the file as it was published."),
    )


def _usr_rows(number: int, item: Mapping[str, Any]) -> Iterator[Row]:
    """A row for each system's reply to one history."""
    history = item["context"].strip().split("\n")
    fact = item.get("fact", "").strip()
    truth = next((each["response"].strip() for each in item["responses"] if each["model"] == PERSON), None)
    for place, reply in enumerate(item["responses"]):
        questions = {name: scores for name, scores in reply.items() if isinstance(scores, list)}
        yield {
            "id": f"{number}-{place}",
            "history": history,
            "response": reply["response"].strip(),
            "system": reply["model"],
            "knowledge": "" if fact == NO_FACT else fact,
            "reference": None if reply["model"] == PERSON else truth,
            **_human_scores(questions),
        }


def _fed_rows(number: int, item: Mapping[str, Any]) -> Iterator[Row]:
    """One row; none for an entry about a whole dialogue."""
    if "response" in item:
        yield {
            "id": str(number),
            "history": [_without_speaker(line) for line in item["context"].split("\n")],
            "response": _without_speaker(item["response"]),
            "system": item.get("system", ""),
            **_human_scores(item["annotations"]),
        }


def _without_speaker(line: str) -> str:
    """What follows "User: " or "System: "."""
    return line.split(": ", 1)[1].strip()


def _human_scores(questions: Mapping[str, list[Any]]) -> Row:
    """humans: of OVERALL. aspects: means by question. Answers other than numbers, such as "N/A", are left out."""
    known = {
        name: [score for score in scores if isinstance(score, int | float)]
        for name, scores in questions.items()
    }
    return {
        "humans": known[OVERALL],
        "aspects": {name.lower(): fmean(scores) for name, scores in known.items() if scores},
    }


FORMATS: Final[Mapping[str, Callable[[int, Mapping[str, Any]], Iterator[Row]]]] = {
    "usr": _usr_rows,
    "fed": _fed_rows,
}
