"""What a plan of batch review does: how many labels have to be right, and which batches it accepts how often."""

import json
from argparse import RawDescriptionHelpFormatter
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from measures.acceptance import acceptance_number, batch_accuracy, exact, operating_characteristic, passes

ACCURACIES = [Fraction(percent, 100) for percent in range(80, 101)]
EPILOG = """A sample of a batch is drawn without replacement; the batch is accepted when at least the acceptance number
of it is right. The curve is the operating characteristic: the probability that a batch of each true accuracy is
accepted, by the hypergeometric distribution. low and high: the exact 95 % interval of the accuracy of a batch in whose
sample so many were right. Thresholds for single classes are not in it.

With --json: {"acceptance_number", "curve": [{"accuracy", "probability"}]} on standard output, for accuracies from 0.80
to 1.00; with --correct also "accepted", "low" and "high".

Example:
  manage.py acceptance_plan --population 2000 --sample 100 --threshold 0.92 --json --correct 92
"""


def share(text: str) -> Decimal:
    """Exactly as it is written."""
    try:
        value = Decimal(text)
        exact(value)
    except (InvalidOperation, ValueError, OverflowError) as error:
        raise ValueError(text) from error
    return value


class Command(BaseCommand):
    help = "Say which batches a sample accepts: the acceptance number and the operating characteristic."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EPILOG
        parser.add_argument(
            "--population", type=int, default=2000, metavar="N", help="dialogues of the batch"
        )
        parser.add_argument("--sample", type=int, default=100, metavar="N", help="dialogues drawn")
        parser.add_argument("--threshold", type=share, default=Decimal("0.92"), metavar="T", help="0 to 1")
        parser.add_argument("--correct", type=int, metavar="N", help="right ones in the sample")
        parser.add_argument("--json", action="store_true", help="machine-readable")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            told = plan(options["population"], options["sample"], options["threshold"], options["correct"])
        except ValueError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(told, allow_nan=False))
            return
        self.stdout.write(f"acceptance number: {told['acceptance_number']} of {options['sample']}")
        if options["correct"] is not None:
            said = "accepted" if told["accepted"] else "returned"
            self.stdout.write(
                f"{options['correct']} right: {said}; 95 % interval {told['low']:.4f} to {told['high']:.4f}"
            )
        for point in told["curve"]:
            self.stdout.write(
                f"accuracy {point['accuracy']:.2f}  accepted with probability {point['probability']:.4f}"
            )


def plan(population: int, sample: int, threshold: Decimal, correct: int | None) -> dict[str, Any]:
    """Raises ValueError for what cannot be drawn."""
    curve = operating_characteristic(population, sample, threshold, ACCURACIES)
    told: dict[str, Any] = {
        "acceptance_number": acceptance_number(sample, threshold),
        "curve": [{"accuracy": point.accuracy, "probability": point.probability} for point in curve],
    }
    if correct is not None:
        found = batch_accuracy(correct, sample, population)
        told |= {"accepted": passes(correct, sample, threshold), "low": found.low, "high": found.high}
    return told
