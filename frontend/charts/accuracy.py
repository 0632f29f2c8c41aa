"""The accuracy of one annotator by class."""

from collections.abc import Sequence

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.batch_review.selectors.annotator_accuracy import AnswerOutcome
from annotation.labelling.schema.questions import Question
from annotation.labelling.selectors.schemas import load_schema, newest_version
from frontend.charts.batches import percent_mark
from frontend.charts.chart import Cell, Chart, add_few, interval_head, rows_with_few, to_percent
from frontend.ui.labels import answer_in_words
from measures.proportion import Proportion, proportion
from plots.rows import draw_estimates
from projects.models import Project


def draw_accuracy_by_class(project: Project, outcomes: Sequence[AnswerOutcome]) -> Chart:
    """The accuracy over all answers, then by the class that the person chose.

    Samples that check every compared answer have no classes.
    """
    by_class = _accuracy_by_class(project, outcomes)
    names = [_("All"), *(name for name, _part in by_class)]
    parts = [_share_right(outcomes), *(part for _name, part in by_class)]
    title, n = _("How often are my answers right?"), len(outcomes)
    note = ngettext("n = %(n)s judged answer", "n = %(n)s judged answers", n) % {"n": intcomma(n)}
    head = [_("You answered"), _("right"), _("judged"), "%", *interval_head()]
    rows: list[list[Cell]] = [
        [name, part.count, part.n, *(to_percent(value) for value in (part.share, part.low, part.high))]
        for name, part in zip(names, parts, strict=True)
    ]
    marks = [percent_mark(name, part) for name, part in zip(names, parts, strict=True)]
    svg = draw_estimates(names, marks, x=_("right (%)"), description=title)
    faint = rows_with_few(rows, 2)
    note = add_few(f"{note} · {_('lines: 95 % intervals')}", faint)
    return Chart("classes", title, note, head, rows, svg, faint=faint)


def _accuracy_by_class(project: Project, outcomes: Sequence[AnswerOutcome]) -> list[tuple[str, Proportion]]:
    schema = newest_version(project)
    questions = load_schema(schema).by_key if schema else {}
    by_class: dict[tuple[str, str], list[AnswerOutcome]] = {}
    with_class = [outcome for outcome in outcomes if outcome.question]
    for outcome in sorted(with_class, key=lambda outcome: (outcome.question, outcome.own)):
        by_class.setdefault((outcome.question, outcome.own), []).append(outcome)
    return [
        (class_name(questions.get(question), own), _share_right(rows))
        for (question, own), rows in by_class.items()
    ]


def _share_right(outcomes: Sequence[AnswerOutcome]) -> Proportion:
    return proportion(sum(outcome.was_right for outcome in outcomes), len(outcomes))


def class_name(question: Question | None, value: str) -> str:
    """A class in words, "2 · high"; the value itself if the schema no longer has it."""
    options = question.options if question else ()
    option = next((option for option in options if str(option.value) == value), None)
    return answer_in_words(question, option.value) if question and option else value
