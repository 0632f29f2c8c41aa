"""How models, and the figures of their evaluations, are written."""

from uuid import uuid4

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dialogues.models import Split
from frontend.charts.evaluation import ReportedEstimate
from frontend.pages.learning.training_form import source_name
from generation.models import Generator

register = template.Library()


@register.filter
def base_name(source: str) -> str:
    """Of a folder or Hub id that nobody registered."""
    return source_name(source)


@register.filter
def generator_name(generator: Generator | None) -> str:
    """None: what projects that name none are served with."""
    return generator.slug if generator else _("the server's own model")


@register.filter
def split_name(split: str) -> str:
    """Of a data set's part, also where it is `all` or one that was named elsewhere."""
    return str(Split(split).label) if split in Split.values else split


@register.simple_tag
def new_id() -> str:
    """So that a form that is sent twice does its work once; every form has its own."""
    return str(uuid4())


@register.filter
def estimate(found: ReportedEstimate | None) -> SafeString | str:
    """ "0.625" with its interval beside it; a dash if missing."""
    if found is None:
        return "–"
    if not found.interval:
        return str(found)
    return format_html('{} <span class="interval-words">{}</span>', found, found.interval)
