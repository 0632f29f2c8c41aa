"""Reading requests for candidates."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.cache import cache
from django.db.models import (
    Count,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    FloatField,
    OuterRef,
    Q,
    QuerySet,
)
from django.db.models.functions import Extract, Greatest
from django.utils.translation import gettext as _

from accounts.models import User
from common import clock
from common.refusals import NotAllowed, NotFound, Refusal
from common.sentences import join_sentences
from dialogues.models import CandidateSet, Dialogue
from generation.conversation import context_of, matches_context
from generation.models import BackendKind, CandidateRequest, Generator, RequestState
from generation.percentiles import Percentiles
from generation.sentences import OF_FILES, PATTERNS, compile_patterns
from jobs.broker import broker_answers
from jobs.selectors import live_workers
from projects.models import Project
from projects.roles import CAPABILITIES, Capability
from projects.selectors import capabilities_of

QUEUE = "gpu"
SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+")
BACKEND_PATTERNS = compile_patterns((*PATTERNS, *OF_FILES))
BACKENDS_WITH_CONTEXTS = {BackendKind.HF.value}  # whose worker keeps encoded contexts in its own memory
_WORKERS_KEY = "generation:workers-alive"
_WORKERS_FOR = 2  # seconds that the number of live workers is cached


def latest_request(dialogue: Dialogue) -> CandidateRequest | None:
    """The newest request that an annotator waits for, for the turn after the stored utterances.

    After an undo there are older requests of the same position that were made for other utterances.
    """
    wanted = CandidateRequest.objects.filter(
        dialogue=dialogue, position=dialogue.utterance_count, wanted_at__isnull=False
    )
    rows = list(wanted.select_related("candidate_set").order_by("-wanted_at", "-ordinal"))
    context = context_of(dialogue) if rows else ()
    return next((row for row in rows if matches_context(row, context)), None)


def request_for(user: User, request_id: UUID) -> CandidateRequest:
    """A request of a dialogue that the user writes. Raises NotFound for any other, and for people who left."""
    # By the name of the reverse relation, because this app may not import `annotation`.
    own_requests = CandidateRequest.objects.filter(
        dialogue__assignments__annotator=user, dialogue__project__memberships__user=user
    )
    row = own_requests.select_related("candidate_set").filter(pk=request_id).first()
    if row is None:
        raise NotFound(_("You have no such candidates."), _("Reload the page."))
    return row


def generators_for(user: User) -> QuerySet[Generator]:
    """The generators that the person's projects may use, for people who configure one. Raises NotAllowed for others."""
    if user.is_superuser:
        return servable_generators()
    roles = [role for role, granted in CAPABILITIES.items() if Capability.CONFIGURE in granted]
    projects = list(user.memberships.filter(roles__overlap=roles).values_list("project", flat=True))
    if not projects:
        raise NotAllowed(
            _("Models are set up by people who configure a project."),
            _("Ask a project's manager for that role."),
        )
    return servable_generators().filter(_usable_by(projects)).distinct()


def usable_generators(project: Project, *present: int | None) -> QuerySet[Generator]:
    """What the project may choose: models of the server, its own trained ones, and those shared with it.

    present: keys of generators that it uses now, which stay among them.
    """
    usable = _usable_by([project.pk]) | Q(pk__in=[key for key in present if key is not None])
    return servable_generators().filter(usable).distinct().order_by("slug")


def _usable_by(projects: Iterable[int]) -> Q:
    keys = list(projects)
    return Q(project=None) | Q(project__in=keys) | Q(shared_with__in=keys)


def servable_generators() -> QuerySet[Generator]:
    """All generators except trained models whose files were removed."""
    # By the name of the reverse relation, because this app may not import `preference`.
    return Generator.objects.exclude(registered_model__folder="")


def generator_for(user: User, slug: str) -> Generator:
    row = generators_for(user).filter(slug=slug).first()
    if row is None:
        raise NotFound(_("There is no such model."), _("Look it up in the list of models."))
    return row


def trained_generator_for(user: User, slug: str) -> Generator:
    """A trained model of a project whose members the person manages. Raises NotFound for any other."""
    row = Generator.objects.select_related("project").filter(slug=slug).first()
    granted = capabilities_of(user, row.project) if row and row.project else frozenset()
    if row is None or Capability.MANAGE_MEMBERS not in granted:
        raise NotFound(_("You manage no project with this trained model."), _("Look it up in its project."))
    return row


def generators_from_others(project: Project) -> QuerySet[Generator]:
    """Other projects' trained models that are offered to the project or shared with it; `is_shared` tells which."""
    offered_or_shared = Q(offered_to=project) | Q(shared_with=project)
    is_shared = Exists(
        Generator.shared_with.through.objects.filter(generator=OuterRef("pk"), project=project)
    )
    rows = Generator.objects.filter(offered_or_shared).select_related("project").distinct()
    return rows.annotate(is_shared=is_shared).order_by("slug")


def generator_from_others(project: Project, slug: str) -> Generator:
    row = Generator.objects.filter(slug=slug).exclude(project=None).exclude(project=project).first()
    if row is None:
        raise NotFound(_("There is no such model."), _("It may have been removed."))
    return row


def project_to_share_with(slug: str) -> Project:
    project = Project.objects.filter(slug=slug, archived_at=None).first()
    if project is None:
        raise Refusal(
            "no_project",
            _("There is no project with the short name “%(slug)s”.") % {"slug": slug},
            _("The short name is in the address of its pages: /p/NAME/."),
        )
    return project


