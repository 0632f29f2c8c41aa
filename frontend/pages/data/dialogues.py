"""The dialogues of a project: a list with filters and a search, and each dialogue with its history."""

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.db.models import Exists, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from accounts.models import User
from annotation.labelling.selectors.dialogue_labels import (
    LABEL_STATES,
    DialogueLabels,
    annotators_of,
    dialogue_labels,
    filter_by_final_answer,
    filter_by_label_state,
    has_labelled,
    label_states,
    submitted_by,
    was_returned,
)
from annotation.labelling.selectors.schemas import load_schema
from annotation.labelling.selectors.settings import has_trainer
from annotation.labelling.selectors.workbench import disputed_tasks, speakers_in
from annotation.labelling.services.shown_labels import record_shown_labels
from annotation.onboarding.models import Thread
from annotation.onboarding.selectors.threads import visible_threads
from annotation.tasks.models.work import TaskState
from assessment.sessions.models.participants import Participant
from dialogues.models import Action, Dialogue, DialogueState, Origin, ReviewState, Split, Utterance
from dialogues.parsing.unique_ids import is_content_id
from dialogues.selectors import (
    NO_TOPIC,
    SEARCH_WINDOW,
    annotate_opening,
    count_actions,
    dialogue_for,
    dialogue_not_found,
    dialogues_of,
    has_topics,
    history_of,
    import_for,
    languages_of,
    search_dialogues,
    utterances_of,
)
from frontend.pages.batch_review.corrections import describe_judged_label
from frontend.pages.data.label_filter import FINAL_LABEL, chosen_answer, final_label_filters
from frontend.pages.data.study_dialogues import (
    chosen_participant,
    describe_study,
    filter_study,
    study_filters,
)
from frontend.pages.projects.missing_roles import describe_missing_trainer
from frontend.pages.requests import signed_in
from frontend.ui.dialogues import content_language
from frontend.ui.differences import Piece, diff_texts
from frontend.ui.filters import Filter, chosen_filters, filter_choices
from frontend.ui.labels import LabelsInWords, describe_origin
from frontend.ui.paging import KeysetPage, parse_number
from frontend.ui.sorting import Column, Sorting, chosen_sorting, sorted_page
from jobs.models import Job
from preference.topics.selectors import topic_names
from projects.models import Event, Project, Protocol
from projects.roles import Capability
from projects.selectors import capabilities_of, project_for

SEARCH_CHARS = 200
MAX_COUNTED = 10_000  # dialogues; a larger number is shown as "more than"
UTTERANCES_SHOWN = 200
METADATA_SHOWN = 50
DIFFERENCES_SHOWN = 50
THREADS_SHOWN = 100
BIGGEST_ID = 2**63 - 1


FILTERS = [
    Filter("state", gettext_lazy("State"), gettext_lazy("Every state"), DialogueState.choices),
    Filter("review_state", gettext_lazy("Review"), gettext_lazy("Every review"), ReviewState.choices),
    Filter("origin", gettext_lazy("Origin"), gettext_lazy("Every origin"), Origin.choices),
    Filter("split", gettext_lazy("Split"), gettext_lazy("Every split"), Split.choices),
    Filter("action", gettext_lazy("Action"), gettext_lazy("Every action"), Action.choices),
]

NEWEST = "-added"
COLUMNS = {"added": Column("pk", falls_first=True), "utterances": Column("utterance_count", falls_first=True)}
TOPIC, LANGUAGE, ANNOTATOR = "topic", "language", "annotator"
STORED_FILTERS = {*(filter_.name for filter_ in FILTERS), TOPIC, LANGUAGE}  # columns of a dialogue
# Dialogues to label are finished from the start; people look for the state of their labels.
LABELLING_FILTERS = [
    Filter("label", gettext_lazy("Labels"), gettext_lazy("Every state"), LABEL_STATES),
    *(filter_ for filter_ in FILTERS if filter_.name in ("origin", "split")),
]


def filters_for(project: Project, topics: Mapping[str, str], *, sees_systems: bool) -> list[Filter]:
    """The select boxes above the list.

    topics: names by id; empty if no dialogue has one. sees_systems: whether the reader may know the system of a
    conversation.
    """
    filters = _filters_of_protocol(project, sees_systems=sees_systems)
    return [*filters, _topic_filter(topics)] if topics else filters


