"""Writing parsed dialogues to the database, a batch in a transaction.

Rows are written with COPY: `bulk_create` spent half of an import on quoting JSON inside arrays.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, cast

from django.db import connection, models, transaction
from django.utils import timezone
from psycopg import sql

from common.database import refresh_statistics
from dialogues.derived_actions import derive_action
from dialogues.external_ids import hash_id
from dialogues.models import (
    CandidateSet,
    DeletedDialogue,
    Dialogue,
    DialogueState,
    Origin,
    Split,
    Utterance,
)
from dialogues.parsing.parsed_dialogue import ParsedDialogue, ParsedRow, ParsedUtterance
from dialogues.parsing.row_errors import RowError
from dialogues.splits import split_for
from jobs.models import Job
from projects.models import Project

DIALOGUE_COLUMNS = [
    "id", "project_id", "external_id", "origin", "state", "review_state", "split", "language", "domain",
    "topic", "topic_source", "utterance_count", "import_job_id", "created_at", "finished_at", "metadata",
]  # fmt: skip
CANDIDATE_SET_COLUMNS = [
    "id",
    "dialogue_id",
    "position",
    "candidates",
    "model_version",
    "sampling",
    "created_at",
]
UTTERANCE_COLUMNS = [
    "dialogue_id",
    "position",
    "speaker",
    "text",
    "time",
    "metadata",
    "candidate_set_id",
    "action",
    "source",
    "edit_distance",
    "action_derived",
]
# OFFSET keeps the planner from looking up the sequence for every id.
NEXT_IDS = (
    "SELECT nextval(ids) FROM (SELECT pg_get_serial_sequence(%s, 'id')::regclass AS ids OFFSET 0) AS sequence,"
    " generate_series(1, %s)"
)
SPLITS = list(Split)
json_text = json.JSONEncoder(ensure_ascii=False).encode
UNKNOWN_SAMPLING = {"seed": None, "tokens": None, "logprob": None, "score": None}

Position = tuple[int, int]  # dialogue id, position of the utterance
NewDialogues = Sequence[tuple[Dialogue, ParsedDialogue]]
# Higher apps add their own functions when they are ready.
# PROJECT_CHECKS say, before anything is stored, why a parsed dialogue does not fit the project.
PROJECT_CHECKS: list[Callable[[Project, ParsedDialogue], RowError | None]] = []
# BEFORE_STORE functions store what belongs to new dialogues, in the same transaction. They run before the dialogues are
# written (foreign keys are checked at commit): what they take out of the metadata is not stored twice.
BEFORE_STORE: list[Callable[[Project, NewDialogues], None]] = []


def check_fits_project(project: Project, parsed: ParsedDialogue) -> RowError | None:
    """Why the dialogue does not fit the project; None if it does."""
    return next((error for check in PROJECT_CHECKS if (error := check(project, parsed))), None)


@dataclass(frozen=True, slots=True)
class StoredCounts:
    """stored: dialogues of this job, including those from before an interruption. already_there: of earlier jobs.

    deleted: left out, because a manager deleted them. language_given: of those stored, the ones whose language was
    chosen for the import.
    """

    stored: int
    already_there: int
    utterances: int
    deleted: int = 0
    language_given: int = 0


class RowStorage(Protocol):
    """Checks and stores the rows of one import. run: number of the run that they belong to, if the format has runs."""

    @property
    def run(self) -> int | None: ...

    def check(self, row: ParsedRow) -> RowError | None:
        """Why the row does not fit the project; None if it does."""
        ...

    def store(self, batch: Sequence[ParsedRow]) -> StoredCounts:
        """Store the rows that are not there yet, all or none. Safe to repeat."""
        ...


class DialogueStorage:
    """Rows that are dialogues."""

    run: int | None = None

    def __init__(self, job: Job) -> None:
        self.job, self.project = job, cast(Project, job.project)

    def check(self, row: ParsedRow) -> RowError | None:
        return check_fits_project(self.project, cast(ParsedDialogue, row))

    def store(self, batch: Sequence[ParsedRow]) -> StoredCounts:
        return store_batch(project=self.project, job=self.job, batch=cast(Sequence[ParsedDialogue], batch))


# By format, for formats whose rows are not dialogues; higher apps add theirs when they are ready.
STORAGES: dict[str, Callable[[Job], RowStorage]] = {}


@transaction.atomic
def store_batch(*, project: Project, job: Job, batch: Sequence[ParsedDialogue]) -> StoredCounts:
    """Store the dialogues whose external id the project does not have yet, all or none. Safe to repeat.

    Those that a manager deleted are left out.
    """
    # Imports into one project store their batches one after the other, so no id appears between check and write.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    sent = len(batch)
    batch = _without_deleted(project, batch)
    stored = Dialogue.objects.filter(
        project=project, external_id__in=[parsed.external_id for parsed in batch]
    )
    known = dict(stored.values_list("external_id", "import_job_id"))
    now = timezone.now()
    new = [parsed for parsed in batch if parsed.external_id not in known]
    ids = next_ids(Dialogue, len(new))
    rows = [_dialogue(id, project, job, parsed, now) for id, parsed in zip(ids, new, strict=True)]
    for hook in BEFORE_STORE:
        hook(project, list(zip(rows, new, strict=True)))
    copy_rows(Dialogue, DIALOGUE_COLUMNS, map(_dialogue_row, rows))
    utterances = {
        (row.pk, position): utterance
        for row, parsed in zip(rows, new, strict=True)
        for position, utterance in enumerate(parsed.utterances)
    }
    _store_utterances(utterances, now)
    refresh_statistics(len(new), Dialogue, Utterance)
    mine = [parsed for parsed in batch if known.get(str(parsed.external_id), job.pk) == job.pk]
    utterance_count = sum(len(parsed.utterances) for parsed in mine)
    return StoredCounts(
        stored=len(mine),
        already_there=len(batch) - len(mine),
        utterances=utterance_count,
        deleted=sent - len(batch),
        language_given=sum(parsed.language_given for parsed in mine),
    )


def _without_deleted(project: Project, batch: Sequence[ParsedDialogue]) -> list[ParsedDialogue]:
    digests = {hash_id(str(parsed.external_id)): parsed for parsed in batch}
    rows = DeletedDialogue.objects.filter(project=project, id_sha256__in=list(digests))
    deleted = {digests[digest].external_id for digest in rows.values_list("id_sha256", flat=True)}
    return [parsed for parsed in batch if parsed.external_id not in deleted]


def _store_utterances(utterances: Mapping[Position, ParsedUtterance], now: datetime) -> None:
    with_candidates = [position for position, utterance in utterances.items() if utterance.candidates]
    set_ids = dict(zip(with_candidates, next_ids(CandidateSet, len(with_candidates)), strict=True))
    copy_rows(
        CandidateSet,
        CANDIDATE_SET_COLUMNS,
        (
            _candidate_set_row(set_ids[position], position, utterances[position], now)
            for position in with_candidates
        ),
    )
    copy_rows(
        Utterance,
        UTTERANCE_COLUMNS,
        (
            _utterance_row(position, utterance, set_ids.get(position))
            for position, utterance in utterances.items()
        ),
    )


def next_ids(model: type[models.Model], count: int) -> list[int]:
    """Ids for new rows, because COPY does not return any."""
    with connection.cursor() as cursor:
        cursor.execute(NEXT_IDS, [model._meta.db_table, count])
        return [row[0] for row in cursor.fetchall()]


def copy_rows(model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows with COPY; JSON as text. Columns that are not named get the default of the database."""
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(model._meta.db_table), names)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def _dialogue(id: int, project: Project, job: Job, parsed: ParsedDialogue, now: datetime) -> Dialogue:
    metadata, name = dict(parsed.metadata), str(parsed.external_id)
    # The split of the file is kept, or its test dialogues would leak into training.
    # The threads of a tree share its first messages, so they share a split, too.
    split = metadata.pop("split") if metadata.get("split") in SPLITS else split_for(parsed.tree or name)
    return Dialogue(
        id=id,
        project=project,
        external_id=name,
        origin=Origin.IMPORTED,
        state=DialogueState.FINISHED,
        split=split,
        language=parsed.language or "",
        domain=parsed.domain or "",
        metadata=metadata,
        utterance_count=len(parsed.utterances),
        import_job=job,
        created_at=now,
        finished_at=now,
    )


