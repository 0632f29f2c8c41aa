"""What the settings of an assessment project may hold, where a model field alone cannot say it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Final
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from assessment.setup.models import AssessmentSettings, Statement
from assessment.setup.preset import PARAMETER_NAMES
from common.refusals import Invalid

MAX_STATEMENTS: Final = 30
MAX_ICE_BREAKERS: Final = 1_000
MAX_SENTENCE: Final = 500  # characters
MAX_CODE: Final = 100
NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
PARAMETER: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,79}")
PAID_OUTCOMES: Final = ("completed", "system_failure")
UNPAID_OUTCOMES: Final = ("timed_out", "declined")
OUTCOMES: Final = (*PAID_OUTCOMES, *UNPAID_OUTCOMES)
RESERVED: Final = ("run", "key")  # parameters of our own links


def check_changes(changes: Mapping[str, Any]) -> None:
    """Raise Invalid, with the field, if a change cannot be used."""
    for name, check in CHECKS.items():
        if name in changes:
            check(changes[name])


def _check_statements(statements: Any) -> None:
    if not isinstance(statements, list) or not 1 <= len(statements) <= MAX_STATEMENTS:
        raise _invalid(
            _("A study has between 1 and %(most)d statements.") % {"most": MAX_STATEMENTS}, "statements"
        )
    for statement in statements:
        _check_statement(statement)
    names = [statement["name"] for statement in statements]
    if len(set(names)) < len(names):
        raise _invalid(_("Two statements have the same name."), "statements")
    if not any(statement.get("in_reliability_test", True) for statement in statements):
        raise _invalid(_("At least one statement counts in the reliability test."), "statements")


def _check_statement(statement: Any) -> None:
    known = {field.name for field in fields(Statement)}
    if not isinstance(statement, dict) or set(statement) - known:
        raise _invalid(_("A statement must have a name, two texts and two marks."), "statements")
    if not NAME.fullmatch(str(statement.get("name", ""))):
        raise _invalid(_("The name of a statement has small letters, digits and _ only."), "statements")
    if not all(_is_sentence(statement.get(text)) for text in ("text_en", "text_zh")):
        raise _invalid(_("A statement needs its English and its Chinese text."), "statements")
    marks = ("is_reversed", "in_reliability_test")
    if not all(isinstance(statement.get(mark, False), bool) for mark in marks):
        raise _invalid(_("Each mark of a statement must be true or false."), "statements")


def _check_ice_breakers(sentences: Any) -> None:
    if not isinstance(sentences, list) or len(sentences) > MAX_ICE_BREAKERS:
        raise _invalid(
            _("A study has at most %(most)d ice-breakers.") % {"most": MAX_ICE_BREAKERS}, "ice_breakers"
        )
    if not all(_is_sentence(sentence) for sentence in sentences):
        raise _invalid(
            _("An ice-breaker is a sentence of at most %(most)d characters.") % {"most": MAX_SENTENCE},
            "ice_breakers",
        )


def _check_parameter_names(names: Any) -> None:
    if not isinstance(names, dict) or set(names) - set(PARAMETER_NAMES):
        raise _invalid(_("Only participant, study and session have names."), "parameter_names")
    used = {**PARAMETER_NAMES, **names}
    if not all(isinstance(name, str) and PARAMETER.fullmatch(name) for name in used.values()):
        raise _invalid(_("The name of a parameter has letters, digits, - and _ only."), "parameter_names")
    if len({*used.values(), *RESERVED}) < len(used) + len(RESERVED):
        raise _invalid(
            _("Every parameter needs a different name; “run” and “key” are reserved."), "parameter_names"
        )


def _check_codes(codes: Any) -> None:
    if not isinstance(codes, dict) or set(codes) - set(OUTCOMES):
        message = _("Completion codes can be given for these outcomes only: %(names)s.")
        raise _invalid(message % {"names": ", ".join(OUTCOMES)}, "completion_codes")
    if not all(isinstance(code, str) and len(code) <= MAX_CODE for code in codes.values()):
        raise _invalid(_("A code has at most %(most)d characters.") % {"most": MAX_CODE}, "completion_codes")
    paid = {codes.get(outcome, "").strip().casefold() for outcome in PAID_OUTCOMES} - {""}
    unpaid = {codes.get(outcome, "").strip().casefold() for outcome in UNPAID_OUTCOMES}
    if paid & unpaid:
        raise Invalid(
            _("A paid and an unpaid outcome have the same code, so the panel cannot tell them apart."),
            _("Give timed-out participants and those who decline other codes."),
            field="completion_codes",
        )


def _check_return_url(url: Any) -> None:
    try:
        parts = urlsplit(str(url).replace("{code}", ""))
    except ValueError:
        parts = urlsplit("")
    if url and not (parts.scheme in ("http", "https") and parts.netloc):
        raise _invalid(_("The return address begins with https:// or http://."), "return_url")
    if url and "{code}" not in str(url):
        raise Invalid(
            _("The return address does not contain {code}, so the panel would not learn how somebody ended."),
            _("Put {code} where the completion code belongs, or leave the address empty."),
            field="return_url",
        )


def questionable_codes(settings: AssessmentSettings) -> list[str]:
    """What may be on purpose about the completion codes, but often is not; in sentences for the manager."""
    codes = {name: str(settings.completion_codes.get(name, "")).strip().casefold() for name in OUTCOMES}
    sentences = []
    if not codes["completed"]:
        sentences.append(
            _("Participants who complete the study get no code: a panel cannot tell that they have finished.")
        )
    elif not all(codes.values()):
        sentences.append(
            _("An outcome has no code: participants who end with it are not sent back to the panel.")
        )
    if codes["completed"] and codes["completed"] == codes["system_failure"]:
        sentences.append(
            _("“Completed” and “Ended by a failure of the systems” have the same code; both are paid.")
        )
    if codes["timed_out"] and codes["timed_out"] == codes["declined"]:
        sentences.append(_("“Timed out” and “Consent declined” have the same code; neither is paid."))
    return sentences


def _is_sentence(text: Any) -> bool:
    return isinstance(text, str) and bool(text.strip()) and len(text) <= MAX_SENTENCE


def _invalid(message: str, field: str) -> Invalid:
    return Invalid(message, field=field)


CHECKS: Final[Mapping[str, Callable[[Any], None]]] = {
    "statements": _check_statements,
    "ice_breakers": _check_ice_breakers,
    "parameter_names": _check_parameter_names,
    "completion_codes": _check_codes,
    "return_url": _check_return_url,
}
