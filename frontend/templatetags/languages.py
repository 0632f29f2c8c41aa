"""Languages that people read, as checkboxes and as names."""

from collections.abc import Collection
from typing import Any

from django import template
from django.utils.translation import pgettext

from frontend.ui.dialogue_languages import named_with_code
from frontend.ui.reading_languages import language_choices, language_names

register = template.Library()


@register.inclusion_tag("components/language_checks.html")
def language_checks(name: str, chosen: Collection[str] | None, prefix: object) -> dict[str, Any]:
    """name: of the field. prefix: of the ids."""
    first, more = language_choices(chosen or [])
    return {"name": name, "first": first, "more": more, "prefix": prefix}


@register.filter
def language_label(code: str) -> str:
    return named_with_code(code)


@register.filter(name="language_names")
def names(codes: Collection[str]) -> str:
    """The languages' own names, separated by commas."""
    return pgettext("list", ", ").join(language_names(codes))
