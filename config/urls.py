"""Addresses: pages at the root, the REST API under /api/v1/."""

from allauth.account.decorators import secure_admin_login
from django.conf import settings
from django.contrib import admin
from django.urls import include, path

from config.health import healthz, metrics, readyz

# The administration signs in where everybody does: with the rate limit and the second factor.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

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
    urlpatterns += [path("styleguide/", include("frontend.pages.styleguide.urls"))]
