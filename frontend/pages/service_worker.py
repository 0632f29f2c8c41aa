"""The service worker, at a URL whose scope is the whole site."""

from pathlib import Path

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.http import require_safe

SCRIPT = Path(__file__).resolve().parent.parent / "static" / "js" / "service_worker.js"


@require_safe
def service_worker(request: HttpRequest) -> HttpResponse:
    # Not cached: browsers compare it byte by byte to detect a new version.
    headers = {"Cache-Control": "no-cache", "Service-Worker-Allowed": "/"}
    return HttpResponse(SCRIPT.read_bytes(), content_type="text/javascript; charset=utf-8", headers=headers)


urlpatterns = [path("service-worker.js", service_worker, name="service_worker")]
