"""Addresses of the pages: every feature names its own."""

from django.urls import path

from frontend.pages import message_catalog, service_worker
from frontend.pages.account import account
from frontend.pages.authoring import authoring, statistics
from frontend.pages.batch_review import appeals, batch_boards, batches, sample_review
from frontend.pages.data import dialogues, exports, imports, snapshots
from frontend.pages.expert_review import review
from frontend.pages.jobs import jobs
from frontend.pages.labelling import agreement, confirmations, disagreement, disputes, labelling, schema
from frontend.pages.learning import evaluations, models, training
from frontend.pages.onboarding import admission, guidelines, threads
from frontend.pages.projects import home, members, project_settings, projects
from frontend.pages.tasks import queue

urlpatterns = [
    *home.urlpatterns,
    *projects.urlpatterns,
    *guidelines.urlpatterns,
    *project_settings.urlpatterns,
    *schema.urlpatterns,
    *members.urlpatterns,
    *jobs.urlpatterns,
    *queue.urlpatterns,
    *authoring.urlpatterns,
    *labelling.urlpatterns,
    *review.urlpatterns,
    *batches.urlpatterns,
    *batch_boards.urlpatterns,
    *appeals.urlpatterns,
    *sample_review.urlpatterns,
    *admission.urlpatterns,
    *confirmations.urlpatterns,
    *disputes.urlpatterns,
    *disagreement.urlpatterns,
    *threads.urlpatterns,
    *dialogues.urlpatterns,
    *agreement.urlpatterns,
    *statistics.urlpatterns,
    *imports.urlpatterns,
    *exports.urlpatterns,
    *snapshots.urlpatterns,
    *training.urlpatterns,
    *models.urlpatterns,
    *evaluations.urlpatterns,
    *message_catalog.urlpatterns,
    *service_worker.urlpatterns,
    # Your account. What signing in needs is allauth's, under /accounts/.
    path("account/", account.profile, name="profile"),
    path("account/tokens/", account.api_tokens, name="api_tokens"),
    path("account/tokens/<int:token_id>/revoke/", account.revoke_api_token, name="revoke_api_token"),
    path("account/language/", account.set_language, name="set_language"),
    path("account/theme/", account.set_theme, name="set_theme"),
]