def _dialogue_row(dialogue: Dialogue) -> tuple[Any, ...]:
    plain = (getattr(dialogue, name) for name in DIALOGUE_COLUMNS[:-1])
    return (*plain, json_text(dialogue.metadata))


def _candidate_set_row(
    id: int, position: Position, parsed: ParsedUtterance, now: datetime
) -> tuple[Any, ...]:
    candidates = json_text([{"text": text, **UNKNOWN_SAMPLING} for text in parsed.candidates])
    return (id, *position, candidates, parsed.model_version, "{}", now)


def _utterance_row(position: Position, parsed: ParsedUtterance, candidate_set: int | None) -> tuple[Any, ...]:
    metadata = dict(parsed.metadata)
    if parsed.model_version and candidate_set is None:
        metadata["model_version"] = parsed.model_version  # without candidates there is no set for it
    return (
        *position,
        parsed.speaker,
        parsed.text,
        parsed.time or "",
        json_text(metadata),
        candidate_set,
        *_provenance(parsed),
    )


def _provenance(parsed: ParsedUtterance) -> tuple[str, int | None, int | None, bool]:
    """Action, source, edit distance, and whether they were derived from the texts."""
    if parsed.action or not parsed.candidates:
        return parsed.action or "", parsed.source, parsed.edit_distance, parsed.action_derived
    derived = derive_action(parsed.text, parsed.candidates, parsed.source)
    return derived.action, derived.source, derived.edit_distance, True
