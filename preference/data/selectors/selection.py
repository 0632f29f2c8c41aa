"""Which dialogues an export takes, and reading them."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from django.db.models import (
    Case,
    CharField,
    Count,
    Exists,
    F,
    Func,
    OuterRef,
    Q,
    QuerySet,
    TextField,
    Value,
    When,
)  # fmt: skip
from django.db.models.functions import Cast, Coalesce, NullIf

from annotation.labelling.models.labels import FinalLabel
from annotation.tasks.models.rounds import Batch, RoundState
from dialogues.models import Action, Dialogue, DialogueState, ReviewState, Split, Utterance
from preference.data.models.exports import FormatName
from projects.models import DialogueLanguage, Project, Protocol

READ_AT_ONCE = 400  # dialogues
UTTERANCES_AT_ONCE = 2000
UNREAD = (
    "created_at",
    "finished_at",
    "import_job",
    "topic_probability",
    "topic_job",
)  # of a dialogue; no format has them
SPOKEN = ("dialogue_id", "position", "speaker", "text")
ORIGIN = ("time", "metadata", "action", "source", "edit_distance", "action_derived")
WHOLE = (*SPOKEN, *ORIGIN, "candidate_set__candidates", "candidate_set__model_version")
# Final labels of private data (-1, -2) and of abandoned dialogues: no training data (DiQAD, Table 1).
WITHHELD = (-1, -2, "phone")
FROM_CANDIDATES = (Action.SELECT, Action.REVISE)


class UtteranceText(NamedTuple):
    """An utterance without its provenance. metadata, model_version: empty unless requested.

    model_version: of the candidate that was selected or revised; "" if there is none, or it is unknown.
    """

    dialogue_id: int
    position: int
    speaker: str
    text: str
    metadata: Mapping[str, Any] = MappingProxyType({})
    model_version: str = ""


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of an export. By default only dialogues that experts passed leave; vetoed ones never do.

    include_withheld: in the format diqad, also dialogues whose final label is in WITHHELD. run: of a study, only this
    one. least_score: of a study, the mean score from which on a conversation is used for training; None: the default.
    """

    splits: tuple[str, ...] = tuple(Split.values)
    include_unreviewed: bool = False
    include_withheld: bool = False
    run: int | None = None
    least_score: float | None = None

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Filters":
        """From as_json(), also from before `include_withheld` existed."""
        return cls(**{**stored, "splits": tuple(stored["splits"])})

    def as_json(self) -> dict[str, Any]:
        """Without `run` and `least_score` where they are not chosen."""
        chosen = {name: value for name, value in asdict(self).items() if value is not None}
        return {**chosen, "splits": list(self.splits)}

    def review_states(self) -> list[str]:
        return [ReviewState.PASSED, *([ReviewState.UNREVIEWED] if self.include_unreviewed else [])]


@dataclass(frozen=True, slots=True)
class Selection:
    """The finished dialogues of a project that the filters let through, in the order of their ids.

    Pages are read in separate queries, so that no transaction stays open while a file is written. last_id: newer
    dialogues are not part of the selection. left_out: dialogues that a format withholds, counted by final label while
    it writes.
    """

    project: Project
    filters: Filters
    last_id: int
    has_batches: bool = False
    left_out: Counter[str] = field(default_factory=Counter, compare=False)

    def dialogues(self, after: int = 0, last: int | None = None) -> QuerySet[Dialogue]:
        """In the order of the export; only ids above `after`, up to `last`."""
        last = self.last_id if last is None else last
        return Dialogue.objects.filter(
            accepted_dialogues(self.project, self.filters, after, last, has_batches=self.has_batches),
            project=self.project,
            state=DialogueState.FINISHED,
            split__in=self.filters.splits,
            id__gt=after,
            id__lte=last,
        ).order_by("id")

    def count(self) -> int:
        return self.dialogues().count()

    def count_unlabelled(self) -> int:
        """How many have no final label, in a labelling project."""
        final = FinalLabel.objects.filter(dialogue=OuterRef("pk"), superseded_at=None)
        return self.dialogues().filter(~Exists(final)).count()

    def dialogue_count(self, page: Sequence[Any]) -> int:
        return len(page)

    def pages(self) -> Iterator[list[Dialogue]]:
        """READ_AT_ONCE dialogues at a time, fewer if they are long."""
        after = 0
        while rows := list(self.dialogues(after).defer(*UNREAD)[:READ_AT_ONCE]):
            page = _limit_utterances(rows)
            yield page
            after = page[-1].pk

    def utterances(self, page: Sequence[Dialogue]) -> dict[int, list[Utterance]]:
        """The utterances of every dialogue of a page, in order, with their candidates; one query.

        A dialogue that was reopened or vetoed since the page was read is absent: the statement checks it again, so that
        half a dialogue is never read.
        """
        # Only what the formats need: parsing the other JSON would take a third of an export.
        rows = self._still_selected(page).select_related("candidate_set").only(*WHOLE)
        by_dialogue: dict[int, list[Utterance]] = defaultdict(list)
        for utterance in rows:
            by_dialogue[utterance.dialogue_id].append(utterance)
        return by_dialogue

    def texts(self, page: Sequence[Dialogue], *, metadata: bool = False) -> dict[int, list[UtteranceText]]:
        """Like utterances(), but only speaker and text, with metadata if requested; four times as fast."""
        by_dialogue: dict[int, list[UtteranceText]] = defaultdict(list)
        if not metadata:
            for row in self._still_selected(page).values_list(*SPOKEN):
                by_dialogue[row[0]].append(UtteranceText(*row))
            return by_dialogue
        # Cast to text, because most are empty and need no parsing.
        rows = self._still_selected(page).values_list(*SPOKEN, Cast("metadata", TextField()))
        for dialogue, position, speaker, text, kept in rows:
            about = {} if kept == "{}" else json.loads(kept)
            by_dialogue[dialogue].append(UtteranceText(dialogue, position, speaker, text, about))
        return by_dialogue

    def texts_with_versions(self, page: Sequence[Dialogue]) -> dict[int, list[UtteranceText]]:
        """Like texts(), with the model version of every utterance; PostgreSQL takes it out of the candidates."""
        by_dialogue: dict[int, list[UtteranceText]] = defaultdict(list)
        rows = self._still_selected(page).values_list(*SPOKEN, _version_of_source())
        for dialogue, position, speaker, text, version in rows:
            by_dialogue[dialogue].append(
                UtteranceText(dialogue, position, speaker, text, model_version=version)
            )
        return by_dialogue

    def _still_selected(self, page: Sequence[Dialogue]) -> QuerySet[Utterance]:
        first, last = page[0].pk, page[-1].pk
        still = (
            self.dialogues(first - 1, last).filter(id__any_of=[dialogue.pk for dialogue in page]).order_by()
        )
        # Without its own bounds, PostgreSQL may walk the index of utterances from the first one to this page.
        near = Utterance.objects.filter(dialogue_id__gte=first, dialogue_id__lte=last)
        return near.filter(dialogue__in=still).order_by("dialogue_id", "position")


