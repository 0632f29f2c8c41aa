"""Select boxes above a list, whose choices are in the address."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.utils.functional import Promise


@dataclass(frozen=True, slots=True)
class Filter:
    """every: the label of no choice."""

    name: str
    label: str | Promise
    every: str | Promise
    choices: Sequence[tuple[str, Any]]


def chosen_filters(query: QueryDict, filters: Sequence[Filter]) -> dict[str, str]:
    """The values in an address by the filter's name. Ignores unknown values."""
    values = ((filter_, query.get(filter_.name, "")) for filter_ in filters)
    return {filter_.name: value for filter_, value in values if value in dict(filter_.choices)}


def filter_choices(filters: Sequence[Filter], chosen: dict[str, str]) -> list[tuple[Filter, str]]:
    """For components/filter_selects.html."""
    return [(one, chosen.get(one.name, "")) for one in filters]
