"""Requesting the candidates of a turn."""

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from annotation.authoring.models import AuthoringSettings
from annotation.authoring.services.provenance import normalise
from annotation.tasks.models.work import AssignmentState
from annotation.tasks.services.assignment import check_still_annotates, ensure_held, lock_assignment
from common.refusals import Refusal
from dialogues.models import Dialogue, DialogueState
from generation import services as generation
from generation.models import CandidateOrder, CandidateRequest
from generation.protocol import Sampling
from generation.services import CandidateOptions
from projects.models import Protocol


def request_candidates(
    dialogue: Dialogue, settings: AuthoringSettings, ordinal: int = 0
) -> CandidateRequest | None:
    """Request candidates for the next turn. None at the opening, which people write themselves."""
    if dialogue.utterance_count == 0 or dialogue.state != DialogueState.WRITING:
        return None
    return generation.request_candidates(
        dialogue=dialogue, options=_candidate_options(settings), ordinal=ordinal
    )


def _candidate_options(settings: AuthoringSettings) -> CandidateOptions:
    """What a project's turns ask the generation for."""
    sampling = Sampling(
        top_k=settings.top_k,
        temperature=settings.temperature,
        no_repeat_ngram_size=settings.no_repeat_ngram_size,
        max_new_tokens=settings.max_new_tokens,
    )
    # Scores of two models are not comparable, and would tell the models apart.
    has_one_model = settings.second_generator is None
    return CandidateOptions(
        generator=settings.generator,
        second=settings.second_generator,
        count=settings.candidates,
        sampling=sampling,
        order=settings.candidate_order if has_one_model else CandidateOrder.RANDOM,
        shows_scores=settings.show_scores and has_one_model,
        one_script=settings.one_script,
    )


@transaction.atomic
def request_candidate_set(*, annotator: User, assignment_id: int, ordinal: int) -> CandidateRequest:
    """Request the turn's set number `ordinal` (0 is the first). The same number again is the same request.

    Looking at a set that was requested before takes up nothing: a saved dialogue stays saved.

    Raises Refusal: too_many_sets, opening, lease_gone, not_writable.
    """
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.AUTHORING
    )
    check_still_annotates(assignment)
    settings = assignment.project.authoring
    known = generation.find_request(
        dialogue=assignment.dialogue, options=_candidate_options(settings), ordinal=ordinal
    )
    if known is not None:
        return known
    ensure_held(assignment)
    _check_ordinal(ordinal, settings.new_sets_per_turn)
    request = request_candidates(assignment.dialogue, settings, ordinal)
    if request is None:
        raise Refusal("opening", _("The opening is yours to write."), _("Candidates come after it."))
    return request


def _check_ordinal(ordinal: int, limit: int) -> None:
    if not 0 <= ordinal <= limit:
        raise Refusal(
            "too_many_sets",
            ngettext(
                "This project allows %(n)d new candidate set per turn.",
                "This project allows %(n)d new candidate sets per turn.",
                limit,
            )
            % {"n": limit},
            _("Revise one of the candidates, or write your own reply."),
        )


@transaction.atomic
def generate_ahead(*, annotator: User, assignment_id: int, text: str) -> CandidateRequest | None:
    """Generate for a resting draft, so that the next candidates are ready when it is sent. Refuses no text.

    Raises NotAllowed.
    """
    assignment = lock_assignment(
        annotator=annotator, assignment_id=assignment_id, protocol=Protocol.AUTHORING
    )
    check_still_annotates(assignment)
    settings = assignment.project.authoring
    text = normalise(text).replace("\0", "")
    if not settings.generate_ahead or not text or len(text) > settings.max_utterance_length:
        return None
    if assignment.state != AssignmentState.ACTIVE:
        return None
    return generation.request_ahead(
        dialogue=assignment.dialogue, options=_candidate_options(settings), draft=text
    )
