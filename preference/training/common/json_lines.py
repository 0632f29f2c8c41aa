"""Reading training data: JSON Lines, every error with the line that it is in.

A wrong line ends the run instead of being skipped: a model trained on part of the data by accident looks like any other
model. Files are read line by line, so that only the dialogues are in memory, not the text of the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _

Row = dict[str, Any]


def read_rows(file: Path) -> Iterator[tuple[str, Any]]:
    """Every JSON value with its place in words, for messages. Raises TrainingError for an unreadable or broken file.

    Blank lines are skipped; a byte order mark is allowed.
    """
    try:
        with file.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    place = _("line %(number)s of %(file)s") % {"number": number, "file": file}
                    yield place, _parse(line, place)
    except OSError as error:
        raise TrainingError(
            _("%(file)s cannot be read: %(reason)s.") % {"file": file, "reason": error.strerror},
            _("Name a snapshot folder (it holds dialogues.jsonl) or a JSONL file."),
        ) from error
    except UnicodeDecodeError as error:
        raise TrainingError(
            _("%(file)s is not UTF-8 text: %(reason)s.") % {"file": file, "reason": error.reason},
            _("Save it as UTF-8."),
        ) from error


def _parse(line: str, place: str) -> Any:
    """One JSON value. RecursionError is what deeply nested brackets raise; they are as broken as a missing quote."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        cause = _("In %(place)s: not valid JSON (%(reason)s).") % {"place": place, "reason": error}
        raise TrainingError(cause, _("Correct or remove the line.")) from error


def text_field(row: Row, key: str, place: str, *, required: bool = False) -> str:
    """The stripped text under `key`; "" if it is missing or null. Raises TrainingError for anything else."""
    value = row.get(key)
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        raise wrong_field(_("In %(place)s: `%(key)s` must be text."), place, key)
    return value.strip()


def text_list_field(row: Row, key: str, place: str) -> list[str]:
    """The stripped texts under `key`; [] if it is missing or null. Raises TrainingError for anything else."""
    value = row.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise wrong_field(_("In %(place)s: `%(key)s` must be a list of texts."), place, key)
    return [text.strip() for text in value]


def name_field(row: Row, key: str) -> str:
    """An id as text, "" if it is missing; files of other projects have numbers as ids.

    Ids are only compared with each other, so that 7 and "7" may be the same one.
    """
    value = row.get(key)
    return str(value) if isinstance(value, str | int) else ""


def wrong_field(template: str, place: str, key: str) -> TrainingError:
    """template: a translated sentence with places for `place` and `key`."""
    return TrainingError(template % {"place": place, "key": key}, _("Correct or remove the line."))
