"""Stores the ratings of a file as a closed run, and the texts of the conversations if the file has them."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import cast

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from assessment.sessions.models.conversations import Rating, Session, SessionState
from assessment.sessions.models.participants import Assignment, AssignmentState, Participant
from assessment.sessions.models.runs import Run, RunState
from assessment.setup.models import AssessmentSettings
from assessment.systems.models import Connector, System
from common.refusals import Refusal
from dialogues.models import Dialogue, DialogueState, Origin, Utterance
from dialogues.parsing.parsed_dialogue import ParsedAssignment, ParsedConversation, ParsedRow
from dialogues.parsing.row_errors import RowError
from dialogues.services.storing import StoredCounts
from dialogues.splits import split_for
from jobs.models import Job, JobState
from projects.locking import lock_project
from projects.models import Project
from projects.transitions import record

SAME_FILE = ("format", "sha256", "run")  # parameters of an import; its job's project is compared too


class RatingStorage:
    """Rows that are assignments. The run is created with the first batch, so that a refused file leaves nothing."""

    def __init__(self, job: Job) -> None:
        self.job, self.project = job, cast(Project, job.project)
        self.run = _run_number(job)
        _check_run(self.project, self.run)

    @cached_property
    def _statements(self) -> Mapping[str, bool]:
        """Whether each statement of the project is reversed."""
        settings = AssessmentSettings.objects.get(project=self.project)
        return {statement.name: statement.is_reversed for statement in settings.statement_list}

    @cached_property
    def _systems(self) -> dict[str, System]:
        return {system.name: system for system in System.objects.filter(project=self.project)}

    def check(self, row: ParsedRow) -> RowError | None:
        """Why the assignment does not fit the project's statements and systems."""
        assignment = cast(ParsedAssignment, row)
        for name, kind in assignment.score_kinds.items():
            if self._statements.get(name) is not kind.is_reversed:
                params = {"found": name, "wanted": ", ".join(assignment.score_kinds)}
                return RowError(row.line, "other_statements", params, fatal=True)
        for conversation in assignment.conversations:
            system = self._systems.get(conversation.system)
            if system and system.is_degraded != conversation.is_degraded:
                return RowError(row.line, "other_system", {"found": system.name}, fatal=True)
        return None

    @transaction.atomic
    def store(self, batch: Sequence[ParsedRow]) -> StoredCounts:
        """Store the assignments that the run does not have yet, all or none. Safe to repeat."""
        # Imports into one project store their batches one after the other, so no id appears between check and write.
        lock_project(self.project.pk)
        parsed = [cast(ParsedAssignment, row) for row in batch]
        run = self._open_run()
        known = set(
            run.assignments.filter(external_id__in=[row.external_id for row in parsed]).values_list(
                "external_id", flat=True
            )
        )
        new = [row for row in parsed if row.external_id not in known]
        sessions = self._store_assignments(run, new)
        utterances = _store_texts(self.project, self.job, run, sessions)
        _store_ratings(sessions)
        run.places = run.assignments.count()
        run.save(update_fields=["places"])
        there = sum(row.dialogue_count for row in parsed if row.external_id in known)
        return StoredCounts(sum(row.dialogue_count for row in new), there, utterances)

    def _open_run(self) -> Run:
        run, created = Run.objects.get_or_create(
            project=self.project,
            number=self.run,
            defaults={
                "state": RunState.CLOSED,
                "seed": secrets.randbits(62),
                "import_job": self.job,
            },
        )
        if created:
            record(
                run,
                kind="run_imported",
                project=self.project,
                actor=self.job.created_by,
                after=RunState.CLOSED,
            )
        return run

    def _store_assignments(
        self, run: Run, rows: Sequence[ParsedAssignment]
    ) -> list[tuple[Session, ParsedConversation]]:
        participants = self._participants({row.participant for row in rows})
        assignments = Assignment.objects.bulk_create(
            Assignment(
                run=run,
                participant=participants[row.participant],
                state=AssignmentState.COMPLETED,
                seed=0,  # the order is the file's
                external_id=row.external_id,
                study_group=row.group,
                feedback=row.feedback,
                duration_seconds=row.duration_seconds,
            )
            for row in rows
        )
        self._create_systems(conversation for row in rows for conversation in row.conversations)
        pairs = [
            (self._session(assignment, place, conversation), conversation)
            for assignment, row in zip(assignments, rows, strict=True)
            for place, conversation in enumerate(row.conversations, start=1)
        ]
        Session.objects.bulk_create(session for session, _conversation in pairs)
        return pairs

    def _participants(self, names: set[str]) -> dict[str, Participant]:
        Participant.objects.bulk_create(
            (Participant(project=self.project, panel_id=name) for name in sorted(names)),
            ignore_conflicts=True,
        )
        stored = Participant.objects.filter(project=self.project, panel_id__in=names)
        return {str(participant.panel_id): participant for participant in stored}

    def _create_systems(self, conversations: Iterable[ParsedConversation]) -> None:
        """Systems that are known from a file only are retired at once: live runs cannot reach them."""
        for conversation in conversations:
            if conversation.system not in self._systems:
                connector = Connector.DEGRADED if conversation.is_degraded else Connector.IMPORTED
                self._systems[conversation.system] = System.objects.create(
                    project=self.project,
                    name=conversation.system,
                    connector=connector,
                    retired_at=timezone.now(),
                )

    def _session(self, assignment: Assignment, place: int, conversation: ParsedConversation) -> Session:
        latest = conversation.topics[-1] if conversation.topics else {"topic": "", "attitude": ""}
        return Session(
            assignment=assignment,
            system=self._systems[conversation.system],
            place=place,
            state=SessionState.RATED if conversation.scores else SessionState.RATING,
            topic=latest["topic"],
            opinion=latest["attitude"],
            bot_opinion=conversation.bot_opinion,
            topic_change=conversation.topic_change,
            input_count=sum(utterance.speaker == "A" for utterance in conversation.utterances),
        )


