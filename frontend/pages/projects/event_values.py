"""The values of an event in words: what its numbers count, and which fields changed from what to what."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from django.apps import apps
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Field
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext, pgettext_lazy

from common.languages import language_name
from frontend.ui.dialogue_languages import named_with_code
from frontend.ui.setting_labels import SETTING_LABELS
from projects.models import Event, Project, Role

MOST_CHARS: Final = 80  # of a value; longer ones, such as texts for participants, are only named


def _dialogues(n: int) -> str:
    return ngettext("%(n)s dialogue", "%(n)s dialogues", n) % {"n": intcomma(n)}


def _people(n: int) -> str:
    return ngettext("%(n)s person", "%(n)s people", n) % {"n": intcomma(n)}


def _deliveries(n: int) -> str:
    return ngettext("%(n)s delivery", "%(n)s deliveries", n) % {"n": intcomma(n)}


def _overlap(n: int) -> str:
    return ngettext("%(n)s person per dialogue", "%(n)s people per dialogue", n) % {"n": n}


def _role(role: str) -> str:
    return str(Role(role).label) if role in Role.values else role


# What can change for dialogues that wait for labels.
REPLANNED: Final[Mapping[str, Promise]] = {
    "overlap": gettext_lazy("People per dialogue"),
    "group": gettext_lazy("Labelled by"),
    "priority": gettext_lazy("Priority"),
}
# Kinds of events about a list: its entries in words, and what an empty list means.
LISTED: Final[Mapping[str, tuple[Callable[[str], str], Promise]]] = {
    **dict.fromkeys(
        ("member_roles", "member_joined", "member_removed"), (_role, pgettext_lazy("value", "none"))
    ),
    "member_languages": (language_name, gettext_lazy("every language")),
}
# What the `count` of an event counts, if it is not dialogues.
COUNTED: Final[Mapping[str, Callable[[int], str]]] = {
    "invited_by_link": _people,
    "webhook_replayed": _deliveries,
}
# The values that are shown, in this order, each in words.
IN_WORDS: Final[Mapping[str, Callable[[Any], str]]] = {
    "name": str,
    "username": str,
    "overlap": _overlap,
    "group": lambda name: _("group %(name)s") % {"name": name},
    "priority": lambda n: _("priority %(n)s") % {"n": n},
    "changed": _dialogues,
    "version": lambda n: _("version %(n)s") % {"n": n},
    "slug": str,
    "repository": str,
    "language": named_with_code,
}


def values_of(event: Event, *, leave_out: str = "") -> list[str]:
    """The short values of an event in words. leave_out: the name of one that is shown elsewhere."""
    changed = _replanned(event) if event.kind == "replanned" else {}
    shown = [
        words(value)
        for name, words in IN_WORDS.items()
        if name != leave_out and name not in changed and _is_short(value := event.data.get(name))
    ]
    if _is_short(count := event.data.get("count")):
        shown.append(COUNTED.get(event.kind, _dialogues)(count))
    if event.kind == "replanned" and event.data.get("group") == "" and "group" not in changed:
        shown.append(_("labelled by everybody"))
    return [*changed.values(), *shown, *_changes(event)]


def _replanned(event: Event) -> dict[str, str]:
    """By the name of a changed value of tasks: what it was and what it is; empty if the event lacks the old values."""
    found = {}
    for name, label in REPLANNED.items():
        after = event.data.get(name)
        former = sorted({one[name] for one in event.data.get("before") or [] if name in one} - {after})
        if after is not None and former:
            comma = pgettext("list", ", ")
            values = f"{comma.join(map(_task_value, former))} → {_task_value(after)}"
            found[name] = _("%(name)s: %(value)s") % {"name": label, "value": values}
    return found


def _task_value(value: str | int) -> str:
    return str(value) if value != "" else _("everybody")


def _is_short(value: Any) -> bool:
    is_plain = isinstance(value, str | int) and not isinstance(value, bool)
    return is_plain and value != "" and len(str(value)) <= MOST_CHARS


def _changes(event: Event) -> Iterator[str]:
    """What changed from what to what, if the event has both."""
    before, after = event.data.get("before"), event.data.get("after")
    if event.kind == "edited":
        yield from (
            capfirst(_field_label(_field(Project, name), name)) for name in event.data.get("changed", [])
        )
    elif isinstance(before, dict) and isinstance(after, dict):
        model = _model(event.subject_type)
        for name, value in after.items():
            # Webhooks and systems store what stayed as well; earlier releases stored 92 and "92" as a change.
            if str(before.get(name)) != str(value):
                yield _change(_field(model, name), name, before.get(name), value)
    elif event.kind == "member_group":
        yield " → ".join(group or pgettext("value", "none") for group in (before, after))
    elif event.kind in LISTED:
        name_of, if_empty = LISTED[event.kind]
        comma = pgettext("list", ", ")
        yield " → ".join(
            comma.join(map(name_of, values or ())) or str(if_empty) for values in (before, after)
        )
    elif event.kind == "schema_used":
        yield " → ".join(IN_WORDS["version"](number) for number in (before, after) if number)


def _change(field: "Field[Any, Any] | None", name: str, before: Any, after: Any) -> str:
    label = capfirst(_field_label(field, name))
    values = [_value_in_words(field, value) for value in (before, after)]
    if any(value is None for value in values):
        return label
    return _("%(name)s: %(value)s") % {"name": label, "value": " → ".join(map(str, values))}


def _value_in_words(field: "Field[Any, Any] | None", value: Any) -> str | None:
    """None for a value that is too long to be shown, or that is a list or an object."""
    if isinstance(value, dict | list):
        return None
    if value in (None, ""):
        return pgettext("value", "none")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    choices = dict(field.flatchoices) if field else {}
    text = str(choices.get(value, value))
    return None if len(text) > MOST_CHARS else text


def _model(label: str) -> Any:
    try:
        return apps.get_model(label)
    except (LookupError, ValueError):  # of a release that had another model
        return None


def _field(model: Any, name: str) -> "Field[Any, Any] | None":
    try:
        return model._meta.get_field(name) if model else None
    except FieldDoesNotExist:
        return None


def _field_label(field: "Field[Any, Any] | None", name: str) -> str:
    if name in SETTING_LABELS:
        return str(SETTING_LABELS[name])
    return str(field.verbose_name) if field else name.replace("_", " ")
