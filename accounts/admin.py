"""Accounts in the administration pages."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.models import ApiToken, User
from accounts.services import revoke_token
from common.read_only_admin import ReadOnlyAdmin


@admin.register(User)
class PersonAdmin(UserAdmin):  # type: ignore[type-arg]
    """The only model that is edited in the administration pages. Accounts are deactivated, never deleted."""

    list_display = [
        "username",
        "display_name",
        "email",
        "language",
        "is_active",
        "is_superuser",
        "last_login",
    ]
    list_filter = ["is_active", "is_superuser", "imported", "language"]
    search_fields = ["username", "display_name", "email"]
    ordering = ["username"]
    list_per_page = 50
    show_full_result_count = False
    fieldsets = [
        *(UserAdmin.fieldsets or ()),
        (
            _("Preferences"),
            {"fields": ["display_name", "language", "theme", "submit_on_enter", "reading_languages"]},
        ),
    ]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # `manage.py create_user` and the members page of a project give a one-time password

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False  # their work refers to them


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    list_display = [
        "prefix",
        "name",
        "user",
        "scopes",
        "created_at",
        "expires_at",
        "last_used_at",
        "revoked_at",
    ]
    list_filter = ["revoked_at", "expires_at"]
    search_fields = ["name", "prefix", "user__username"]
    list_select_related = ["user"]
    exclude = ["digest"]
    actions = ["revoke"]

    @admin.action(description=_("Revoke the chosen tokens"), permissions=["view"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        for token in queryset.select_related("user"):
            revoke_token(user=token.user, token_id=token.pk)
