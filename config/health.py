"""`/healthz` (this process is alive), `/readyz` (it can do its work) and `/metrics` (Prometheus)."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST

from config.busy_threads import BUSY_THREADS
from config.metrics import QUEUES, render_metrics
from jobs.broker import broker_answers
from jobs.selectors import live_workers


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """200 while the database answers and a thread is free, else 503; the JSON names each part.

    A broker that is away or a missing worker is reported and does not fail the check: a balancer would otherwise take
    every web server away, and people could no longer save. `?workers=required` makes it fail, for scripts that wait
    until everything is up.
    """
    parts = {"database": database_answers(), "threads": BUSY_THREADS.has_free}
    workers = {f"worker_{queue}": parts["database"] and live_workers(queue).exists() for queue in QUEUES}
    others = {"broker": broker_answers(), **workers}
    needed = {**parts, **others} if request.GET.get("workers") == "required" else parts
    states = {name: "ok" if good else "failed" for name, good in {**parts, **others}.items()}
    return JsonResponse(states, status=200 if all(needed.values()) else 503)


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus metrics for requests with the token as `Authorization: Bearer`; 404 if METRICS_TOKEN is unset."""
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not settings.METRICS_TOKEN or not secrets.compare_digest(
        given.encode(), settings.METRICS_TOKEN.encode()
    ):
        raise Http404
    return HttpResponse(render_metrics(), content_type=CONTENT_TYPE_LATEST)


def database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True
