"""Evaluators as text on a command line: NAME, NAME=VALUE, and settings after commas.

length
bleu=2,name=bleu-2
likelihood=models/base
judge=http://127.0.0.1:8000/v1,model=qwen,questions=schema.json
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _


@dataclass(frozen=True, slots=True)
class Specification:
    """evaluator: its name in the table. value: what follows the first "=", may be empty. settings: by name."""

    text: str
    evaluator: str
    value: str
    settings: Mapping[str, str]

    @property
    def name(self) -> str:
        """The name of the column: the setting `name`, or the evaluator's own."""
        return self.settings.get("name", self.evaluator)

    def required(self, what: str) -> str:
        """The value. Raises TrainingError with `what` it is if it is missing."""
        if not self.value:
            raise TrainingError(
                _("The evaluator %(name)s needs a value: %(what)s.") % {"name": self.evaluator, "what": what},
                _("Write %(name)s=VALUE.") % {"name": self.evaluator},
            )
        return self.value

    def text_setting(self, key: str, default: str = "") -> str:
        return self.settings.get(key, default)

    def number(self, key: str, default: int, *, low: int = 1) -> int:
        """A setting that is a whole number. Raises TrainingError."""
        return parse_number(self.text, key, self.settings.get(key, str(default)), low)

    def value_number(self, default: int, *, low: int = 1) -> int:
        """The value as a whole number. Raises TrainingError."""
        return parse_number(self.text, self.evaluator, self.value or str(default), low)

    def choice(self, key: str, options: tuple[str, ...]) -> str:
        """A setting that is one of the options; the first by default. Raises TrainingError."""
        return _check_choice(self.text, key, self.settings.get(key, options[0]), options)

    def optional_choice(self, key: str, options: tuple[str, ...]) -> str | None:
        """A setting that is one of the options; None if it is missing. Raises TrainingError."""
        return self.choice(key, options) if key in self.settings else None

    def value_choice(self, options: tuple[str, ...]) -> str:
        """The value as one of the options; the first by default. Raises TrainingError."""
        return _check_choice(self.text, self.evaluator, self.value or options[0], options)

    def check_settings(self, known: tuple[str, ...]) -> None:
        """Raise TrainingError for a setting that the evaluator does not have."""
        unknown = [key for key in self.settings if key not in (*known, "name")]
        if unknown:
            raise TrainingError(
                _("%(specification)s: the evaluator has no setting %(key)s.")
                % {"specification": self.text, "key": unknown[0]},
                _("Its settings are: %(names)s.") % {"names": ", ".join([*known, "name"])},
            )


def parse_specification(text: str) -> Specification:
    """Raises TrainingError for settings without a value or given twice."""
    first, *others = text.split(",")
    evaluator, _equals, value = first.partition("=")
    settings: dict[str, str] = {}
    for part in others:
        key, equals, setting = part.partition("=")
        if not equals or not key.strip() or key.strip() in settings:
            raise TrainingError(
                _("%(specification)s is not the description of an evaluator: “%(part)s” is not a setting.")
                % {"specification": text, "part": part},
                _("Write NAME=VALUE,setting=value."),
            )
        settings[key.strip()] = setting.strip()
    return Specification(text, evaluator.strip(), value.strip(), settings)


def parse_number(source: str, key: str, text: str, low: int) -> int:
    """A whole number of at least `low`. Raises TrainingError."""
    if not text.isascii() or not text.isdecimal() or int(text) < low:
        raise TrainingError(
            _("%(specification)s: %(key)s must be a whole number of at least %(low)s.")
            % {"specification": source, "key": key, "low": low},
            _("Correct it."),
        )
    return int(text)


def _check_choice(source: str, key: str, value: str, options: tuple[str, ...]) -> str:
    if value not in options:
        raise TrainingError(
            _("%(specification)s: %(key)s must be one of %(options)s.")
            % {"specification": source, "key": key, "options": ", ".join(options)},
            _("Correct it."),
        )
    return value
