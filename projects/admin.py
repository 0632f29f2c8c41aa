"""Projects in the administration pages, read-only. Changes are made on the pages of a project."""

from django.contrib import admin

from common.read_only_admin import ReadOnlyAdmin
from projects.models import Event, Invitation, Membership, Project, Webhook, WebhookDelivery


@admin.register(Project)
class ProjectAdmin(ReadOnlyAdmin):
    list_display = ["slug", "title", "protocol", "preset", "language", "created_at", "archived_at"]
    list_filter = ["protocol", "language", "archived_at"]
    search_fields = ["slug", "title"]


@admin.register(Membership)
class MembershipAdmin(ReadOnlyAdmin):
    list_display = ["user", "project", "roles", "joined_at"]
    list_select_related = ["user", "project"]
    search_fields = ["user__username", "user__display_name", "project__slug"]


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    """Newest first. The events are not counted."""

    list_display = ["at", "project", "kind", "subject_type", "subject_id", "before", "after", "actor"]
    list_select_related = ["project", "actor"]
    search_fields = ["=subject_id", "=kind", "=project__slug", "=actor__username"]
    list_filter = ["subject_type"]


@admin.register(Invitation)
class InvitationAdmin(ReadOnlyAdmin):
    list_display = [
        "project",
        "name",
        "email",
        "roles",
        "state",
        "made_by",
        "expires_at",
        "accepted_by",
        "mail_state",
    ]
    list_select_related = ["project", "made_by", "accepted_by"]
    list_filter = ["state", "mail_state"]
    search_fields = ["name", "email", "project__slug"]
    exclude = ["digest"]


@admin.register(Webhook)
class WebhookAdmin(ReadOnlyAdmin):
    list_display = ["project", "url", "state", "fault", "failures", "paused_until", "made_by", "created_at"]
    list_select_related = ["project", "made_by"]
    list_filter = ["state", "fault"]
    search_fields = ["url", "project__slug"]
    exclude = ["secret", "previous_secret"]


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    list_display = ["webhook", "type", "subject", "state", "attempts", "waiting_since", "status", "problem"]
    list_select_related = ["webhook__project"]
    list_filter = ["state", "type"]
    search_fields = ["=subject", "=webhook__project__slug"]
    raw_id_fields = ["webhook", "event"]
