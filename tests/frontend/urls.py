"""The site with its style guide, which the real one shows with DEBUG only."""

from django.urls import include, path

from config.urls import handler400, handler403, handler404, handler500, urlpatterns

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]

urlpatterns = [*urlpatterns, path("styleguide/", include("frontend.pages.styleguide.urls"))]
