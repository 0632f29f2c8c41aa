"""The messages of scripts: Django's JavaScript catalog of the `djangojs` domain, one file per language.

The URL contains a hash of the content, so browsers cache the file for a year and a new translation has a new URL.
static/js/shared/page.js gives its functions to the modules.
"""

from functools import cache
from hashlib import sha256

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils.cache import get_conditional_response
from django.utils.translation import override
from django.views.decorators.http import require_safe
from django.views.i18n import JavaScriptCatalog, JSONCatalog

PACKAGES = ["frontend"]
YEAR = 365 * 24 * 3600


def catalog_url(language: str) -> str:
    return reverse("message_catalog", args=[language, _version(_render(language, JavaScriptCatalog))])


def catalog_json_url(language: str) -> str:
    return reverse("message_catalog_json", args=[language, _version(_render(language, JSONCatalog))])


@cache
def _render(language: str, view: type[JavaScriptCatalog]) -> bytes:
    if language not in dict(settings.LANGUAGES):
        raise Http404(language)
    with override(language):
        response: HttpResponse = view(packages=PACKAGES).get(HttpRequest())
    return response.content


def _version(content: bytes) -> str:
    return sha256(content).hexdigest()[:12]


@require_safe
def message_catalog(request: HttpRequest, language: str, version: str) -> HttpResponse:
    return _respond(request, _render(language, JavaScriptCatalog), version, "text/javascript; charset=utf-8")


@require_safe
def message_catalog_json(request: HttpRequest, language: str, version: str) -> HttpResponse:
    return _respond(request, _render(language, JSONCatalog), version, "application/json")


def _respond(request: HttpRequest, content: bytes, version: str, content_type: str) -> HttpResponse:
    """An older URL gives the current catalog, uncached, to pages that are still open."""
    newest = _version(content)
    fresh = f"public, max-age={YEAR}, immutable" if version == newest else "no-cache"
    response = HttpResponse(content, content_type=content_type, headers={"Cache-Control": fresh})
    response.headers["ETag"] = f'"{newest}"'
    return get_conditional_response(request, etag=response.headers["ETag"], response=response) or response


urlpatterns = [
    path("jsi18n/<str:language>/<slug:version>.js", message_catalog, name="message_catalog"),
    path("jsi18n/<str:language>/<slug:version>.json", message_catalog_json, name="message_catalog_json"),
]
