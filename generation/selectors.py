"""Reading requests for candidates."""

from typing import Any
from uuid import UUID

from django.core.cache import cache
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.errors import NotFound
from accounts.models import User
from dialogues.models import Dialogue
from generation.models import CandidateRequest
from jobs.selectors import live_workers

QUEUE = "gpu"
_WORKERS_KEY = "generation:workers-alive"
_WORKERS_FOR = 2  # seconds


def latest_request(dialogue: Dialogue) -> CandidateRequest | None:
    """The newest request that an annotator waits for, of the turn after the stored utterances."""
    wanted = CandidateRequest.objects.filter(
        dialogue=dialogue, position=dialogue.utterance_count, wanted_at__isnull=False
    )
    return wanted.select_related("candidate_set").order_by("-wanted_at", "-ordinal").first()


def request_for(user: User, request_id: UUID) -> CandidateRequest:
    """A request of a dialogue that the person writes; NotFound otherwise."""
    mine = CandidateRequest.objects.filter(dialogue__assignments__annotator=user)
    row = mine.select_related("candidate_set").filter(pk=request_id).first()
    if row is None:
        raise NotFound(_("There are no such candidates among yours."), _("Reload the page."))
    return row


def workers_alive() -> int:
    """Processes that take requests, as of the last two seconds."""
    alive = cache.get(_WORKERS_KEY)
    if alive is None:
        alive = live_workers(QUEUE).count()
        cache.set(_WORKERS_KEY, alive, _WORKERS_FOR)
    return int(alive)


def describe(request: CandidateRequest) -> dict[str, Any]:
    """What a page shows of a request: its state in words that need no second question. Nothing of a source is told."""
    made = request.candidate_set
    return {
        "id": request.pk,
        "position": request.position,
        "ordinal": request.ordinal,
        "state": request.state,
        "candidates": [{"text": candidate["text"]} for candidate in made.candidates] if made else [],
        "candidate_set": made.pk if made else None,
        "model_version": made.model_version if made else "",
        "error": request.error,
        "remedy": request.remedy,
        "failures": request.failures,
        "workers_alive": workers_alive(),
        "waited_ms": _waited_ms(request),
        "generated_ms": _between_ms(request.started_at, request.ended_at),
    }


def _waited_ms(request: CandidateRequest) -> int | None:
    """From the first wish for it to its end, or until now; 0 when it was ready before it was wanted."""
    waited = _between_ms(request.wanted_at, request.ended_at or timezone.now())
    return None if waited is None else max(0, waited)


def _between_ms(start: Any, end: Any) -> int | None:
    return round((end - start).total_seconds() * 1000) if start and end else None
