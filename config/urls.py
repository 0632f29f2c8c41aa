"""Addresses: pages at the root, the REST API under /api/v1/."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path

from config.health import healthz, metrics, readyz

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("api/", include("config.api_urls")),
    path("", include("frontend.urls")),
]

handler400 = "frontend.pages.errors.bad_request"
handler403 = "frontend.pages.errors.permission_denied"
handler404 = "frontend.pages.errors.not_found"
handler500 = "frontend.pages.errors.server_error"

if settings.DEBUG:
    urlpatterns += [path("styleguide/", include("frontend.styleguide_urls"))]
