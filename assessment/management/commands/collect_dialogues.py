from typing import Any
from uuid import UUID, uuid4

from django.core.management.base import BaseCommand, CommandError, CommandParser

from assessment.collections.models import Collection, CollectionKind
from assessment.collections.services.starting import (
    DEFAULT_COUNT,
    ROUNDS,
    CollectionPlan,
    retry_collection,
    start_collection,
)
from assessment.sessions.models.runs import Run
from assessment.systems.models import System
from common.refusals import Refusal
from jobs.models import LIVE_STATES, Job, JobState
from jobs.services import run_job
from projects.models import Project, Protocol


class Command(BaseCommand):
    help = "Have systems of an assessment project make dialogues, and hand them to the raters of a labelling project."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", help="short name of the assessment project")
        parser.add_argument("--kind", required=True, choices=CollectionKind.values)
        parser.add_argument("--target", required=True, help="short name of the labelling project")
        parser.add_argument("--systems", nargs="+", default=[], metavar="NAME", help="names of systems")
        parser.add_argument("--source", help="project whose dialogues give contexts and openings")
        parser.add_argument("--run", type=int, help="run whose conversations are rated (human_bot)")
        counts = ", ".join(f"{kind}: {count}" for kind, count in DEFAULT_COUNT.items())
        parser.add_argument("--count", type=int, help=f"contexts or openings (default: {counts})")
        parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"of a self-chat (default: {ROUNDS})")
        parser.add_argument(
            "--any-split", action="store_true", help="also contexts outside of the test split of the source"
        )
        parser.add_argument("--without-human", action="store_true", help="leave the human reply out (static)")
        parser.add_argument("--seed", type=int, help="of the choice of contexts (default: drawn)")
        parser.add_argument(
            "--id", type=UUID, default=None, help="of an earlier collection, to make what is missing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            collection = self._start(options)
            self._run(collection)
        except Refusal as refusal:
            raise CommandError(str(refusal)) from refusal
        self.stdout.write(str(collection.pk))

    def _start(self, options: dict[str, Any]) -> Collection:
        project = self._project(options["project"], Protocol.ASSESSMENT)
        plan = CollectionPlan(
            kind=options["kind"],
            target=self._project(options["target"], Protocol.LABELLING),
            systems=tuple(self._systems(project, options["systems"])),
            source=self._project(options["source"]) if options["source"] else None,
            run=self._run_of(project, options["run"]) if options["run"] is not None else None,
            count=options["count"],
            rounds=options["rounds"],
            any_split=options["any_split"],
            with_human=not options["without_human"],
            seed=options["seed"],
        )
        return start_collection(
            collection_id=options["id"] or uuid4(), project=project, actor=None, plan=plan, enqueue=False
        )

    def _run(self, collection: Collection) -> None:
        """Run the job here; an earlier one that has ended makes what is missing."""
        if collection.job.state not in LIVE_STATES:
            collection = retry_collection(collection=collection, actor=None, enqueue=False)
        job = run_job(job_id=collection.job.pk, watch=self._show)
        if job.state != JobState.DONE:
            raise CommandError(f"{job.error} {job.remedy}".strip() or "The collection was cancelled.")
        result = job.result
        self.stderr.write(
            f"{result['dialogues']} dialogues made, {result['missing']} missing, {result['planned']} planned."
        )

    def _show(self, job: Job) -> None:
        self.stderr.write(f"{job.done} of {job.total} dialogues")

    def _project(self, slug: str, protocol: str = "") -> Project:
        project = Project.objects.filter(slug=slug).first()
        if project is None or (protocol and project.protocol != protocol):
            kind = f"{protocol} project" if protocol else "project"
            raise CommandError(f"There is no {kind} “{slug}”.")
        return project

    def _systems(self, project: Project, names: list[str]) -> list[System]:
        found = {system.name: system for system in System.objects.filter(project=project, name__in=names)}
        if missing := [name for name in names if name not in found]:
            raise CommandError(f"The project has no system “{missing[0]}”.")
        return [found[name] for name in names]

    def _run_of(self, project: Project, number: int) -> Run:
        run = Run.objects.filter(project=project, number=number).first()
        if run is None:
            raise CommandError(f"The project has no run {number}.")
        return run
