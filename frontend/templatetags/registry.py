"""Names of models and figures of their evaluations."""

from uuid import uuid4

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from dialogues.models import Split
from frontend.charts.evaluation import ReportedEstimate
from frontend.pages.learning.training_form import describe_recipe, source_name
from frontend.ui.questions import judged_titles
from generation.models import Generator
from preference.runs.models import TrainingRun
from projects.models import Project

register = template.Library()


@register.filter
def base_name(source: str) -> str:
    """The name of an unregistered base model: a folder or a Hub id."""
    return source_name(source)


@register.filter
def recipe(run: TrainingRun) -> str:
    """What a training was made with, in words."""
    return describe_recipe(run)


@register.filter
def generator_name(generator: Generator | None) -> str:
    """The model's name; None is the model of projects that have not chosen one."""
    return generator.slug if generator else _("the server's own model")


@register.filter
def split_name(split: str) -> str:
    """The label of a split; `all` and names of other data sets are shown unchanged."""
    return str(Split(split).label) if split in Split.values else split


@register.filter
def question_title(key: str, project: Project) -> str:
    """What the project calls a question or statement; the key of one that it no longer has."""
    return judged_titles(project).get(key, key) if key else ""


@register.simple_tag
def new_id() -> str:
    """A new id for a form, so that a form that is sent twice does its work once."""
    return str(uuid4())


@register.filter
def estimate(figure: ReportedEstimate | None) -> SafeString | str:
    """ "0.625" with its interval beside it; a dash if missing."""
    if figure is None:
        return "–"
    if not figure.interval:
        return str(figure)
    return format_html('{} <span class="interval-words">{}</span>', figure, figure.interval)