def _version_of_source() -> Case:
    """CandidateSet.version_of in SQL, for replies that were selected or revised."""
    own = Func(
        F("candidate_set__candidates"),
        Cast("source", TextField()),
        Value("model_version"),
        function="jsonb_extract_path_text",
    )
    version = Coalesce(NullIf(own, Value("")), F("candidate_set__model_version"), output_field=TextField())
    chosen = When(action__in=FROM_CANDIDATES, candidate_set__isnull=False, source__isnull=False, then=version)
    return Case(chosen, default=Value(""), output_field=TextField())


def accepted_dialogues(
    project: Project, filters: Filters, after: int = 0, last: int | None = None, *, has_batches: bool
) -> Q:
    """Dialogues that experts passed; in labelling, those with a final label, in an accepted batch if there are batches.

    With include_unreviewed, all that are not vetoed. after, last: the range of ids that the caller reads, so that
    PostgreSQL reads final labels of that range only.
    """
    if project.protocol == Protocol.LABELLING:
        near = Q(dialogue_id__gt=after) & (Q() if last is None else Q(dialogue_id__lte=last))
        final = FinalLabel.objects.filter(near, dialogue=OuterRef("pk"), superseded_at=None)
        if has_batches:
            final = final.filter(task__round__state=RoundState.ACCEPTED)
        return Q(pk__isnull=False) if filters.include_unreviewed else Q(Exists(final))
    return Q(review_state__in=filters.review_states())


def _limit_utterances(rows: list[Dialogue]) -> list[Dialogue]:
    """The first dialogues with at most UTTERANCES_AT_ONCE utterances in all; at least one."""
    total = 0
    for place, dialogue in enumerate(rows):
        total += dialogue.utterance_count
        if total > UTTERANCES_AT_ONCE and place:
            return rows[:place]
    return rows


def has_batches(project: Project) -> bool:
    """Whether labels of the project must be accepted in a batch before they are exported."""
    return Batch.objects.filter(project=project).exists()


def select(project: Project, filters: Filters) -> Selection:
    """The selection at this moment."""
    newest = Dialogue.objects.filter(project=project).order_by("-id").values_list("id", flat=True).first()
    return Selection(project, filters, newest or 0, has_batches=has_batches(project))


@dataclass(frozen=True, slots=True)
class Preview:
    """How many dialogues would be exported, and why the others would not; each is counted once."""

    leaving: int = 0
    writing: int = 0
    abandoned: int = 0
    vetoed: int = 0
    unreviewed: int = 0
    other_split: int = 0
    withheld: int = 0

    @property
    def total(self) -> int:
        return sum(asdict(self).values())

    @property
    def left_out(self) -> int:
        return self.total - self.leaving


def preview(project: Project, filters: Filters, format: str = "") -> Preview:
    """What an export with these filters would take; one query. format: some withhold dialogues."""
    withheld = Q(pk__in=[])
    if format == FormatName.DIQAD and not filters.include_withheld:
        finals = FinalLabel.objects.filter(dialogue=OuterRef("pk"), superseded_at=None)
        withheld = Q(Exists(finals.filter(answers__dialogue__quality__in=WITHHELD)))
    why = Case(
        When(state=DialogueState.WRITING, then=Value("writing")),
        When(state=DialogueState.ABANDONED, then=Value("abandoned")),
        When(review_state=ReviewState.VETOED, then=Value("vetoed")),
        When(
            ~accepted_dialogues(project, filters, has_batches=has_batches(project)), then=Value("unreviewed")
        ),
        When(withheld & Q(split__in=filters.splits), then=Value("withheld")),
        When(split__in=filters.splits, then=Value("leaving")),
        default=Value("other_split"),
        output_field=CharField(),
    )
    counts = Dialogue.objects.filter(project=project).order_by().values(why=why).annotate(n=Count("id"))
    return Preview(**{row["why"]: row["n"] for row in counts})


def default_language(project: Project) -> str:
    """Of dialogues that name none; "" in a project of several languages."""
    return "" if project.language == DialogueLanguage.MIXED else project.language
