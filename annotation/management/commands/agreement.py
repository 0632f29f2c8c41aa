"""Inter-annotator agreement of a labelling project."""

import json
from argparse import RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.labelling.models.labels import LabellingSettings
from annotation.labelling.selectors.agreement import (
    QuestionAgreement,
    agreement_by_question,
    project_agreement,
)
from measures.estimate import Estimate

EPILOG = """Questions are named as in the schema. A question with options by speaker appears once for each speaker
(nugget/customer), a multiple-choice question once for each option (reasons=incomplete). Only independent answers
count, not those changed or confirmed after seeing others' answers or the final label. Measures: percent (pairs of
annotators who agree), fleiss_kappa, randolph_kappa (κ_free), krippendorff_alpha (ordinal for scales, interval for
sliders, else nominal), and icc for sliders, which have no κ. Each has its 95 % interval and the number n of items that
at least two people answered. Options with counts_as in the schema are merged (DCH: CS 2 and 1, -2 and -1). null:
undefined, for example if everybody always gives the same answer.

With --json: {question: {measure: {"value", "low", "high", "n"}}} on standard output.

Example:
  manage.py agreement helpdesk --json
"""


class Command(BaseCommand):
    help = "Show how far the annotators of a project agree, question by question, with 95 % intervals."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EPILOG
        parser.add_argument("project", metavar="PROJECT", help="short name of the project")
        parser.add_argument("--json", action="store_true", help="machine-readable")

    def handle(self, *args: Any, **options: Any) -> None:
        found = LabellingSettings.objects.select_related("project", "schema")
        settings = found.filter(project__slug=options["project"]).first()
        if settings is None:
            raise CommandError(f"There is no labelling project “{options['project']}”.")
        if options["json"]:
            agreement = agreement_by_question(settings.project)
            self.stdout.write(json.dumps(agreement, ensure_ascii=False, allow_nan=False))
        else:
            for line in _table(project_agreement(settings.project)):
                self.stdout.write(line)


def _table(agreement: list[QuestionAgreement]) -> list[str]:
    width = max((len(row.name) for row in agreement), default=0)
    return [
        f"{row.name:<{width}}  {measure:<18}  {_format_estimate(estimate)}"
        for row in agreement
        for measure, estimate in row.measures.items()
    ]


def _format_estimate(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"undefined (n = {estimate.n})"
    interval = "" if estimate.low is None else f"  [{estimate.low:.3f}, {estimate.high:.3f}]"
    return f"{estimate.value:7.3f}{interval}  n = {estimate.n}"
