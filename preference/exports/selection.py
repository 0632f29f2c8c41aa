"""Which dialogues an export takes, and how they are read."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Prefetch, QuerySet

from dialogues.models import Dialogue, DialogueState, ReviewState, Split, Utterance
from projects.models import Project

READ_AT_ONCE = 200  # dialogues


@dataclass(frozen=True, slots=True)
class Filters:
    """What was asked for. Only what experts passed leaves by default; vetoed dialogues never do."""

    splits: tuple[str, ...] = tuple(Split.values)
    include_unreviewed: bool = False

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "splits": list(self.splits)}


@dataclass(frozen=True, slots=True)
class Selection:
    """The finished dialogues of a project that the filters let through, in the order of their ids.

    They are read in pages by id, each in a query of its own, so that no transaction stays open while a file is written.
    `last_id` closes the selection: what is finished during the export does not slip in.
    """

    project: Project
    filters: Filters
    last_id: int

    def dialogues(self) -> QuerySet[Dialogue]:
        states = [ReviewState.PASSED, ReviewState.UNREVIEWED] if self.filters.include_unreviewed else [ReviewState.PASSED]
        return Dialogue.objects.filter(
            project=self.project,
            state=DialogueState.FINISHED,
            review_state__in=states,
            split__in=self.filters.splits,
            id__lte=self.last_id,
        ).order_by("id")

    def pages(self) -> Iterator[Sequence[Dialogue]]:
        after = 0
        while page := list(self.dialogues().filter(id__gt=after)[:READ_AT_ONCE]):
            yield page
            after = page[-1].pk

    def with_utterances(self) -> Iterator[tuple[Dialogue, list[Utterance]]]:
        """Every dialogue with its utterances in order, their candidate sets read along: three queries a page."""
        utterances = Utterance.objects.order_by("position").select_related("candidate_set")
        after = 0
        rows = self.dialogues().prefetch_related(Prefetch("utterances", utterances, to_attr="in_order"))
        while page := list(rows.filter(id__gt=after)[:READ_AT_ONCE]):
            for dialogue in page:
                yield dialogue, dialogue.in_order
            after = page[-1].pk


def select(project: Project, filters: Filters) -> Selection:
    newest = Dialogue.objects.filter(project=project).order_by("-id").values_list("id", flat=True).first()
    return Selection(project, filters, newest or 0)