def _more_filters(project: Project, *, names_people: bool) -> list[Filter]:
    """By language if there are several, and by annotator for those who may see who did what."""
    languages = languages_of(project)
    filters = [Filter(LANGUAGE, gettext_lazy("Language"), gettext_lazy("Every language"), languages)]
    people = annotators_of(project) if names_people and project.protocol != Protocol.ASSESSMENT else []
    by_person = [Filter(ANNOTATOR, gettext_lazy("Annotator"), gettext_lazy("Every annotator"), people)]
    return (filters if len(languages) > 1 else []) + (by_person if people else [])


def _topic_filter(topics: Mapping[str, str]) -> Filter:
    choices = [*topics.items(), (NO_TOPIC, _("Without a topic"))]
    return Filter(TOPIC, gettext_lazy("Topic"), gettext_lazy("Every topic"), choices)


def _filters_of_protocol(project: Project, *, sees_systems: bool) -> list[Filter]:
    if project.protocol == Protocol.LABELLING:
        return LABELLING_FILTERS
    if project.protocol != Protocol.ASSESSMENT:
        return FILTERS
    filters = [filter_ for filter_ in FILTERS if filter_.name in ("state", "split")]
    return [*filters, *study_filters(project)] if sees_systems else filters


@login_required
@require_safe
def dialogue_list(request: HttpRequest, slug: str) -> HttpResponse:
    user = signed_in(request)
    project = project_for(user, slug, Capability.READ_DIALOGUES)
    labels = project.protocol == Protocol.LABELLING
    may = capabilities_of(user, project)
    sees_systems = project.protocol == Protocol.ASSESSMENT and Capability.READ_STATISTICS in may
    topics = topic_names(project) if has_topics(project) else {}
    filters = [
        *filters_for(project, topics, sees_systems=sees_systems),
        *(final_label_filters(project) if labels else []),
        *_more_filters(project, names_people=Capability.READ_STATISTICS in may),
    ]
    chosen = chosen_filters(request.GET, filters)
    words = request.GET.get("q", "").replace("\0", "").strip()[:SEARCH_CHARS]
    imported = _chosen_import(request, project)
    more = {"import_job": str(imported.pk)} if imported else {}
    stored = {name: value for name, value in chosen.items() if name in STORED_FILTERS}
    held_by = chosen.get(ANNOTATOR)
    participant = _chosen_participant(request, project) if sees_systems else None
    rows = dialogues_of(project, **stored, **more)
    if held_by:
        rows = rows.filter(Exists(submitted_by(int(held_by))))
    if "label" in chosen:
        rows = filter_by_label_state(rows, chosen["label"])
    if FINAL_LABEL in chosen and (answer := chosen_answer(project, chosen[FINAL_LABEL])):
        rows = filter_by_final_answer(rows, user, project, may, answer)
    if project.protocol == Protocol.ASSESSMENT:
        rows = filter_study(rows, project, chosen, participant)
    sorting = chosen_sorting(
        QueryDict() if words else request.GET, COLUMNS, NEWEST
    )  # a search is newest first
    page, searched_to = _page(rows, words, request.GET.get("before"), sorting)
    counts = {} if labels else count_actions(page.rows)
    context = {
        "project": project,
        "title": _("Dialogues"),
        "page": page,
        "rows": [(dialogue, counts.get(dialogue.pk, {})) for dialogue in page.rows],
        "label_states": label_states(page.rows) if labels else None,
        "in_study": describe_study(project, page.rows) if sees_systems else {},
        "participant": participant,
        "topics": topics,
        "sees_systems": sees_systems,
        "filters": filter_choices(filters, chosen),
        "sorting": sorting,
        "is_filtered": bool(chosen or words or imported or participant),
        "is_opened": bool(chosen),
        "words": words,
        "imported": imported,
        "searched_to": searched_to,
        "searched_at_once": SEARCH_WINDOW,
        "total": rows[: MAX_COUNTED + 1].count() if not words else None,
        "counted": MAX_COUNTED,
        "may": {one.value for one in may},
        "no_trainer": _describe_missing_trainer(project, chosen.get("label")),
        "selects": labels and Capability.CONFIGURE in may,
        "dialogue_lang": content_language(project),
    }
    return render(request, "data/dialogues/list.html", context)


