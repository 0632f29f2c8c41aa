"""Write the report of an assessment project's runs, as tables or as JSON."""

import json
from argparse import RawDescriptionHelpFormatter
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from assessment.report.selectors.run_report import RunPair, RunReport, project_reports, replications
from assessment.report.serializers import serialize_report
from measures.system_scores import OVERALL, SystemScores
from projects.models import Project, Protocol

EPILOG = """Scores are standardised for each participant and averaged over the participants who pass the reliability
test; [low, high] is the 95 % interval of the overall score. n: ratings. The p of the pairwise tests is one-sided
(Mann-Whitney on the means of dialogues). Exit code: 0 report written, 1 no such project or run.
"""
SHOWN_BELOW = 0.1  # p of the pairwise tests


class Command(BaseCommand):
    help = "Report what participants think of the systems of an assessment project."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EPILOG
        parser.add_argument("project", metavar="PROJECT", help="short name of the project")
        parser.add_argument("--run", type=int, metavar="N", help="only the run with this number")
        parser.add_argument("--json", action="store_true", help="write one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        reports = project_reports(_project(options["project"]), options["run"])
        if not reports and options["run"] is not None:
            raise CommandError(_("This project has no run %(number)d.") % {"number": options["run"]})
        if options["json"]:
            self.stdout.write(json.dumps(serialize_report(reports), ensure_ascii=False, allow_nan=False))
            return
        if not reports:
            self.stdout.write(_("This project has no runs yet."))
        for report in reports:
            self._write_run(report)
        for pair in replications(reports):
            self._write_pair(pair)

    def _write_run(self, report: RunReport) -> None:
        people, dialogues, minutes = report.participants, report.dialogues, report.minutes
        self.stdout.write(_("Run %(number)d") % {"number": report.run.number})
        self.stdout.write(
            _("Participants: %(passed)d of %(all)d passed the reliability test.")
            % {"passed": people.passed or 0, "all": people.all or 0}
        )
        self.stdout.write(
            _("Dialogues: %(passed)d of %(all)d.")
            % {"passed": dialogues.passed or 0, "all": dialogues.all or 0}
        )
        self.stdout.write(
            _("Minutes per dialogue: %(all)s (passed %(passed)s, failed %(failed)s).")
            % {
                "all": _number(minutes.all, 2),
                "passed": _number(minutes.passed, 2),
                "failed": _number(minutes.failed, 2),
            }
        )
        self._write_table(_("Standardised scores"), report.scores, 3)
        self._write_table(_("Raw scores (0-100)"), report.raw, 2)
        significant = [
            (test, test.p) for test in report.pairwise if test.p is not None and test.p <= SHOWN_BELOW
        ]
        self.stdout.write("\n" + _("Significantly better (p ≤ 0.1):"))
        for test, p in significant:
            self.stdout.write(f"  {test.better} > {test.worse}  {_p_text(p)}")
        self.stdout.write("" if significant else "  –\n")

    def _write_table(self, title: str, rows: Sequence[SystemScores], digits: int) -> None:
        statements = list(rows[0].by_statement) if rows else []
        cells = [["", "n", OVERALL, "[low, high]", *statements]]
        for each in rows:
            interval = f"[{_number(each.overall.low, digits)}, {_number(each.overall.high, digits)}]"
            values = [_number(each.value(name), digits) for name in statements]
            cells.append(
                [each.system, str(each.overall.n), _number(each.overall.value, digits), interval, *values]
            )
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        self.stdout.write(f"\n{title}")
        for row in cells:
            first, *others = (cell.ljust(width) if place == 0 else cell.rjust(width)
                              for place, (cell, width) in enumerate(zip(row, widths, strict=True)))  # fmt: skip
            self.stdout.write("  ".join([first, *others]))

    def _write_pair(self, pair: RunPair) -> None:
        self.stdout.write(_("Runs %(one)d and %(other)d") % {"one": pair.runs[0], "other": pair.runs[1]})
        for name, each in pair.replication.by_score.items():
            values = (each.pearson, each.spearman, each.kendall)
            r, rho, tau = (_number(value, 3) for value in values)
            self.stdout.write(f"  {name}: r = {r}, ρ = {rho}, τ = {tau}")
        for level, same in pair.replication.same_conclusions.items():
            share = "–" if same.share is None else f"{same.share:.0%}"
            self.stdout.write(
                "  "
                + _("same pairwise conclusions at p < %(level)s: %(share)s (%(count)d of %(n)d)")
                % {"level": f"{level:g}", "share": share, "count": same.count, "n": same.n}
            )


def _project(slug: str) -> Project:
    project = Project.objects.filter(slug=slug).first()
    if project is None:
        raise CommandError(f"There is no project “{slug}”.")
    if project.protocol != Protocol.ASSESSMENT:
        raise CommandError(_("“%(slug)s” is not an assessment project.") % {"slug": slug})
    return project


def _p_text(p: float) -> str:
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}"


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
