"""The REST API. Every app's `api.py` names its own addresses."""

from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from accounts.rest.unknown import UnknownAddress

v1 = [
    path("", include("accounts.api")),
    path("", include("annotation.projects_api")),  # before projects.api: one address, GET and POST
    path("", include("projects.api")),
    path("", include("jobs.api")),
    path("", include("dialogues.api")),
    path("", include("generation.api")),
    path("", include("annotation.agreement_api")),
    path("", include("annotation.api")),
    path("", include("annotation.batches_api")),
    path("", include("annotation.labelling_api")),
    path("", include("annotation.review_api")),
    path("", include("annotation.schemas_api")),
    path("", include("annotation.statistics_api")),
    path("", include("annotation.training_api")),
    path("", include("preference.api")),
    path("", include("preference.snapshots_api")),
    path("", include("preference.training_runs_api")),
    path("", include("preference.registry_api")),
]

urlpatterns = [
    path("v1/", include(v1)),
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("docs/", SpectacularSwaggerSplitView.as_view(url_name="api-schema"), name="api-docs"),
    re_path(r"", UnknownAddress.as_view()),
]
