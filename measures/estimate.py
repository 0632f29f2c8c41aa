"""The result of a measure: a value, its confidence interval, and the number of items it is based on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval, from n items. left_out: number of items that could not be used.

    value is None if the measure is undefined; low and high are None if there is no interval.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    left_out: int = 0

    def as_dict(self) -> dict[str, float | int | None]:
        """The form of every estimate in `--json` output."""
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n}


def undefined(n: int, left_out: int = 0) -> Estimate:
    return Estimate(None, None, None, n, left_out)
