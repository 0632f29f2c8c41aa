"""Addresses of the pages: every feature names its own."""

from django.urls import path

from frontend.pages import (
    account,
    admission,
    authoring,
    dialogues,
    disagreed,
    exports,
    guidelines,
    home,
    imports,
    jobs,
    labelling,
    members,
    project_settings,
    projects,
    queue,
    review,
    service_worker,
    statistics,
    threads,
)

urlpatterns = [
    *home.urlpatterns,
    *projects.urlpatterns,
    *guidelines.urlpatterns,
    *project_settings.urlpatterns,
    *members.urlpatterns,
    *jobs.urlpatterns,
    *queue.urlpatterns,
    *authoring.urlpatterns,
    *labelling.urlpatterns,
    *review.urlpatterns,
    *admission.urlpatterns,
    *disagreed.urlpatterns,
    *threads.urlpatterns,
    *dialogues.urlpatterns,
    *statistics.urlpatterns,
    *imports.urlpatterns,
    *exports.urlpatterns,
    *service_worker.urlpatterns,
    # Your account. What signing in needs is allauth's, under /accounts/.
    path("account/", account.profile, name="profile"),
    path("account/tokens/", account.api_tokens, name="api_tokens"),
    path("account/tokens/<int:token_id>/revoke/", account.revoke_api_token, name="revoke_api_token"),
    path("account/language/", account.set_language, name="set_language"),
    path("account/theme/", account.set_theme, name="set_theme"),
]
