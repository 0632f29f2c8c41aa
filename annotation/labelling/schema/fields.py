"""Reads typed values from untrusted content and notes what is wrong where."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from annotation.labelling.schema.errors import Path, ProblemCollector
from annotation.labelling.schema.questions import BilingualText

MAX_VALUE = 1_000_000
MAX_WORD = 100  # characters of a value or a speaker
MAX_TEXT = 10_000
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")

E = TypeVar("E")


class Fields:
    """The fields of one object. Fields that are not in `allowed` are problems."""

    def __init__(self, raw: Any, path: Path, problems: ProblemCollector, allowed: tuple[str, ...]) -> None:
        self.raw: Mapping[Any, Any] = raw if isinstance(raw, Mapping) else {}
        self.path, self.problems = path, problems
        if not isinstance(raw, Mapping):
            problems.add(
                path,
                _("This should be a set of fields with values."),
                _("Use the fields %(names)s.") % {"names": join_names(allowed)},
            )
        for name in self.raw:
            if name not in allowed:
                problems.add(
                    (*path, str(name)[:MAX_WORD]),
                    _("There is no field “%(name)s” here.") % {"name": str(name)[:MAX_WORD]},
                    _("Use the fields %(names)s.") % {"names": join_names(allowed)},
                )

    def has(self, name: str) -> bool:
        return self.raw.get(name) is not None

    def add_problem(self, name: str, message: str, remedy: str = "") -> None:
        self.problems.add((*self.path, name), message, remedy)

    def add_missing(self, name: str, remedy: str) -> None:
        self.add_problem(name, _("“%(name)s” is missing.") % {"name": name}, remedy)

    def flag(self, name: str, default: bool) -> bool:
        value = self.raw.get(name)
        if value is not None and not isinstance(value, bool):
            self.add_problem(name, _("This is neither true nor false."), _("Write true or false."))
        return value if isinstance(value, bool) else default

    def number(self, name: str, default: int, low: int, high: int) -> int:
        value = self.raw.get(name)
        if value is None:
            return default
        if type(value) is not int or not low <= value <= high:
            remedy = _("Write a whole number from %(low)d to %(high)d.") % {"low": low, "high": high}
            self.add_problem(name, _("This number cannot be used."), remedy)
            return default
        return value

    def word(self, name: str, pattern: re.Pattern[str], remedy: str) -> str:
        value = self.raw.get(name)
        if value is None:
            self.add_missing(name, remedy)
            return ""
        if not isinstance(value, str) or not pattern.fullmatch(value):
            self.add_problem(name, _("“%(value)s” cannot be used here.") % {"value": truncate(value)}, remedy)
            return ""
        return value

    def enum_member(self, name: str, kinds: type[E]) -> E | None:
        """A member of an enumeration."""
        value, names = self.raw.get(name), [str(kind) for kind in kinds]  # type: ignore[attr-defined]
        remedy = _("Use one of: %(names)s.") % {"names": join_names(names)}
        if value is None:
            self.add_missing(name, remedy)
        elif not isinstance(value, str) or value not in names:
            self.add_problem(name, _("“%(value)s” cannot be used here.") % {"value": truncate(value)}, remedy)
        else:
            return kinds(value)  # type: ignore[call-arg]
        return None

    def text(self, name: str, *, required: bool = True, most: int = MAX_TEXT) -> BilingualText | None:
        if not self.has(name):
            if required:
                self.add_missing(name, _("Write it in both languages: {en: …, zh: …}."))
            return None
        return read_text(self.raw[name], (*self.path, name), self.problems, most)

    def items(self, name: str, most: int) -> list[Any]:
        """A list; empty if the field is missing."""
        value = self.raw.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self.add_problem(name, _("This should be a list."), _("Begin each of its items with “- ”."))
            return []
        if len(value) > most:
            counts = {"n": intcomma(len(value)), "most": intcomma(most)}
            self.add_problem(
                name, _("%(n)s items are too many.") % counts, _("Use at most %(most)s of them.") % counts
            )
        return value[:most]

    def speakers(self, name: str = "speakers") -> tuple[str, ...]:
        rows = self.items(name, 20)
        good = [row for row in rows if isinstance(row, str) and is_word(row)]
        if len(good) < len(rows) or len(set(good)) < len(good):
            self.add_problem(
                name,
                _("Every speaker here must be a different name."),
                _("List each name once, spelled as in the dialogues; put numbers in quotation marks."),
            )
        return tuple(dict.fromkeys(good))


def read_text(raw: Any, path: Path, problems: ProblemCollector, most: int = MAX_TEXT) -> BilingualText | None:
    """Read {en, zh}. Both are required and neither may be blank."""
    fields = Fields(raw, path, problems, ("en", "zh"))
    texts = {language: fields.raw.get(language) for language in ("en", "zh")}
    for language, words in texts.items():
        if words is None or words == "":
            if isinstance(raw, Mapping):
                fields.add_problem(language, *_no_translation(language))
        elif not isinstance(words, str):
            fields.add_problem(language, _("This is not text."), _("Put it in quotation marks."))
        elif not words.strip():
            fields.add_problem(language, *_no_translation(language))
        elif len(words) > most or CONTROL.search(words):
            fields.add_problem(
                language,
                _("This text is too long or contains unreadable characters."),
                _("Use at most %(n)d characters, none of them invisible.") % {"n": most},
            )
    en, zh = texts["en"], texts["zh"]
    return BilingualText(en, zh) if isinstance(en, str) and isinstance(zh, str) else None


def _no_translation(language: str) -> tuple[str, str]:
    if language == "zh":
        return _("The Chinese text is missing."), _("Write it after “zh:”.")
    return _("The English text is missing."), _("Write it after “en:”.")


def is_word(value: str) -> bool:
    return 0 < len(value) <= MAX_WORD and value == value.strip() and not CONTROL.search(value)


def is_value(value: Any) -> bool:
    """Whether it can be an answer: an integer or a word. True is not an integer here."""
    if type(value) is int:
        return abs(value) <= MAX_VALUE
    return isinstance(value, str) and is_word(value) and "\n" not in value and "\t" not in value


def join_names(names: Any) -> str:
    return pgettext("list", ", ").join(str(name) for name in names)


def truncate(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
