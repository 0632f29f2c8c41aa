"""Reading requests for candidates."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.cache import cache
from django.db.models import Count, DurationField, ExpressionWrapper, F, FloatField, Q, QuerySet
from django.db.models.functions import Extract, Greatest
from django.utils import timezone
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

from accounts.models import User
from common.refusals import NotAllowed, NotFound
from dialogues.models import CandidateSet, Dialogue
from generation.conversation import context_of, is_about
from generation.models import CandidateRequest, Generator, RequestState
from generation.percentiles import Percentiles
from jobs.selectors import live_workers
from projects.models import Project
from projects.roles import CAPABILITIES, Capability

QUEUE = "gpu"
SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+")
_WORKERS_KEY = "generation:workers-alive"
_WORKERS_FOR = 2  # seconds


def latest_request(dialogue: Dialogue) -> CandidateRequest | None:
    """The newest request that an annotator waits for, of the turn after the stored utterances.

    An undone turn leaves requests of the same position behind that were made for other utterances.
    """
    wanted = CandidateRequest.objects.filter(
        dialogue=dialogue, position=dialogue.utterance_count, wanted_at__isnull=False
    )
    rows = list(wanted.select_related("candidate_set").order_by("-wanted_at", "-ordinal"))
    context = context_of(dialogue) if rows else ()
    return next((row for row in rows if is_about(row, context)), None)


def request_for(user: User, request_id: UUID) -> CandidateRequest:
    """A request of a dialogue that the person writes; NotFound otherwise."""
    # By the name of the reverse relation: assignments belong to `annotation`, which lies above.
    mine = CandidateRequest.objects.filter(dialogue__assignments__annotator=user)
    row = mine.select_related("candidate_set").filter(pk=request_id).first()
    if row is None:
        raise NotFound(_("There are no such candidates among yours."), _("Reload the page."))
    return row


def generators_for(user: User) -> QuerySet[Generator]:
    """Every generator that can serve, for people who configure a project; NotAllowed for the others."""
    roles = [role for role, granted in CAPABILITIES.items() if Capability.CONFIGURE in granted]
    if not user.is_superuser and not user.memberships.filter(roles__overlap=roles).exists():
        raise NotAllowed(
            _("Models are set up by people who configure a project."),
            _("Ask a project's manager for that role."),
        )
    return servable_generators()


def servable_generators() -> QuerySet[Generator]:
    """Without trained models whose files were removed."""
    # By the name of the reverse relation: trained models belong to `preference`, which lies above.
    return Generator.objects.exclude(registered_model__folder="")


def generator_for(user: User, slug: str) -> Generator:
    row = generators_for(user).filter(slug=slug).first()
    if row is None:
        raise NotFound(_("There is no such model."), _("Look it up in the list of models."))
    return row


def workers_alive() -> int:
    """Processes that take requests, as of the last two seconds; asked anew every time where the cache is away."""
    try:
        alive = cache.get(_WORKERS_KEY)
        if alive is None:
            alive = live_workers(QUEUE).count()
            cache.set(_WORKERS_KEY, alive, _WORKERS_FOR)
    except RedisError:
        return live_workers(QUEUE).count()
    return int(alive)


def workers_holding(generator: Generator | None) -> dict[str, str]:
    """Live workers that have the model loaded, with its version there; None is the server's own model."""
    slug = generator.slug if generator else ""
    held = live_workers(QUEUE).filter(details__generators__has_key=slug)
    return {name: details["generators"][slug] for name, details in held.values_list("name", "details")}


def describe(request: CandidateRequest) -> dict[str, Any]:
    """What a page shows of a request: its state in words that need no second question. Nothing about sources."""
    made = request.candidate_set
    return {
        "id": request.pk,
        "position": request.position,
        "ordinal": request.ordinal,
        "state": request.state,
        "candidates": _candidates(request, made) if made else [],
        "candidate_set": made.pk if made else None,
        "model_version": made.model_version if made else "",
        "error": _translated(request.error),
        "remedy": _translated(request.remedy),
        "failures": [_translated(reason) for reason in request.failures],
        "workers_alive": workers_alive(),
        "waited_ms": _waited_ms(request),
        "generated_ms": _between_ms(request.started_at, request.ended_at),
    }


def _candidates(request: CandidateRequest, made: CandidateSet) -> list[dict[str, Any]]:
    """The texts; the scores only where the project shows them."""
    shown = [{"text": candidate["text"]} for candidate in made.candidates]
    if not request.shows_scores:
        return shown
    scores = [candidate.get("score") for candidate in made.candidates]
    return [
        row | ({} if score is None else {"score": score}) for row, score in zip(shown, scores, strict=True)
    ]


def _translated(said: str) -> str:
    """A worker stores English sentences, since it does not know who will read them."""
    return " ".join(_(sentence) for sentence in SENTENCE_ENDS.split(said)) if said else ""


def _waited_ms(request: CandidateRequest) -> int | None:
    """From the first wish for it to its end, or until now; 0 when it was ready before it was wanted."""
    waited = _between_ms(request.wanted_at, request.ended_at or timezone.now())
    return None if waited is None else max(0, waited)


def _between_ms(start: datetime | None, end: datetime | None) -> int | None:
    return round((end - start).total_seconds() * 1000) if start and end else None


@dataclass(frozen=True, slots=True)
class Waiting:
    """How long annotators waited for the first candidates of a turn, and what generating ahead did for it.

    turns: requests that somebody waited for and that were answered. ready, on_the_way: of these, made ahead and done,
    or still in work, when they were wanted. p50_ms, p95_ms: from wanted to done, 0 for those that were ready; None
    without turns. unseen: sets made ahead that nobody came to want.
    """

    turns: int
    ready: int
    on_the_way: int
    p50_ms: float | None
    p95_ms: float | None
    unseen: int

    @property
    def hit_rate(self) -> float | None:
        """Share of turns whose candidates were asked for before they were wanted; None without turns."""
        return (self.ready + self.on_the_way) / self.turns if self.turns else None


def waiting_statistics(project: Project) -> Waiting:
    """Of all of a project's first candidate sets. One query."""
    wanted = Q(wanted_at__isnull=False)
    ready, ahead = Q(ended_at__lte=F("wanted_at")), Q(created_at__lt=F("wanted_at"))
    wait = ExpressionWrapper(F("ended_at") - F("wanted_at"), output_field=DurationField())
    waited = Greatest(Extract(wait, "epoch") * 1000.0, 0.0, output_field=FloatField())
    done = CandidateRequest.objects.filter(
        dialogue__project=project, ordinal=0, state=RequestState.DONE, ended_at__isnull=False
    )
    counted = done.annotate(waited=waited).aggregate(
        turns=Count("id", filter=wanted),
        ready=Count("id", filter=wanted & ready & ahead),
        on_the_way=Count("id", filter=wanted & ahead & ~ready),
        percentiles=Percentiles("waited", [0.5, 0.95], filter=wanted),
        unseen=Count("id", filter=~wanted),
    )
    p50_ms, p95_ms = counted.pop("percentiles") or (None, None)
    return Waiting(**counted, p50_ms=p50_ms, p95_ms=p95_ms)
