"""Lookups in mappings and lists that a view passes to its template."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import template

from annotation.onboarding.models import Admission
from projects.models import Project

register = template.Library()


@register.filter
def at(table: Mapping[Any, Any], key: Any) -> Any:
    """table[key]; empty if the key is missing."""
    return table.get(key, "")


@register.filter
def of_project(rows: Iterable[Admission], project: Project) -> Admission | None:
    return next((row for row in rows if row.project_id == project.pk), None)
