"""The acceptance number of a batch review plan, and how often it accepts a batch of a given accuracy."""

import json
from argparse import RawDescriptionHelpFormatter
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from measures.acceptance import (
    acceptance_number,
    batch_accuracy,
    exact_fraction,
    operating_characteristic,
    passes,
)

ACCURACIES = [Fraction(percent, 100) for percent in range(80, 101)]
EPILOG = """A sample of a batch is drawn without replacement. The batch is accepted if at least the acceptance number of
labels in the sample is correct. The curve is the operating characteristic: the probability that a batch is accepted,
by its true accuracy (hypergeometric distribution). low and high: the exact 95 % interval of the accuracy of a batch
with --correct correct labels in the sample. Thresholds for single classes are not considered.

With --json: {"acceptance_number", "curve": [{"accuracy", "probability"}]} on standard output, for accuracies from 0.80
to 1.00; with --correct also "accepted", "low" and "high".

Example:
  manage.py acceptance_plan --population 2000 --sample 100 --threshold 0.92 --json --correct 92
"""


def exact_share(text: str) -> Decimal:
    """Parse a number from 0 to 1 without rounding."""
    try:
        value = Decimal(text)
        exact_fraction(value)
    except (InvalidOperation, ValueError, OverflowError) as error:
        raise ValueError(text) from error
    return value


class Command(BaseCommand):
    help = "Show which batches a sample accepts: the acceptance number and the operating characteristic."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EPILOG
        parser.add_argument(
            "--population", type=int, default=2000, metavar="N", help="dialogues of the batch"
        )
        parser.add_argument("--sample", type=int, default=100, metavar="N", help="dialogues drawn")
        parser.add_argument(
            "--threshold", type=exact_share, default=Decimal("0.92"), metavar="T", help="0 to 1"
        )
        parser.add_argument("--correct", type=int, metavar="N", help="correct labels in the sample")
        parser.add_argument("--json", action="store_true", help="machine-readable")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            result = acceptance_plan(
                options["population"], options["sample"], options["threshold"], options["correct"]
            )
        except ValueError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(result, allow_nan=False))
            return
        self.stdout.write(f"acceptance number: {result['acceptance_number']} of {options['sample']}")
        if options["correct"] is not None:
            verdict = "accepted" if result["accepted"] else "returned"
            self.stdout.write(
                f"{options['correct']} right: {verdict}; 95 % interval {result['low']:.4f} to {result['high']:.4f}"
            )
        for point in result["curve"]:
            self.stdout.write(
                f"accuracy {point['accuracy']:.2f}  accepted with probability {point['probability']:.4f}"
            )


def acceptance_plan(population: int, sample: int, threshold: Decimal, correct: int | None) -> dict[str, Any]:
    """Raises ValueError if the sample cannot be drawn from the batch."""
    curve = operating_characteristic(population, sample, threshold, ACCURACIES)
    result: dict[str, Any] = {
        "acceptance_number": acceptance_number(sample, threshold),
        "curve": [{"accuracy": point.accuracy, "probability": point.probability} for point in curve],
    }
    if correct is not None:
        found = batch_accuracy(correct, sample, population)
        result |= {"accepted": passes(correct, sample, threshold), "low": found.low, "high": found.high}
    return result
