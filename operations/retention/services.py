"""Deleting leftovers by age."""

import logging
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta

from django.utils import timezone

from operations.retention.kinds import KINDS, Amount

logger = logging.getLogger(__name__)


def clean(
    ages: Mapping[str, int | None], *, only: Collection[str] = (), dry_run: bool
) -> Iterator[tuple[str, Amount]]:
    """Delete what is older than its age, kind by kind. ages: days, None for never. only: these kinds; empty: all."""
    now = timezone.now()
    for kind, clean_kind in KINDS.items():
        days = ages[kind]
        if days is None or (only and kind not in only):
            continue
        amount = clean_kind(now - timedelta(days=days), dry_run=dry_run)
        if amount.count and not dry_run:
            logger.info("deleted %s", kind, extra={"count": amount.count, "bytes": amount.bytes})
        yield kind, amount
