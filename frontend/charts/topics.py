"""What the dialogues of a project are about: their topics (Diamante, figure 6; DiQAD, figure 2b) and domains (2a)."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from django.contrib.humanize.templatetags.humanize import intcomma
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dialogues.models import TopicSource
from frontend.charts.chart import Cell, Chart, to_percent
from plots.marks import Mark
from plots.rows import MAX_ROWS, draw_rows
from preference.topics.selectors import TopicCount, count_domains, count_topics, topic_names
from projects.models import DialogueLanguage, Project

TOPICS: Final = "topics"
MOST_LANGUAGES: Final = 3  # series of a plot; the table has all


def draw_topics(project: Project) -> Chart:
    """Share of each topic among the dialogues that have one, by language if there are several."""
    counts, names = count_topics(project), topic_names(project)
    tagged = [one for one in counts if one.topic]
    by_topic = _sum_by(tagged, "topic")
    untagged = sum(one.dialogues for one in counts if not one.topic)
    topics = [topic for topic, _n in by_topic.most_common()]
    title = _("What are the dialogues about?")
    labels = [names.get(topic, topic) for topic in topics]
    totals = _sum_by(tagged, "language")
    languages = [language for language, _n in totals.most_common()]
    svg, legend = _plot_shares(topics, labels, tagged, title) if topics else ("", [])
    rows: list[list[Cell]] = [
        [
            label,
            by_topic[topic],
            to_percent(by_topic[topic] / by_topic.total()),
            *(_count(tagged, topic, language) for language in languages),
        ]
        for topic, label in zip(topics, labels, strict=True)
    ]
    head = [_("topic"), _("Dialogues"), "%", *map(_language_name, languages)]
    links = [_list_of(project, topic) if topic in names else "" for topic in topics]
    note = _describe_n(by_topic.total(), untagged, len(topics))
    return Chart(TOPICS, title, note, head, rows, svg, legend, links)


def _plot_shares(
    topics: Sequence[str], labels: Sequence[str], tagged: Sequence[TopicCount], title: str
) -> tuple[str, list[str]]:
    """Bars of all dialogues, or of each of the most frequent languages; and the legend."""
    totals = _sum_by(tagged, "language")
    languages = [language for language, _n in totals.most_common(MOST_LANGUAGES)]
    if len(languages) < 2:
        by_topic = _sum_by(tagged, "topic")
        series = [_marks(topics, labels, by_topic, "")]
        return draw_rows(labels, series, x="%", description=title), []
    series = [
        _marks(
            topics,
            labels,
            _sum_by([one for one in tagged if one.language == language], "topic"),
            _language_name(language),
        )
        for language in languages
    ]
    return draw_rows(labels, series, x="%", description=title), list(map(_language_name, languages))


def _marks(topics: Sequence[str], labels: Sequence[str], counts: Counter[str], name: str) -> list[Mark]:
    total = max(1, counts.total())
    return [
        Mark(
            100 * counts[topic] / total,
            f"{label}{f' · {name}' if name else ''}: {100 * counts[topic] / total:.1f} %, n = {counts[topic]}",
        )
        for topic, label in zip(topics, labels, strict=True)
    ]


def _sum_by(counts: Sequence[TopicCount], name: str) -> Counter[str]:
    """Dialogues by topic, language or source."""
    total: Counter[str] = Counter()
    for one in counts:
        total[getattr(one, name)] += one.dialogues
    return total


def _count(counts: Sequence[TopicCount], topic: str, language: str) -> int:
    return sum(one.dialogues for one in counts if (one.topic, one.language) == (topic, language))


def _language_name(language: str) -> str:
    """ "Chinese"; a tag that has no name here as it is."""
    if language in DialogueLanguage.values:
        return str(DialogueLanguage(language).label)
    return language or _("language not stated")


def _list_of(project: Project, topic: str) -> str:
    return f"{reverse('dialogues', args=[project.slug])}?{urlencode({'topic': topic})}"


def _describe_n(tagged: int, untagged: int, topics: int) -> str:
    words = [
        ngettext("n = %(n)s dialogue with a topic", "n = %(n)s dialogues with a topic", tagged)
        % {"n": intcomma(tagged)},
        ngettext("%(n)s without", "%(n)s without", untagged) % {"n": intcomma(untagged)} if untagged else "",
        ngettext("%(n)d more topic is in the table", "%(n)d more topics are in the table", topics - MAX_ROWS)
        % {"n": topics - MAX_ROWS}
        if topics > MAX_ROWS
        else "",
    ]
    return " · ".join(filter(None, words))


def tabulate_sources(project: Project) -> Chart:
    """How many dialogues have their topic from whom."""
    counts = _sum_by(count_topics(project), "source")
    rows: list[list[Cell]] = [
        [str(TopicSource(source).label) if source else _("nobody yet"), counts[source]]
        for source in [*TopicSource.values, ""]
        if counts[source]
    ]
    head = [_("chosen by"), _("Dialogues")]
    return Chart("topic-sources", _("Who chose the topics?"), _("finished dialogues"), head, rows)


def draw_domains(project: Project) -> Chart:
    """How many dialogues each domain has."""
    counts = count_domains(project)
    labels = [domain or _("not stated") for domain in counts]
    title, total = _("Which domains do the dialogues come from?"), max(1, sum(counts.values()))
    marks = [
        Mark(100 * n / total, f"{label}: {100 * n / total:.1f} %, n = {n}")
        for label, n in zip(labels, counts.values(), strict=True)
    ]
    svg = draw_rows(labels, [marks], x="%", description=title) if any(counts) else ""
    rows: list[list[Cell]] = [
        [label, n, to_percent(n / total)] for label, n in zip(labels, counts.values(), strict=True)
    ]
    n = sum(counts.values())
    note = ngettext("n = %(n)s finished dialogue", "n = %(n)s finished dialogues", n) % {"n": intcomma(n)}
    return Chart("domains", title, note, [_("domain"), _("Dialogues"), "%"], rows if svg else [], svg)
