"""What a measure answers: a value, how sure one can be of it, and how much it rests on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval, from n items; left_out items could not be used.

    value is None where the measure is undefined; low and high are None where no interval can be told.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    left_out: int = 0

    def as_dict(self) -> dict[str, float | int | None]:
        """The shape of every `--json` answer."""
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n}


def undefined(n: int, left_out: int = 0) -> Estimate:
    return Estimate(None, None, None, n, left_out)
