"""From rows to the batches of a forward pass: fuller rows save padding, a token budget bounds the memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from preference.training.common.shared_context.rows import Row

# Tokens up to which rows are filled. Joining trees saves padding; beyond this the dense mask costs more than it saves.
ROW_TOKENS = 1024


@dataclass(slots=True)
class RowGroup:
    """Rows that must be in one batch, because their results are compared. numbers: of what they stand for."""

    rows: list[Row] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    @property
    def longest(self) -> int:
        """Tokens of the longest row."""
        return max(row.tokens for row in self.rows)


def fill_rows(groups: Sequence[RowGroup], row_tokens: int) -> list[RowGroup]:
    """Join groups of one row each into rows of at most `row_tokens`: first fit, the longest first.

    First-fit decreasing uses at most about 11/9 of the fewest possible rows (Johnson, 1973). A row that is longer than
    row_tokens stays alone. Joined trees do not see each other.
    """
    filled: list[RowGroup] = []
    for group in sorted(groups, key=lambda group: -group.longest):
        target = next((other for other in filled if other.longest + group.longest <= row_tokens), None)
        if target is None:
            target = RowGroup([Row(stem=group.rows[0].stem)])
            filled.append(target)
        target.rows[0].join(group.rows[0])
        target.numbers += group.numbers
    return filled


def group_by_budget(groups: Sequence[RowGroup], budget: int) -> Iterator[list[RowGroup]]:
    """Groups of about the same length, as many as fit into `budget` tokens when padded to the longest of them.

    The longest come first, so that a run that lacks memory fails in its first forward pass, not after an hour. A group
    that exceeds the budget is yielded alone.
    """
    batch: list[RowGroup] = []
    rows = longest = 0
    for group in sorted(groups, key=lambda group: -group.longest):
        if batch and (rows + len(group.rows)) * longest > budget:
            yield batch
            batch, rows = [], 0
        longest = longest if batch else group.longest
        rows += len(group.rows)
        batch.append(group)
    if batch:
        yield batch
