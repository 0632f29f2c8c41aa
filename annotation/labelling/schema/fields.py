"""Taking typed values out of untrusted content, noting what is wrong where."""

import re
from collections.abc import Mapping
from typing import Any, TypeVar

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
    """The fields of one object. What is never asked for is unknown, and `done` says so."""

    def __init__(self, raw: Any, path: Path, found: ProblemCollector, allowed: tuple[str, ...]) -> None:
        self.raw: Mapping[Any, Any] = raw if isinstance(raw, Mapping) else {}
        self.path, self.found = path, found
        if not isinstance(raw, Mapping):
            found.add(
                path,
                _("This should be fields with values."),
                _("Use the fields %(names)s.") % {"names": listed(allowed)},
            )
        for name in self.raw:
            if name not in allowed:
                found.add(
                    (*path, str(name)[:MAX_WORD]),
                    _("There is no field “%(name)s” here.") % {"name": str(name)[:MAX_WORD]},
                    _("Use the fields %(names)s.") % {"names": listed(allowed)},
                )

    def has(self, name: str) -> bool:
        return self.raw.get(name) is not None

    def wrong(self, name: str, message: str, remedy: str = "") -> None:
        self.found.add((*self.path, name), message, remedy)

    def absent(self, name: str, remedy: str) -> None:
        self.wrong(name, _("“%(name)s” is missing.") % {"name": name}, remedy)

    def flag(self, name: str, default: bool) -> bool:
        value = self.raw.get(name)
        if value is not None and not isinstance(value, bool):
            self.wrong(name, _("This is neither true nor false."), _("Write true or false."))
        return value if isinstance(value, bool) else default

    def number(self, name: str, default: int, low: int, high: int) -> int:
        value = self.raw.get(name)
        if value is None:
            return default
        if type(value) is not int or not low <= value <= high:
            said = _("Write a whole number from %(low)d to %(high)d.") % {"low": low, "high": high}
            self.wrong(name, _("This number cannot be used."), said)
            return default
        return value

    def word(self, name: str, pattern: re.Pattern[str], remedy: str) -> str:
        value = self.raw.get(name)
        if value is None:
            self.absent(name, remedy)
            return ""
        if not isinstance(value, str) or not pattern.fullmatch(value):
            self.wrong(name, _("“%(value)s” cannot be used here.") % {"value": brief(value)}, remedy)
            return ""
        return value

    def one_of(self, name: str, kinds: type[E]) -> E | None:
        """A member of an enumeration."""
        value, names = self.raw.get(name), [str(kind) for kind in kinds]  # type: ignore[attr-defined]
        remedy = _("Use one of: %(names)s.") % {"names": listed(names)}
        if value is None:
            self.absent(name, remedy)
        elif not isinstance(value, str) or value not in names:
            self.wrong(name, _("“%(value)s” cannot be used here.") % {"value": brief(value)}, remedy)
        else:
            return kinds(value)  # type: ignore[call-arg]
        return None

    def text(self, name: str, *, required: bool = True, most: int = MAX_TEXT) -> BilingualText | None:
        if not self.has(name):
            if required:
                self.absent(name, _("Write it in both languages: {en: …, zh: …}."))
            return None
        return text_of(self.raw[name], (*self.path, name), self.found, most)

    def items(self, name: str, most: int) -> list[Any]:
        """A list; absent is empty."""
        value = self.raw.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self.wrong(name, _("This should be a list."), _("Begin each of its items with “- ”."))
            return []
        if len(value) > most:
            said = {"n": len(value), "most": most}
            self.wrong(
                name, _("%(n)d items are too many.") % said, _("Leave at most %(most)d of them.") % said
            )
        return value[:most]

    def speakers(self, name: str = "speakers") -> tuple[str, ...]:
        rows = self.items(name, 20)
        good = [row for row in rows if isinstance(row, str) and is_word(row)]
        if len(good) < len(rows) or len(set(good)) < len(good):
            self.wrong(
                name,
                _("Not every speaker here is a name of its own."),
                _("List each name once, as the dialogues spell it; put numbers in quotation marks."),
            )
        return tuple(dict.fromkeys(good))


def text_of(raw: Any, path: Path, found: ProblemCollector, most: int = MAX_TEXT) -> BilingualText | None:
    """{en, zh}, both there and both with words in them."""
    fields = Fields(raw, path, found, ("en", "zh"))
    said = {language: fields.raw.get(language) for language in ("en", "zh")}
    for language, words in said.items():
        if words is None or words == "":
            if isinstance(raw, Mapping):
                fields.wrong(language, *_no_translation(language))
        elif not isinstance(words, str):
            fields.wrong(language, _("This is no text."), _("Put it in quotation marks."))
        elif not words.strip():
            fields.wrong(language, *_no_translation(language))
        elif len(words) > most or CONTROL.search(words):
            fields.wrong(
                language,
                _("This text is too long or contains unreadable characters."),
                _("Use at most %(n)d characters, none of them invisible.") % {"n": most},
            )
    en, zh = said["en"], said["zh"]
    return BilingualText(en, zh) if isinstance(en, str) and isinstance(zh, str) else None


def _no_translation(language: str) -> tuple[str, str]:
    if language == "zh":
        return _("The Chinese text is missing."), _("Write it beside “zh:”.")
    return _("The English text is missing."), _("Write it beside “en:”.")


def is_word(value: str) -> bool:
    return 0 < len(value) <= MAX_WORD and value == value.strip() and not CONTROL.search(value)


def is_value(value: Any) -> bool:
    """Whether it can be an answer: an integer or a word. True is no integer here."""
    if type(value) is int:
        return abs(value) <= MAX_VALUE
    return isinstance(value, str) and is_word(value) and "\n" not in value and "\t" not in value


def listed(names: Any) -> str:
    return pgettext("list", ", ").join(str(name) for name in names)


def brief(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
