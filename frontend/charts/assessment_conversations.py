"""What participants and systems talk about in a run, and how much participants write."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import TextChoices
from django.utils.translation import gettext as _

from assessment.report.selectors.conversations import (
    ConversationLength,
    Lengths,
    TopicAnswers,
    median_lengths,
)
from assessment.report.selectors.run_report import RunReport
from assessment.sessions.models.conversations import Opinion, TopicChange
from frontend.charts.chart import Cell, Chart, to_percent
from measures.proportion import proportion
from plots.marks import Mark
from plots.rows import draw_stacked_rows


def draw_opinions(report: RunReport, answers: Sequence[TopicAnswers]) -> Chart:
    """Table 2 of the paper."""
    title = _("What do participants think of their topics?")
    note = _("The opinion that participants gave of the topic of each conversation.")
    counted = _by_part(report, answers, lambda answer: answer.opinion)
    return _draw_shares("topics", title, note, _("topics"), counted, Opinion)


def draw_topic_changes(report: RunReport, answers: Sequence[TopicAnswers]) -> Chart:
    title = _("Who changes the topic?")
    note = _("What participants answered after each chat.")
    counted = _by_part(report, answers, lambda answer: answer.topic_change)
    return _draw_shares("topic-changes", title, note, _("conversations"), counted, TopicChange)


def tabulate_bot_opinions(answers: Sequence[TopicAnswers]) -> Chart:
    """Rows: opinions of participants; columns: what they took the chatbot's for."""
    counts = Counter[tuple[str, str]]()
    for answer in answers:
        if answer.opinion and answer.bot_opinion:
            counts[answer.opinion, answer.bot_opinion] += answer.n
    rows: list[list[Cell]] = [[str(own.label), *(counts[own, other] for other in Opinion)] for own in Opinion]
    note = _(
        "Conversations of all participants. Rows: what the participant thinks of the topic; columns: what the chatbot "
        "seemed to think of it."
    )
    head = [_("participant ↓ · chatbot →"), *(str(opinion.label) for opinion in Opinion)]
    title = _("Does the chatbot seem to share the participant's opinion?")
    return Chart("chatbot-opinions", title, note, head, rows if counts else [])


def _by_part(
    report: RunReport, answers: Iterable[TopicAnswers], choice: Callable[[TopicAnswers], str]
) -> dict[str, Counter[str]]:
    """Chosen answers of participants who passed and of those who failed; parts without an answer are left out."""
    parts = {_("passed"): Counter[str](), _("failed"): Counter[str]()}
    passed, failed = parts.values()
    for answer in answers:
        if chosen := choice(answer):
            (passed if answer.participant in report.passed else failed)[chosen] += answer.n
    return {name: counts for name, counts in parts.items() if counts.total()}


def _draw_shares(
    name: str, title: str, note: str, unit: str, parts: dict[str, Counter[str]], choices: type[TextChoices]
) -> Chart:
    """The share of each choice, one row for each part."""
    labels = [str(choice.label) for choice in choices]
    series = [
        [
            Mark(counts[choice] / counts.total(), f"{part}, {choice.label}: {counts[choice]}")
            for part, counts in parts.items()
        ]
        for choice in choices
    ]
    svg = draw_stacked_rows(list(parts), series, x="%", description=title) if parts else ""
    rows: list[list[Cell]] = [
        [
            part,
            counts.total(),
            *(to_percent(proportion(counts[choice], counts.total()).share) for choice in choices),
        ]
        for part, counts in parts.items()
    ]
    head = [_("participants"), unit, *(f"{label} (%)" for label in labels)]
    return Chart(name, title, note, head, rows, svg, labels)


def tabulate_lengths(report: RunReport, lengths: Sequence[ConversationLength]) -> Chart:
    """Table 11 of the paper."""
    people = {assignment.participant for assignment in report.ratings.assignments}
    parts = [
        median_lengths(lengths, report.passed),
        median_lengths(lengths, people - report.passed),
    ]
    rows: list[list[Cell]] = [
        [_("characters in an input"), *(part.characters_per_input for part in parts)],
        [_("characters in a conversation"), *(part.characters_per_conversation for part in parts)],
        [_("words in an input"), *(part.words_per_input for part in parts)],
        [_("words in a conversation"), *(part.words_per_conversation for part in parts)],
    ]
    note = _(
        "Medians of what participants wrote, in %(passed)s and %(failed)s conversations with texts. A Chinese "
        "character counts as a word."
    ) % {"passed": intcomma(parts[0].conversations), "failed": intcomma(parts[1].conversations)}
    head = [_("median"), _("passed"), _("failed")]
    title = _("How much do participants write?")
    return Chart("lengths", title, note, head, rows if _any_texts(parts) else [], has_units_by_row=True)


def _any_texts(parts: Sequence[Lengths]) -> bool:
    return any(part.conversations for part in parts)
