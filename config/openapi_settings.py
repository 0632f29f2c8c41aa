"""Settings of drf-spectacular: how the OpenAPI document describes the API, and the names of its enumerations."""

from typing import Any, Final

from common.rest.api_version import API_VERSION

SPECTACULAR: Final[dict[str, Any]] = {
    "TITLE": "Lapidary",
    "VERSION": API_VERSION,
    "DESCRIPTION": (
        "People and a dialogue model write, judge and improve conversations together. The same services and roles as "
        "the pages. Send `Authorization: Bearer <token>`. Lists come in pages: follow `next`. Errors are problem "
        "details (RFC 9457): `code` is for programs, `detail` names the cause and `remedy` what to do. Where "
        "something is created the client makes its UUID: the same request sent twice is carried out once."
    ),
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {
        "deepLinking": True,
        "filter": True,
        "displayRequestDuration": True,
        "defaultModelsExpandDepth": 0,
    },
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "JobState": "jobs.models.JobState",
        "CandidateRequestState": "generation.models.RequestState",
        "AssignmentState": "annotation.tasks.models.work.AssignmentState",
        "ParticipationState": "assessment.sessions.models.participants.AssignmentState",
        "RunState": "assessment.sessions.models.runs.RunState",
        "TopicMode": "assessment.setup.models.TopicMode",
        "MessageKind": "annotation.onboarding.models.MessageKind",
        "CollectionKind": "assessment.collections.models.CollectionKind",
        "ModelKind": "preference.registry.models.ModelKind",
        "TaskState": "annotation.tasks.models.work.TaskState",
        "LabelOrigin": "annotation.labelling.models.labels.LabelOrigin",
        "SubmissionStage": "annotation.labelling.models.labels.Stage",
        "LabellingStage": "annotation.labelling.serializers.REQUESTED_STAGES",
        "InvitationState": "projects.models.InvitationState",
        "MailState": "projects.models.MailState",
        "WebhookEvent": "projects.models.WebhookEvent",
        "WebhookState": "projects.models.WebhookState",
        "WebhookFault": "projects.models.WebhookFault",
        "DeliveryState": "projects.models.DeliveryState",
        "DeliveryProblem": "projects.models.DeliveryProblem",
        "RoundState": "annotation.tasks.models.rounds.RoundState",
        "AppealState": "annotation.batch_review.models.AppealState",
        "CandidateOrder": "generation.models.CandidateOrder",
        "DialogueOrigin": "dialogues.models.Origin",
        "DialogueState": "dialogues.models.DialogueState",
        "Split": "dialogues.models.Split",
        "Action": "dialogues.models.Action",
        "ImportFormat": "dialogues.serializers.FORMAT_NAMES",
        "ExportFormat": "preference.data.models.exports.FormatName",
        "DialogueLanguage": "projects.models.DialogueLanguage",
        "InterfaceLanguage": "config.settings.LANGUAGES",
        "Role": "projects.models.Role",
        "Scope": "accounts.models.Scope",
    },
}
