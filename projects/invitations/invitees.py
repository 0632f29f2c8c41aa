"""People who are invited: one by one, or as lines of CSV. Nothing is stored here."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext as _
from django.utils.translation import override, pgettext

from projects.models import Role

MAX_PEOPLE: Final = 500
MAX_CHARS: Final = 100_000  # the csv module takes no cell beyond 131,072
MAX_NAME: Final = 80
MAX_EMAIL: Final = 254
COLUMNS: Final = ("name", "email", "role", "language")
LANGUAGE_NAMES: Final = {
    "zh": "zh-hans",
    "zh-cn": "zh-hans",
    "中文": "zh-hans",
    "chinese": "zh-hans",
    "english": "en",
}


@dataclass(frozen=True, slots=True)
class Invitee:
    roles: tuple[str, ...]
    name: str = ""
    email: str = ""
    language: str = ""

    def as_data(self) -> dict[str, Any]:
        return {**asdict(self), "roles": list(self.roles)}


@dataclass(slots=True)
class Line:
    """One line of a list. number: as an editor counts. problems: in words; empty if the line can be invited."""

    number: int
    invitee: Invitee
    problems: list[str] = field(default_factory=list)


def interface_language(words: str) -> str:
    """The code of a language of the interface as people write it. Unknown names are returned unchanged."""
    return LANGUAGE_NAMES.get(words.lower(), words.lower())


def language_without_script(code: str) -> str:
    """The code without its script: zh for zh-hans."""
    return code.partition("-")[0]


def parse_people(text: str) -> list[Line]:
    """The lines of `name,email,role,language`, separated by commas, semicolons or tabs.

    A heading and empty lines are left out. Several roles are joined by +, and the language may be missing.
    """
    rows = csv.reader(text.lstrip("\ufeff").splitlines(), delimiter=_separator(text))
    lines = [_parse_line(number, row) for number, row in _numbered(rows)]
    _mark_repeated(lines)
    return lines


def _numbered(rows: Any) -> Iterator[tuple[int, list[str]]]:
    for row in rows:
        cells = [" ".join(cell.split()) for cell in row]
        is_heading = [cell.lower() for cell in cells[:2]] == list(COLUMNS[:2])
        if any(cells) and not is_heading:
            yield rows.line_num, cells


def _separator(text: str) -> str:
    first = next((line for line in text.splitlines() if line.strip()), "")
    return max(",;\t", key=first.count)


def _parse_line(number: int, cells: Sequence[str]) -> Line:
    name, email, role, language = (*cells[:4], *[""] * (4 - len(cells)))
    roles, unknown = _parse_roles(role)
    invitee = Invitee(roles, name, email, interface_language(language))
    line = Line(number, invitee, [*_text_problems(invitee)])
    if unknown:
        line.problems.append(_("There is no role “%(role)s”.") % {"role": unknown})
    else:
        line.problems.extend(_role_problems(invitee))
    if len(cells) > len(COLUMNS):
        line.problems.append(_("The line has more than %(n)d cells.") % {"n": len(COLUMNS)})
    return line


def _parse_roles(text: str) -> tuple[tuple[str, ...], str]:
    """The roles, and the first word that is not the name of one. Names count in every language of the interface."""
    names = _role_names()
    words = [word.strip().lower() for word in text.split("+") if word.strip()]
    chosen = {names[word] for word in words if word in names}
    unknown = next((word for word in words if word not in names), "")
    return tuple(role for role in Role.values if role in chosen), unknown


def _role_names() -> dict[str, str]:
    names = {role.value: role.value for role in Role}
    for code, _name in settings.LANGUAGES:
        with override(code):
            names |= {str(role.label).lower(): role.value for role in Role}
    return names


def check_invitee(invitee: Invitee) -> list[str]:
    """What is wrong, whatever the project; empty if nothing is."""
    return [*_text_problems(invitee), *_role_problems(invitee)]


def _email_problem(invitee: Invitee) -> str:
    if not invitee.email:
        return "" if invitee.name else _("The line needs a name or an email address.")
    try:
        validate_email(invitee.email)
    except ValidationError:
        return _("“%(email)s” is not an email address.") % {"email": invitee.email[:MAX_EMAIL]}
    return _("The email address is too long.") if len(invitee.email) > MAX_EMAIL else ""


def _text_problems(invitee: Invitee) -> Iterator[str]:
    if problem := _email_problem(invitee):
        yield problem
    if len(invitee.name) > MAX_NAME:
        yield _("The name has more than %(n)d characters.") % {"n": MAX_NAME}
    if "\0" in invitee.name:
        yield _("The name contains NUL.")
    if invitee.language and invitee.language not in dict(settings.LANGUAGES):
        codes = ", ".join(language_without_script(code) for code, _name in settings.LANGUAGES)
        yield _("The language must be one of: %(codes)s.") % {"codes": codes}


def _role_problems(invitee: Invitee) -> Iterator[str]:
    if not invitee.roles or set(invitee.roles) - set(Role.values):
        labels = pgettext("list", ", ").join(str(role.label) for role in Role)
        yield _("The line needs at least one of the roles: %(roles)s.") % {"roles": labels}


def _mark_repeated(lines: Sequence[Line]) -> None:
    first: dict[str, int] = {}
    for line in lines:
        email = line.invitee.email.lower()
        if email and (earlier := first.setdefault(email, line.number)) != line.number:
            line.problems.append(_("The address is already in line %(n)d.") % {"n": earlier})
