"""What bars, dots and points of a line show."""

from collections.abc import Sequence
from dataclasses import dataclass

from plots.axes import Scale, fit_signed_scale


@dataclass(frozen=True, slots=True)
class Mark:
    """A bar, dot or point: its value, its tooltip and, if known, the 95 % interval of the value.

    is_faint: the value rests on too little to say much; its dot or bar is grey, a part of a stacked bar pale.
    axis_top: the axis reaches at least this value, so that small values look small.
    """

    value: float
    title: str
    interval: tuple[float, float] | None = None
    is_faint: bool = False
    axis_top: float = 0.0

    @property
    def low(self) -> float:
        return self.interval[0] if self.interval else self.value

    @property
    def high(self) -> float:
        return self.interval[1] if self.interval else self.value


def fit_marks(marks: Sequence[Mark]) -> Scale:
    lowest = min([mark.low for mark in marks], default=0.0)
    return fit_signed_scale(lowest, max([max(mark.high, mark.axis_top) for mark in marks], default=0.0))
