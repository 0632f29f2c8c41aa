"""Which dialogues an export takes, and how they are read."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Case, CharField, Count, Exists, OuterRef, Q, QuerySet, Value, When

from annotation.models import Batch, FinalLabel, RoundState
from dialogues.models import Dialogue, DialogueState, ReviewState, Split, Utterance
from projects.models import Project, Protocol

READ_AT_ONCE = 100  # dialogues
UTTERANCES_AT_ONCE = 2000
SPOKEN = ("dialogue_id", "position", "speaker", "text")
ORIGIN = ("time", "metadata", "action", "source", "edit_distance")
WHOLE = (*SPOKEN, *ORIGIN, "candidate_set__candidates", "candidate_set__model_version")


@dataclass(frozen=True, slots=True)
class Filters:
    """What was asked for. Only what experts passed leaves by default; vetoed dialogues never do."""

    splits: tuple[str, ...] = tuple(Split.values)
    include_unreviewed: bool = False

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "splits": list(self.splits)}

    def review_states(self) -> list[str]:
        return [ReviewState.PASSED, *([ReviewState.UNREVIEWED] if self.include_unreviewed else [])]


@dataclass(frozen=True, slots=True)
class Selection:
    """The finished dialogues of a project that the filters let through, in the order of their ids.

    They are read page by page, each in queries of its own, so that no transaction stays open while a file is written.
    `last_id` closes the selection: what is made during the export does not slip in.
    """

    project: Project
    filters: Filters
    last_id: int

    def dialogues(self) -> QuerySet[Dialogue]:
        """In the order in which they leave."""
        return Dialogue.objects.filter(
            accepted(self.project, self.filters),
            project=self.project,
            state=DialogueState.FINISHED,
            split__in=self.filters.splits,
            id__lte=self.last_id,
        ).order_by("id")

    def pages(self) -> Iterator[list[Dialogue]]:
        """READ_AT_ONCE dialogues at a time, fewer where they are long."""
        after = 0
        while rows := list(self.dialogues().filter(id__gt=after)[:READ_AT_ONCE]):
            page = _beginning(rows)
            yield page
            after = page[-1].pk

    def utterances(
        self, page: Sequence[Dialogue], *, candidates: bool = True, whole: bool = False
    ) -> dict[int, list[Utterance]]:
        """The utterances of every dialogue of a page, in order, with their candidates if wanted; one query.

        whole: with time and metadata, too, where candidates are not wanted.

        A dialogue that its author took back, or an expert vetoed, since the page was read is absent: asking for it in
        the same statement means that no half of a dialogue is ever read.
        """
        still = self.dialogues().filter(id__in=[dialogue.pk for dialogue in page]).order_by()
        rows = Utterance.objects.filter(dialogue__in=still)
        # Only what the shapes read: parsing the JSON of the rest would take a third of an export.
        if candidates:
            rows = rows.select_related("candidate_set").only(*WHOLE)
        else:
            rows = rows.only(*SPOKEN, *(ORIGIN if whole else ()))
        by_dialogue: dict[int, list[Utterance]] = defaultdict(list)
        for utterance in rows.order_by("dialogue_id", "position"):
            by_dialogue[utterance.dialogue_id].append(utterance)
        return by_dialogue


def accepted(project: Project, filters: Filters) -> Q:
    """What experts passed; in labelling, what has a final label, and where there are batches, in an accepted one.

    All that is not vetoed where that was asked for.
    """
    if project.protocol == Protocol.LABELLING:
        final = FinalLabel.objects.filter(dialogue=OuterRef("pk"), superseded_at=None)
        if Batch.objects.filter(project=project).exists():
            final = final.filter(task__round__state=RoundState.ACCEPTED)
        return Q(pk__isnull=False) if filters.include_unreviewed else Q(Exists(final))
    return Q(review_state__in=filters.review_states())


def _beginning(rows: list[Dialogue]) -> list[Dialogue]:
    """As many as hold UTTERANCES_AT_ONCE together; at least one."""
    total = 0
    for place, dialogue in enumerate(rows):
        total += dialogue.utterance_count
        if total > UTTERANCES_AT_ONCE and place:
            return rows[:place]
    return rows


def select(project: Project, filters: Filters) -> Selection:
    """The selection as it is now."""
    newest = Dialogue.objects.filter(project=project).order_by("-id").values_list("id", flat=True).first()
    return Selection(project, filters, newest or 0)


@dataclass(frozen=True, slots=True)
class Preview:
    """How many dialogues would leave, and why the others would not; each is counted once."""

    leaving: int = 0
    writing: int = 0
    abandoned: int = 0
    vetoed: int = 0
    unreviewed: int = 0
    other_split: int = 0

    @property
    def total(self) -> int:
        return sum(asdict(self).values())

    @property
    def staying(self) -> int:
        return self.total - self.leaving


def preview(project: Project, filters: Filters) -> Preview:
    """What an export with these filters would take; one query."""
    why = Case(
        When(state=DialogueState.WRITING, then=Value("writing")),
        When(state=DialogueState.ABANDONED, then=Value("abandoned")),
        When(review_state=ReviewState.VETOED, then=Value("vetoed")),
        When(~accepted(project, filters), then=Value("unreviewed")),
        When(split__in=filters.splits, then=Value("leaving")),
        default=Value("other_split"),
        output_field=CharField(),
    )
    counts = Dialogue.objects.filter(project=project).order_by().values(why=why).annotate(n=Count("id"))
    return Preview(**{row["why"]: row["n"] for row in counts})
