"""Check that the samples of a project's batches are what their stored seeds draw."""

from argparse import RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.batch_review.models import Sample
from annotation.batch_review.services.sample_drawing import redraw_sample

EPILOG = """A sample is drawn at random from the sealed dialogues of a batch that its controller did not label; the seed
is shown on the page of the batch. This command draws it again and compares. It exits with 1 if a sample differs: then a
label, a dialogue or the sample was changed outside Lapidary, or the account of its controller is gone.

Example:
  manage.py redraw quality --batch 3
"""


class Command(BaseCommand):
    help = "Draw the samples of a project's batches again from their seeds and compare."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EPILOG
        parser.add_argument("project", metavar="PROJECT", help="short name of the project")
        parser.add_argument("--batch", type=int, metavar="N", help="of this batch only")

    def handle(self, *args: Any, **options: Any) -> None:
        samples = Sample.objects.filter(round__project__slug=options["project"])
        if options["batch"] is not None:
            samples = samples.filter(round__batch__number=options["batch"])
        rows = samples.select_related("round__batch", "drawn_by")
        same = [self._is_same(sample) for sample in rows.order_by("round__batch__number", "round__number")]
        if not same:
            batch = "" if options["batch"] is None else f" from batch {options['batch']}"
            raise CommandError(f"No sample was drawn{batch} in project “{options['project']}”.")
        if not all(same):
            raise CommandError(
                f"{same.count(False)} of {len(same)} samples differ from what their seeds draw."
            )

    def _is_same(self, sample: Sample) -> bool:
        tasks = list(sample.items.order_by("place").values_list("task_id", flat=True))
        is_same = redraw_sample(sample) == tasks
        self.stdout.write(
            f"batch {sample.round.batch.number}, round {sample.round.number}: {len(tasks)} of {sample.population} with"
            f" the seed {sample.seed}: {'the same' if is_same else 'NOT the same'} dialogues"
        )
        return is_same
