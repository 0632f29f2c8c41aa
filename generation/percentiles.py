"""Percentiles, computed by the database."""

from collections.abc import Sequence
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import Aggregate, FloatField


class Percentiles(Aggregate):
    """percentile_cont at several shares between 0 and 1, interpolated; sorts the values once. None without values."""

    function = "PERCENTILE_CONT"
    template = "%(function)s(ARRAY[%(shares)s]) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = ArrayField(FloatField())

    def __init__(self, expression: str, shares: Sequence[float], **extra: Any) -> None:
        super().__init__(expression, shares=", ".join(f"{share:g}" for share in shares), **extra)
