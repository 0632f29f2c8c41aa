"""The REST API. Every app's `api.py` names its own addresses."""

from typing import Any

from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from common.rest.unknown_address import UnknownAddressView


class FormatInQuery(DefaultContentNegotiation):
    """`?format=json` or yaml, besides the header Accept; elsewhere `format` is that of a file."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        wanted = format_suffix or request.query_params.get("format")
        chosen: tuple[BaseRenderer, str] = super().select_renderer(request, renderers, wanted)
        return chosen


v1 = [
    path("", include("accounts.api")),
    path("", include("annotation.project_setup.api")),  # before projects.api: one address, GET and POST
    path("", include("projects.api")),
    path("", include("projects.invitations.api")),
    path("", include("projects.password_links.api")),
    path("", include("projects.webhooks.api")),
    path("", include("jobs.api")),
    path("", include("dialogues.api")),
    path("", include("generation.api")),
    path("", include("annotation.people.api")),
    path("", include("annotation.tasks.api")),
    path("", include("annotation.labelling.agreement_api")),
    path("", include("annotation.authoring.api")),
    path("", include("annotation.batch_review.api.urls")),
    path("", include("annotation.labelling.api")),
    path("", include("annotation.labelling.labels_api")),
    path("", include("annotation.expert_review.api")),
    path("", include("annotation.labelling.schemas_api")),
    path("", include("annotation.labelling.settings_api")),
    path("", include("annotation.authoring.statistics_api")),
    path("", include("annotation.onboarding.api")),
    path("", include("assessment.collections.api")),
    path("", include("assessment.report.api")),
    path("", include("assessment.sessions.api")),
    path("", include("preference.deletion.api")),
    path("", include("preference.data.exports_api")),
    path("", include("preference.data.hub_tokens_api")),
    path("", include("preference.data.snapshots_api")),
    path("", include("preference.runs.api")),
    path("", include("preference.registry.api")),
    path("", include("preference.registry.uploads_api")),
    path("", include("preference.evaluation.api")),
    path("", include("preference.evaluators.api")),
    path("", include("preference.topics.api")),
]

urlpatterns = [
    path("v1/", include(v1)),
    path("schema/", SpectacularAPIView.as_view(content_negotiation_class=FormatInQuery), name="api-schema"),
    path("docs/", SpectacularSwaggerSplitView.as_view(url_name="api-schema"), name="api-docs"),
    re_path(r"", UnknownAddressView.as_view()),
]