def _describe_missing_trainer(project: Project, label: str | None) -> str:
    """Beside the disputed dialogues, if nobody can decide them."""
    if label != TaskState.DISPUTED or has_trainer(project):
        return ""
    disputed = disputed_tasks(project).count()
    return describe_missing_trainer(disputed) if disputed else ""


def _chosen_participant(request: HttpRequest, project: Project) -> Participant | None:
    return chosen_participant(project, parse_number(request.GET.get("participant")))


def _chosen_import(request: HttpRequest, project: Project) -> Job | None:
    try:
        import_id = UUID(request.GET.get("import_job", ""))
    except ValueError:
        return None
    return Job.objects.filter(pk=import_id, project=project, kind="import").first()


def _page(
    rows: QuerySet[Dialogue], words: str, before: str | None, sorting: Sorting
) -> tuple[KeysetPage[Dialogue], int | None]:
    """A page of the list. A search covers a bounded number of dialogues; also returns the id that it reached."""
    key = parse_number(before)
    floor = None
    if words:
        rows, floor = search_dialogues(rows, words, key)
    page = sorted_page(annotate_opening(rows), sorting, before)
    if floor is not None and not page.before:
        return replace(page, before=str(floor)), floor
    return page, None


@dataclass(frozen=True, slots=True)
class UtteranceRow:
    """An utterance with its candidates. changes: from the candidate that it was written from.

    candidates: (text, is it the source, model version). is_other: every second speaker has another shade.
    """

    utterance: Utterance
    candidates: list[tuple[str, bool, str]]
    changes: list[Piece]
    is_other: bool


@login_required
@require_safe
def dialogue_page(request: HttpRequest, slug: str, dialogue_id: int) -> HttpResponse:
    """`?from=`: the position of the first utterance; shows UTTERANCES_SHOWN at a time."""
    user = signed_in(request)
    project = project_for(user, slug)
    granted = capabilities_of(user, project)
    reads_all = Capability.READ_DIALOGUES in granted
    dialogue = dialogue_for(user, dialogue_id) if reads_all else labelled_by(user, project, dialogue_id)
    if dialogue.project_id != project.pk:
        raise dialogue_not_found()
    begin = _position(request.GET.get("from", ""))
    utterances = utterances_of(dialogue).filter(position__gte=begin)[:UTTERANCES_SHOWN]
    end = begin + UTTERANCES_SHOWN
    history = history_of(user, dialogue)
    labels = dialogue_labels(user, dialogue, granted) if project.protocol == Protocol.LABELLING else None
    if labels and labels.shows_others:
        record_shown_labels(person=user, tasks=[labels.task.pk])
    sees_systems = project.protocol == Protocol.ASSESSMENT and Capability.READ_STATISTICS in granted
    topics = topic_names(project)
    context = {
        "project": project,
        "title": _("Dialogue %(n)d") % {"n": dialogue.pk},
        "dialogue": dialogue,
        "has_generated_id": is_content_id(dialogue.external_id),
        "shown": build_rows(list(utterances)),
        "threads_at": threads_at(user, dialogue, granted),
        "begin": begin,
        "earlier": max(0, begin - UTTERANCES_SHOWN) if begin else None,
        "later": end if dialogue.utterance_count > end else None,
        "metadata": [(name, _as_text(value)) for name, value in dialogue.metadata.items()][:METADATA_SHOWN],
        "topic_name": topics.get(dialogue.topic, dialogue.topic),
        "topic_choices": topics if Capability.CONFIGURE in granted and reads_all else {},
        "in_study": describe_study(project, [dialogue])[dialogue.pk] if sees_systems else None,
        "reads_all": reads_all,
        "may": {one.value for one in granted},
        "history": [(event, describe_event(event, topics)) for event in history.events] if reads_all else [],
        "names_people": history.names_people,
        "newer": _neighbour(dialogue, id__gt=dialogue.pk, order="id") if reads_all else None,
        "older": _neighbour(dialogue, id__lt=dialogue.pk, order="-id") if reads_all else None,
        "imported": _readable_import(request, dialogue),
        "dialogue_lang": dialogue.language or content_language(project),
        **(_describe_labels(labels, begin) if labels else {}),
    }
    return render(request, "data/dialogues/dialogue.html", context)


