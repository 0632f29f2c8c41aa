"""Writing parsed dialogues to the database, a batch in a transaction.

Rows go in with COPY: `bulk_create` spent half of an import on quoting JSON inside arrays.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, models, transaction
from django.utils import timezone
from psycopg import sql

from dialogues.models import CandidateSet, Dialogue, DialogueState, Origin, Split, Utterance
from dialogues.parsing import ParsedDialogue, ParsedUtterance, RowError
from dialogues.splits import split_for
from jobs.models import Job
from projects.models import Project

DIALOGUE_COLUMNS = [
    "id", "project_id", "external_id", "origin", "state", "review_state", "split", "language", "domain",
    "utterance_count", "import_job_id", "created_at", "finished_at", "metadata",
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
]
# OFFSET keeps the planner from looking the sequence up for every single id.
NEXT_IDS = (
    "SELECT nextval(ids) FROM (SELECT pg_get_serial_sequence(%s, 'id')::regclass AS ids OFFSET 0) AS sequence,"
    " generate_series(1, %s)"
)
SPLITS = list(Split)
json_text = json.JSONEncoder(ensure_ascii=False).encode
UNKNOWN = {"seed": None, "tokens": None, "logprob": None, "score": None}

Place = tuple[int, int]  # dialogue id, position
New = Sequence[tuple[Dialogue, ParsedDialogue]]
# Apps above this one add theirs when they are ready: why a dialogue that can be read does not fit a project, asked
# before anything is stored; and what else becomes of new dialogues, in the same transaction and before they are
# written themselves (foreign keys are checked at its end): what it takes out of their metadata is not stored twice.
CHECKS: list[Callable[[Project, ParsedDialogue], RowError | None]] = []
STORED_WITH: list[Callable[[Project, New], None]] = []


def misfit(project: Project, parsed: ParsedDialogue) -> RowError | None:
    """Why the project cannot take this dialogue; None where it can."""
    return next((error for check in CHECKS if (error := check(project, parsed))), None)


@dataclass(frozen=True, slots=True)
class Stored:
    """Numbers of dialogues: here by this job (now, or before it was interrupted), and here before it."""

    stored: int
    already_there: int
    utterances: int


@transaction.atomic
def store_batch(*, project: Project, job: Job, batch: Sequence[ParsedDialogue]) -> Stored:
    """Store the dialogues whose external id the project does not have yet, whole or not at all. Safe to repeat."""
    # Two imports into one project store one batch after the other: no id can slip in between look and write.
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    there = Dialogue.objects.filter(project=project, external_id__in=[parsed.external_id for parsed in batch])
    known = dict(there.values_list("external_id", "import_job_id"))
    now = timezone.now()
    new = [parsed for parsed in batch if parsed.external_id not in known]
    ids = next_ids(Dialogue, len(new))
    rows = [_dialogue(id, project, job, parsed, now) for id, parsed in zip(ids, new, strict=True)]
    for follow in STORED_WITH:
        follow(project, list(zip(rows, new, strict=True)))
    copy_rows(Dialogue, DIALOGUE_COLUMNS, map(_row, rows))
    turns = {
        (row.pk, position): utterance
        for row, parsed in zip(rows, new, strict=True)
        for position, utterance in enumerate(parsed.utterances)
    }
    _store_turns(turns, now)
    mine = [parsed for parsed in batch if known.get(str(parsed.external_id), job.pk) == job.pk]
    return Stored(len(mine), len(batch) - len(mine), sum(len(parsed.utterances) for parsed in mine))


def _store_turns(turns: Mapping[Place, ParsedUtterance], now: datetime) -> None:
    chosen = [place for place, utterance in turns.items() if utterance.candidates]
    set_ids = dict(zip(chosen, next_ids(CandidateSet, len(chosen)), strict=True))
    copy_rows(
        CandidateSet,
        CANDIDATE_SET_COLUMNS,
        (_candidate_set(set_ids[place], place, turns[place], now) for place in chosen),
    )
    copy_rows(
        Utterance,
        UTTERANCE_COLUMNS,
        (_utterance(place, utterance, set_ids.get(place)) for place, utterance in turns.items()),
    )


def next_ids(model: type[models.Model], count: int) -> list[int]:
    """Ids for rows to come, since COPY returns none."""
    with connection.cursor() as cursor:
        cursor.execute(NEXT_IDS, [model._meta.db_table, count])
        return [row[0] for row in cursor.fetchall()]


def copy_rows(model: type[models.Model], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows with COPY; JSON as text. Columns that are not named get what the database itself puts there."""
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(model._meta.db_table), names)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def _dialogue(id: int, project: Project, job: Job, parsed: ParsedDialogue, now: datetime) -> Dialogue:
    metadata, name = dict(parsed.metadata), str(parsed.external_id)
    # A split that came with the data is kept, or its test dialogues would leak into training.
    split = metadata.pop("split") if metadata.get("split") in SPLITS else split_for(name)
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


def _row(dialogue: Dialogue) -> tuple[Any, ...]:
    plain = (getattr(dialogue, name) for name in DIALOGUE_COLUMNS[:-1])
    return (*plain, json_text(dialogue.metadata))


def _candidate_set(id: int, place: Place, parsed: ParsedUtterance, now: datetime) -> tuple[Any, ...]:
    candidates = json_text([{"text": text, **UNKNOWN} for text in parsed.candidates])
    return (id, *place, candidates, parsed.model_version, "{}", now)


def _utterance(place: Place, parsed: ParsedUtterance, candidate_set: int | None) -> tuple[Any, ...]:
    metadata = dict(parsed.metadata)
    if parsed.model_version and candidate_set is None:
        metadata["model_version"] = parsed.model_version  # without candidates there is no set to keep it
    return (
        *place,
        parsed.speaker,
        parsed.text,
        parsed.time or "",
        json_text(metadata),
        candidate_set,
        parsed.action or "",
        parsed.source,
        parsed.edit_distance,
    )
