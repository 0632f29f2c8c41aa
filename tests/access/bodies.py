"""Bodies that are read before the permission is checked under a lock. Any other operation is sent an empty one."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from tests.access.routes import Operation
from tests.annotation.batch_review.conftest import diqad_answers

TURN = "the last turn"  # of the assignment: the key of its value in the world
NO_ANSWERS: Mapping[str, Any] = {"dialogue": {}, "utterances": {}}

BODIES: Mapping[str, Mapping[str, Any]] = {
    "POST api/v1/projects/{slug}/assignments/": {"claim_id": uuid4()},
    "PUT api/v1/assignments/{pk}/draft/": {"text": "Hello", "position": 0, "version": 0},
    "POST api/v1/assignments/{pk}/turns/": {"id": uuid4(), "text": "Hello", "position": 3},
    "POST api/v1/assignments/{pk}/undo/": {"turn_id": TURN},
    "POST api/v1/assignments/{pk}/candidates/": {"ordinal": 1},
    "POST api/v1/assignments/{pk}/ahead/": {"text": "Hello"},
    "POST api/v1/assignments/{pk}/restore/": {"turn_ids": [uuid4()]},
    "POST api/v1/dialogues/{pk}/review/": {"id": uuid4(), "verdict": "pass"},
    "POST api/v1/threads/{pk}/messages/": {"id": uuid4(), "kind": "question", "text": "And this one?"},
    "POST api/v1/projects/{slug}/labelling/claim/": {"claim_id": uuid4()},
    "PUT api/v1/labelling/{pk}/draft/": {"answers": NO_ANSWERS, "version": 0},
    "POST api/v1/labelling/{pk}/submissions/": {"id": uuid4(), "schema": 1, "answers": diqad_answers(2)},
    "POST api/v1/labelling/{pk}/skip/": {"reason": "I know these people."},
    "POST api/v1/disputes/{pk}/decision/": {
        "id": uuid4(),
        "answers": NO_ANSWERS,
        "reason": "It answers both.",
    },
    "POST api/v1/admission/{pk}/{place}/": {"answers": NO_ANSWERS},
}


def body_of(operation: Operation, values: Mapping[str, Any]) -> dict[str, Any]:
    body = BODIES.get(str(operation), {})
    return {name: values[TURN] if value == TURN else value for name, value in body.items()}