def threads_at(user: User, dialogue: Dialogue, granted: Set[Capability]) -> dict[int, list[Thread]]:
    """The threads about single utterances that the user may read, by position; at most THREADS_SHOWN."""
    rows = visible_threads(user, dialogue.project, granted=granted)
    rows = rows.filter(dialogue=dialogue, position__isnull=False)
    by_position: dict[int, list[Thread]] = {}
    for thread in rows.order_by("created_at")[:THREADS_SHOWN]:
        by_position.setdefault(cast(int, thread.position), []).append(thread)
    return by_position


def labelled_by(user: User, project: Project, dialogue_id: int) -> Dialogue:
    """A dialogue that the user labelled. Authors read their dialogues in the workbench instead."""
    if project.protocol != Protocol.LABELLING:
        project_for(user, project.slug, Capability.READ_DIALOGUES)  # refuses
    dialogue = Dialogue.objects.select_related("project").filter(pk=dialogue_id, project=project).first()
    if dialogue is None or not has_labelled(user, dialogue):
        raise dialogue_not_found()
    return dialogue


def _describe_labels(labels: DialogueLabels, begin: int) -> dict[str, Any]:
    """The context of dialogues/labels.html, people.html and utterance.html."""
    if labels.schema is None:
        return {"labels": labels, "people": [], "was_returned": was_returned(labels.task)}
    words, speakers = LabelsInWords(labels, load_schema(labels.schema)), speakers_in(labels.task.dialogue_id)
    shown = range(begin, min(begin + UTTERANCES_SHOWN, len(speakers)))
    differing = words.positions_with_differences()
    return {
        "labels": labels,
        "judged": describe_judged_label(labels.task) if labels.final else None,
        "origin": describe_origin(labels.final, labels) if labels.final else "",
        "rows": words.for_dialogue(),
        "utterance_labels": {position: words.for_utterance(position, speakers) for position in shown},
        "has_runs": words.runs is not None,
        "differing": [
            (at + 1, at // UTTERANCES_SHOWN * UTTERANCES_SHOWN) for at in differing[:DIFFERENCES_SHOWN]
        ],
        "more_differing": max(0, len(differing) - DIFFERENCES_SHOWN),
        "people": words.people(),
        "threads": Thread.objects.filter(dialogue=labels.task.dialogue_id).count(),
    }


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _position(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 0


def _neighbour(dialogue: Dialogue, *, order: str, **beyond: int) -> int | None:
    rows = Dialogue.objects.filter(project=dialogue.project_id, **beyond).order_by(order)
    return rows.values_list("pk", flat=True).first()


def _readable_import(request: HttpRequest, dialogue: Dialogue) -> Job | None:
    """The import that the dialogue came from, if the user may see imports."""
    user = signed_in(request)
    if dialogue.import_job_id is None or Capability.IMPORT not in capabilities_of(user, dialogue.project):
        return None
    return import_for(user, dialogue.import_job_id)


def build_rows(utterances: list[Utterance]) -> list[UtteranceRow]:
    speakers = list(dict.fromkeys(utterance.speaker for utterance in utterances))
    return [_build_row(utterance, bool(speakers.index(utterance.speaker) % 2)) for utterance in utterances]


def _build_row(utterance: Utterance, is_other: bool) -> UtteranceRow:
    candidate_set = utterance.candidate_set
    candidates = candidate_set.candidates if candidate_set else []
    texts = [candidate["text"] for candidate in candidates]
    source = utterance.source if utterance.source is not None and utterance.source < len(texts) else None
    changed = source is not None and texts[source] != utterance.text
    return UtteranceRow(
        utterance=utterance,
        candidates=[
            (one["text"], place == source, one.get("model_version", ""))
            for place, one in enumerate(candidates)
        ],
        changes=diff_texts(texts[source], utterance.text) if changed and source is not None else [],
        is_other=is_other,
    )


def describe_event(event: Event, topics: Mapping[str, str]) -> str:
    """An event in words. The page shows its states as badges. topics: names by id."""
    if event.kind == "topic":
        topic = event.data["topic"]
        return _("Topic: %(name)s") % {"name": topics.get(topic, topic) or _("No topic")}
    kinds = {
        "state": _("Now:"),
        "review": _("Review:"),
        "verdict": _("An expert judged it"),
        "reset": _("Started again"),
        "restore": _("Brought back"),
    }
    return kinds.get(event.kind, event.kind)


urlpatterns = [
    path("p/<slug:slug>/dialogues/", dialogue_list, name="dialogues"),
    path("p/<slug:slug>/dialogues/<int:dialogue_id>/", dialogue_page, name="dialogue"),
]