def projects_sharing(generator: Generator) -> QuerySet[Project]:
    """Projects that a trained model is offered to or shared with; `is_shared` tells which."""
    offered_or_shared = Q(offered_generators=generator) | Q(shared_generators=generator)
    is_shared = Exists(
        Generator.shared_with.through.objects.filter(generator=generator, project=OuterRef("pk"))
    )
    return Project.objects.filter(offered_or_shared).distinct().annotate(is_shared=is_shared).order_by("slug")


def workers_alive() -> int:
    """How many workers take requests; cached for two seconds."""
    alive = cache.get(_WORKERS_KEY)
    if alive is None:
        alive = live_workers(QUEUE).count()
        cache.set(_WORKERS_KEY, alive, _WORKERS_FOR)
    return int(alive)


def workers_holding(generator: Generator | None) -> dict[str, str]:
    """Live workers that have the model loaded, with its version there. None: the server's own model."""
    slug = generator.slug if generator else ""
    workers = live_workers(QUEUE).filter(details__generators__has_key=slug)
    return {name: details["generators"][slug] for name, details in workers.values_list("name", "details")}


def failures_to_load(generator: Generator) -> dict[str, tuple[str, str]]:
    """Why live workers could not load the model when it was last tried ahead: cause and remedy, by the try's id."""
    rows = live_workers(QUEUE).filter(details__failures__has_key=generator.slug)
    failures = [details["failures"][generator.slug] for details in rows.values_list("details", flat=True)]
    return {
        one["id"]: (translate_sentences(one["cause"]), translate_sentences(one["remedy"])) for one in failures
    }


def worker_with_context(dialogue: Dialogue, generator: Generator | None) -> str:
    """The live worker whose local model wrote the dialogue's latest candidates: it keeps the encoded context."""
    if generator is not None and generator.backend not in BACKENDS_WITH_CONTEXTS:
        return ""
    answered = CandidateRequest.objects.filter(
        dialogue=dialogue, generator=generator, state=RequestState.DONE
    )
    latest = answered.order_by("-started_at").values("worker")[:1]
    return live_workers(QUEUE).filter(name__in=latest).values_list("name", flat=True).first() or ""


def describe_request(request: CandidateRequest) -> dict[str, Any]:
    """A request as pages and the API show it; without the sources of its candidates, which would bias annotators."""
    candidate_set = request.candidate_set
    return {
        "id": request.pk,
        "position": request.position,
        "ordinal": request.ordinal,
        "state": request.state,
        "candidates": _candidates(request, candidate_set) if candidate_set else [],
        "candidate_set": candidate_set.pk if candidate_set else None,
        "model_version": candidate_set.model_version if candidate_set else "",
        "error": translate_sentences(request.error),
        "remedy": translate_sentences(request.remedy),
        "failures": [translate_sentences(reason) for reason in request.failures],
        "workers_alive": workers_alive(),
        "queue_reachable": request.state != RequestState.QUEUED or broker_answers(),
        "waited_ms": _waited_ms(request),
        "generated_ms": _between_ms(request.started_at, request.ended_at),
    }


def _candidates(request: CandidateRequest, candidate_set: CandidateSet) -> list[dict[str, Any]]:
    """The texts, with scores if the project shows them."""
    texts = [{"text": candidate["text"]} for candidate in candidate_set.candidates]
    if not request.shows_scores:
        return texts
    scores = [candidate.get("score") for candidate in candidate_set.candidates]
    return [
        row | ({} if score is None else {"score": score}) for row, score in zip(texts, scores, strict=True)
    ]


def translate_sentences(sentences: str, patterns: Mapping[str, re.Pattern[str]] = BACKEND_PATTERNS) -> str:
    """Sentences in the reader's language. A worker stores them in English because it does not know the reader.

    patterns: sentences with what differs in them, as compile_patterns returns them.
    """
    if not sentences:
        return ""
    return join_sentences(_translate(sentence, patterns) for sentence in SENTENCE_ENDS.split(sentences))


def _translate(sentence: str, patterns: Mapping[str, re.Pattern[str]]) -> str:
    for pattern, expression in patterns.items():
        if match := expression.fullmatch(sentence):
            return _(pattern) % match.groupdict()
    return _(sentence)


def _waited_ms(request: CandidateRequest) -> int | None:
    """From when an annotator first waited to the end, or until now; 0 if it was ready before."""
    waited = _between_ms(request.wanted_at, request.ended_at or clock.now())
    return None if waited is None else max(0, waited)


def _between_ms(start: datetime | None, end: datetime | None) -> int | None:
    return round((end - start).total_seconds() * 1000) if start and end else None


@dataclass(frozen=True, slots=True)
class WaitingStatistics:
    """How long annotators waited for the first candidates of a turn, and how much generating ahead saved.

    turns: answered requests that an annotator waited for. ready, on_the_way: those of them that were made ahead and
    were done, or still running, when the annotator arrived. p50_ms, p95_ms: time from wanted to done, 0 if ready; None
    without turns. unseen: sets made ahead that nobody wanted.
    """

    turns: int
    ready: int
    on_the_way: int
    p50_ms: float | None
    p95_ms: float | None
    unseen: int

    @property
    def hit_rate(self) -> float | None:
        """Share of turns whose candidates were requested before the annotator waited; None without turns."""
        return (self.ready + self.on_the_way) / self.turns if self.turns else None


def waiting_statistics(project: Project) -> WaitingStatistics:
    """Over all first candidate sets of a project. One query."""
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
    return WaitingStatistics(**counted, p50_ms=p50_ms, p95_ms=p95_ms)
