"""Parse requests, with limits that Django applies to forms only."""

import json
import math
import re
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework import exceptions, parsers

from common.refusals import Invalid, Refusal

RAW = "application/octet-stream"
# JSON can escape what PostgreSQL and UTF-8 cannot hold: NUL, and halves of a surrogate pair.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
MAX_DEPTH = 50


class RawParser(parsers.BaseParser):
    """Passes on the unread body as `file`; the service copies it to its path."""

    media_type = RAW

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        return {"file": stream}


class JSONParser(parsers.JSONParser):
    """JSON of at most DATA_UPLOAD_MAX_MEMORY_SIZE bytes and MAX_DEPTH levels, with text that can be stored."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        raw = stream.read(most + 1)
        if len(raw) > most:
            raise too_large(most)
        try:
            parsed = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_finite)
        except UnicodeDecodeError as error:
            raise exceptions.ParseError(_("The request is not UTF-8.")) from error
        except RecursionError as error:
            raise _too_deep() from error
        except ValueError as error:
            raise exceptions.ParseError(_("The request is not JSON: %(why)s") % {"why": error}) from error
        _check_value(parsed, depth=0)
        return parsed


def too_large(most: int) -> Refusal:
    return Refusal(
        "too_large",
        _("The request is larger than %(limit)d bytes.") % {"limit": most},
        _("Send less at once; files of dialogues go through an import."),
        status=413,
        details={"limit": most},
    )


def _too_deep() -> Invalid:
    return Invalid(_("The request is nested more than %(most)d levels deep.") % {"most": MAX_DEPTH})


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits} is out of range")
    return number


def _check_value(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise _too_deep()
    if isinstance(value, str):
        if UNSTORABLE.search(value):
            raise Invalid(
                _(
                    "The request contains a character that no text can have (NUL, or half of a surrogate pair)."
                ),
                _("Remove it and send again."),
            )
    elif isinstance(value, dict):
        for key, inner in value.items():
            _check_value(key, depth + 1)
            _check_value(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _check_value(inner, depth + 1)
