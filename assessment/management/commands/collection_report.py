"""Write the report of a collection, as tables or as JSON."""

import json
from argparse import RawDescriptionHelpFormatter
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from assessment.collections.models import Collection
from assessment.collections.selectors.report import CollectionReport, collection_report
from assessment.collections.selectors.verdict import display_name, verdict_sentences
from assessment.collections.serializers import serialize_report
from measures.estimate import Estimate

EPILOG = """Scores are means over the elected answers (the majority, or the median without one); [low, high] is the 95 %
interval, which resamples dialogues. Agreement is Fleiss' kappa. The p of the verdict is two-sided and adjusted for the
number of pairs (Holm). Exit code: 0 report written, 1 no such collection.
"""


class Command(BaseCommand):
    help = "Report how raters judge the dialogues of a collection."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EPILOG
        parser.add_argument("id", metavar="ID", type=UUID, help="of the collection")
        parser.add_argument("--json", action="store_true", help="write one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        collection = Collection.objects.select_related("target__labelling").filter(pk=options["id"]).first()
        if collection is None:
            raise CommandError(_("There is no collection %(id)s.") % {"id": options["id"]})
        report = collection_report(collection)
        if options["json"]:
            self.stdout.write(json.dumps(serialize_report(report), ensure_ascii=False, allow_nan=False))
            return
        for sentence in verdict_sentences(report):
            self.stdout.write(sentence)
        self._write_table(report)

    def _write_table(self, report: CollectionReport) -> None:
        names = [criterion.name for criterion in report.criteria]
        cells = [["", _("rated"), *names]]
        for row in report.systems:
            scores = [_score(row.scores[name]) for name in names]
            cells.append([display_name(row.system), str(row.rated), *scores])
        agreement = [_number(criterion.agreement.value, 3) for criterion in report.criteria]
        cells.append(["Fleiss' κ", "", *agreement])
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        self.stdout.write("")
        for first, *others in cells:
            aligned = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
            self.stdout.write("  ".join([first.ljust(widths[0]), *aligned]))


def _score(score: Estimate) -> str:
    return f"{_number(score.value, 3)} [{_number(score.low, 2)}, {_number(score.high, 2)}]"


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
