"""UCH, AUCH and CUCH of the helpdesk dialogues of a project."""

import json
from argparse import RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.labelling.models.labels import LabellingSettings
from annotation.labelling.selectors.helpdesk import (
    longest_dialogue_length,
    nugget_collection,
    scores_by_dialogue,
)
from common.refusals import Refusal
from measures.helpdesk import ALPHA
from measures.helpdesk_collection import Collection, Scores

EPILOG = """UC and UH sum the gains of the customer's and the helpdesk's nuggets, each discounted by
max(0, 1 - position / L); UCH = (1 - alpha) UC + alpha UH. A goal nugget gains 1 + the gains of its side's others;
only the first goal nugget of a side counts. AUCH is the mean of the annotators' UCH, CUCH the UCH of their majority
labels (a tie is not a nugget). Positions and L are in characters of the utterances, without separators.

With --json: {"L", "alpha", "position", "dialogues": [{"id", "auch", "cuch", "spare_goals",
"annotators": [{"annotator", "uc", "uh", "uch"}]}]} on standard output; spare_goals: goal nuggets that did not count.

Example:
  manage.py uch helpdesk --patience 916 --alpha 0.5 --json
"""


class Command(BaseCommand):
    help = "Compute UCH, AUCH and CUCH of a project with nugget labels."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EPILOG
        parser.add_argument("project", metavar="PROJECT", help="short name of the project")
        parser.add_argument(
            "--patience",
            type=float,
            metavar="L",
            help="in characters (default: the project's longest dialogue)",
        )
        parser.add_argument(
            "--alpha",
            type=float,
            default=ALPHA,
            metavar="A",
            help="share of the helpdesk, 0 to 1 (default: 0.5)",
        )
        parser.add_argument(
            "--position",
            choices=["start", "end"],
            default="start",
            help="of a nugget: before its first or after its last character (default: start)",
        )
        parser.add_argument("--json", action="store_true", help="machine-readable")

    def handle(self, *args: Any, **options: Any) -> None:
        found = LabellingSettings.objects.select_related("project", "schema")
        settings = found.filter(project__slug=options["project"]).first()
        if settings is None:
            raise CommandError(f"There is no labelling project “{options['project']}”.")
        patience = options["patience"]
        if patience is None:
            patience = longest_dialogue_length(settings.project)
        try:
            collection = nugget_collection(settings.project, options["position"])
            scores = collection.score(patience=patience, alpha=options["alpha"])
        except (Refusal, ValueError) as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            about = {"L": scores.patience, "alpha": scores.alpha, "position": options["position"]}
            self.stdout.write(
                json.dumps(
                    {**about, "dialogues": scores_by_dialogue(collection, scores)},
                    ensure_ascii=False,
                    allow_nan=False,
                )
            )
        else:
            for line in _table(collection, scores):
                self.stdout.write(line)


def _table(collection: Collection, scores: Scores) -> list[str]:
    rows = [f"L = {scores.patience:g}, alpha = {scores.alpha:g}, {len(collection.ids)} dialogues"]
    for name, auch, cuch in zip(collection.ids, scores.auch, scores.cuch, strict=True):
        rows.append(f"{name}  AUCH {_number(auch)}  CUCH {_number(cuch)}")
    return rows


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
