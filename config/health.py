"""`/healthz` (this process is alive), `/readyz` (it can do its work) and `/metrics` (Prometheus)."""

from __future__ import annotations

import secrets

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_prometheus.exports import ExportToDjangoView

from jobs.selectors import live_workers


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the database and the broker answer and a worker is alive, else 503; each part says its state."""
    parts = {"database": database_answers(), "broker": broker_answers()}
    parts["workers"] = parts["database"] and bool(live_workers())
    states = {name: "ok" if good else "failed" for name, good in parts.items()}
    return JsonResponse(states, status=200 if all(parts.values()) else 503)


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus metrics for who sends `Authorization: Bearer METRICS_TOKEN`; without a token set there is no page."""
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not settings.METRICS_TOKEN or not secrets.compare_digest(
        given.encode(), settings.METRICS_TOKEN.encode()
    ):
        raise Http404
    return ExportToDjangoView(request)


def database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


def broker_answers() -> bool:
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False