def _run_number(job: Job) -> int:
    """The chosen number; else that of an earlier attempt or import of the same file; else the next one."""
    if job.parameters["run"] is not None:
        return int(job.parameters["run"])
    same_file = {f"parameters__{name}": job.parameters[name] for name in SAME_FILE}
    earlier = Job.objects.filter(project=job.project, kind=job.kind, state=JobState.DONE, **same_file)
    runs = Run.objects.filter(project=job.project)
    again = runs.filter(import_job__in=[job.pk, *earlier.values_list("pk", flat=True)]).first()
    if again:
        return again.number
    return (runs.aggregate(last=Max("number"))["last"] or 0) + 1


def _check_run(project: Project, number: int) -> None:
    """Raises Refusal "live_run" for a run whose participants are not from files."""
    run = Run.objects.filter(project=project, number=number).first()
    if run and (run.state != RunState.CLOSED or run.assignments.filter(external_id="").exists()):
        raise Refusal(
            "live_run",
            _("Run %(number)d is a live run; ratings of a file cannot be added to it.") % {"number": number},
            _("Choose another number, or leave it out for the next free one."),
        )


def _store_texts(
    project: Project, job: Job, run: Run, pairs: Sequence[tuple[Session, ParsedConversation]]
) -> int:
    """Store the texts of the conversations that have some. Returns the number of utterances."""
    with_texts = [(session, parsed) for session, parsed in pairs if parsed.utterances]
    dialogues = Dialogue.objects.bulk_create(
        _dialogue(project, job, run, session, parsed) for session, parsed in with_texts
    )
    for dialogue, (session, _parsed) in zip(dialogues, with_texts, strict=True):
        session.dialogue = dialogue
    Session.objects.bulk_update([session for session, _parsed in with_texts], ["dialogue"], batch_size=500)
    utterances = [
        Utterance(dialogue=dialogue, position=position, speaker=utterance.speaker, text=utterance.text)
        for dialogue, (_session, parsed) in zip(dialogues, with_texts, strict=True)
        for position, utterance in enumerate(parsed.utterances)
    ]
    Utterance.objects.bulk_create(utterances, batch_size=2000)
    return len(utterances)


def _dialogue(project: Project, job: Job, run: Run, session: Session, parsed: ParsedConversation) -> Dialogue:
    name = f"run-{run.number}/{session.assignment_id}/{session.place}"
    now = timezone.now()
    metadata = {"persona": list(parsed.persona), "topics": list(parsed.topics)}
    return Dialogue(
        project=project,
        external_id=name,
        origin=Origin.CHATTED,
        state=DialogueState.FINISHED,
        split=split_for(name),
        metadata={key: value for key, value in metadata.items() if value},
        utterance_count=len(parsed.utterances),
        import_job=job,
        created_at=now,
        finished_at=now,
    )


def _store_ratings(pairs: Sequence[tuple[Session, ParsedConversation]]) -> None:
    Rating.objects.bulk_create(
        (
            Rating(session=session, statement=statement, value=value)
            for session, parsed in pairs
            for statement, value in parsed.scores.items()
        ),
        batch_size=5000,
    )
