"""The URLs of all pages. Each page module defines its own."""

from frontend.pages import message_catalog, service_worker
from frontend.pages.account import api_tokens, password_links, preferences, profile
from frontend.pages.assessment import (
    collections,
    join,
    participants,
    report,
    runs,
    study_settings,
    system_trial,
    systems,
    taking_part,
    turns,
)
from frontend.pages.authoring import statistics
from frontend.pages.authoring import workbench as authoring_workbench
from frontend.pages.batch_review import accuracy, appeals, batch, batches, boards, sample_review
from frontend.pages.data import deletion, dialogues, exports, hub_token, imports, snapshots
from frontend.pages.evaluators import assessments, meta_evaluation, scoring
from frontend.pages.expert_review import review
from frontend.pages.jobs import job, job_list
from frontend.pages.labelling import agreement, confirmations, disagreement, disputes, schema
from frontend.pages.labelling import workbench as labelling_workbench
from frontend.pages.learning import evaluations, models, sharing, training, training_comparison
from frontend.pages.onboarding import admission, admission_test, guidelines, threads
from frontend.pages.projects import (
    copying,
    history,
    home,
    invitation,
    invitations,
    members,
    new_project,
    overview,
    person,
    replanning,
    settings,
    webhooks,
)
from frontend.pages.projects import deletion as project_deletion
from frontend.pages.tasks import queue
from frontend.pages.topics import topics

urlpatterns = [
    *home.urlpatterns,
    *new_project.urlpatterns,
    *overview.urlpatterns,
    *guidelines.urlpatterns,
    *settings.urlpatterns,
    *replanning.urlpatterns,
    *copying.urlpatterns,
    *project_deletion.urlpatterns,
    *webhooks.urlpatterns,
    *history.urlpatterns,
    *schema.urlpatterns,
    *members.urlpatterns,
    *person.urlpatterns,
    *invitations.urlpatterns,
    *invitation.urlpatterns,
    *job_list.urlpatterns,
    *job.urlpatterns,
    *queue.urlpatterns,
    *authoring_workbench.urlpatterns,
    *labelling_workbench.urlpatterns,
    *review.urlpatterns,
    *batches.urlpatterns,
    *batch.urlpatterns,
    *boards.urlpatterns,
    *appeals.urlpatterns,
    *accuracy.urlpatterns,
    *sample_review.urlpatterns,
    *admission_test.urlpatterns,
    *admission.urlpatterns,
    *confirmations.urlpatterns,
    *disputes.urlpatterns,
    *disagreement.urlpatterns,
    *threads.urlpatterns,
    *dialogues.urlpatterns,
    *deletion.urlpatterns,
    *agreement.urlpatterns,
    *statistics.urlpatterns,
    *report.urlpatterns,
    *systems.urlpatterns,
    *system_trial.urlpatterns,
    *runs.urlpatterns,
    *collections.urlpatterns,
    *participants.urlpatterns,
    *taking_part.urlpatterns,
    *study_settings.urlpatterns,
    *join.urlpatterns,
    *turns.urlpatterns,
    *imports.urlpatterns,
    *exports.urlpatterns,
    *hub_token.urlpatterns,
    *snapshots.urlpatterns,
    *training.urlpatterns,
    *training_comparison.urlpatterns,
    *models.urlpatterns,
    *sharing.urlpatterns,
    *evaluations.urlpatterns,
    *scoring.urlpatterns,
    *assessments.urlpatterns,
    *meta_evaluation.urlpatterns,
    *topics.urlpatterns,
    *message_catalog.urlpatterns,
    *service_worker.urlpatterns,
    *profile.urlpatterns,
    *password_links.urlpatterns,
    *api_tokens.urlpatterns,
    *preferences.urlpatterns,
]
