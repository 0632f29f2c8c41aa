"""Steps that the tests of authoring share."""

from collections.abc import Callable

from annotation.authoring.services.turns import TurnResult
from annotation.tasks.models.work import Assignment
from dialogues.models import CandidateSet, Dialogue
from generation.models import CandidateRequest, RequestState


def store_candidates(request: CandidateRequest | None, *texts: str) -> CandidateSet:
    """Store the candidates as a worker would."""
    assert request is not None
    candidate_set = CandidateSet.objects.create(
        dialogue=request.dialogue, position=request.position, candidates=[{"text": text} for text in texts]
    )
    CandidateRequest.objects.filter(pk=request.pk).update(
        state=RequestState.DONE, candidate_set=candidate_set
    )
    return candidate_set


def stored_texts(dialogue: Dialogue) -> list[str]:
    utterances = Dialogue.objects.get(pk=dialogue.pk).utterances.order_by("position")
    return list(utterances.values_list("text", flat=True))


def write_rounds(writes: Callable[..., TurnResult], assignment: Assignment, rounds: int) -> None:
    for position in range(rounds * 2):
        writes(assignment, f"utterance {position}", position)
