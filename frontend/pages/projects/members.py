"""The members of a project: add, invite, change roles, remove, undo."""

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Value
from django.db.models.functions import Coalesce, Lower, NullIf
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST
from django_htmx.http import trigger_client_event

from accounts.services import ONE_TIME_PASSWORD_DAYS, find_person
from common.refusals import Refusal
from frontend.pages.requests import posted_uuid, signed_in
from frontend.ui.sorting import Column, chosen_sorting, sorted_page
from projects.models import Membership, Project, Protocol, Role
from projects.password_links.selectors import renewable_people
from projects.password_links.services import make_member_link
from projects.roles import Capability
from projects.selectors import find_member, groups_of, members_of, project_for
from projects.services import (
    MAX_GROUP_NAME,
    RolesChange,
    invite_person,
    remove_member,
    renew_invitation,
    set_group,
    set_member,
    set_member_languages,
)

NEWEST = "-joined"
COLUMNS = {
    "joined": Column("pk", falls_first=True),
    "name": Column(Lower(Coalesce(NullIf("user__display_name", Value("")), "user__username"))),
    "group": Column("group"),
}


class RolesForm(forms.Form):
    roles = forms.MultipleChoiceField(
        label=gettext_lazy("Roles"), choices=Role.choices, widget=forms.CheckboxSelectMultiple, required=False
    )


class AddForm(forms.Form):
    who = forms.CharField(
        label=gettext_lazy("Sign-in name or email address"),
        max_length=254,
        widget=forms.TextInput(attrs={"autocomplete": "off", "data-key": "i"}),
    )
    roles = forms.MultipleChoiceField(
        label=gettext_lazy("Roles"),
        choices=Role.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=[Role.ANNOTATOR],
    )


class InviteForm(forms.Form):
    username = forms.CharField(
        label=gettext_lazy("Sign-in name"),
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Letters, digits and @ . + - _"),
    )
    display_name = forms.CharField(label=gettext_lazy("Name shown to others"), max_length=80, required=False)
    email = forms.EmailField(
        label=gettext_lazy("Email"),
        required=False,
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("For a forgotten password."),
    )
    roles = forms.MultipleChoiceField(
        label=gettext_lazy("Roles"),
        choices=Role.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=[Role.ANNOTATOR],
    )
    invitation_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)


def _project(request: HttpRequest, slug: str) -> Project:
    return project_for(signed_in(request), slug, Capability.MANAGE_MEMBERS)


@login_required
@never_cache
def members(request: HttpRequest, slug: str) -> HttpResponse:
    return _render(request, _project(request, slug))


def _render(request: HttpRequest, project: Project, **more: Any) -> HttpResponse:
    search = request.GET.get("q", "").replace("\0", "").strip()[:150]
    rows = members_of(project, search)
    sorting = chosen_sorting(request.GET, COLUMNS, NEWEST)
    page = sorted_page(rows, sorting, request.GET.get("before"))
    context: dict[str, Any] = {
        "project": project,
        "title": _("Members"),
        "page": page,
        "sorting": sorting,
        "count": members_of(project).count(),
        "search": search,
        "groups": groups_of(project),
        **_columns(request, project, page.rows),
        "add_form": AddForm(auto_id="add_%s"),
        "invite_form": InviteForm(auto_id="invite_%s"),
        **more,
    }
    return render(request, "projects/members/members.html", context, status=more.get("status", 200))


def _columns(request: HttpRequest, project: Project, rows: Iterable[Membership]) -> dict[str, Any]:
    """The context of members/row.html. Only labelling projects plan dialogues for groups; studies give out no tasks."""
    actor = signed_in(request)
    others = [row.user for row in rows if row.user_id != actor.pk and not row.user.temporary_password_until]
    return {
        "roles": Role.choices,
        "has_languages": project.protocol != Protocol.ASSESSMENT,
        "has_groups": project.protocol == Protocol.LABELLING,
        "max_group_name": MAX_GROUP_NAME,
        "renewable": renewable_people(actor, others),
    }


@require_POST
@login_required
def add(request: HttpRequest, slug: str) -> HttpResponse:
    project = _project(request, slug)
    form = AddForm(request.POST, auto_id="add_%s")
    if form.is_valid():
        try:
            change = set_member(
                project=project,
                actor=signed_in(request),
                user=find_person(form.cleaned_data["who"]),
                roles=form.cleaned_data["roles"],
            )
        except Refusal as refusal:
            form.add_error("who", str(refusal))
        else:
            messages.success(request, _describe_change(change))
            return redirect("members", slug)
    return _render(request, project, add_form=form, status=422)


def _describe_change(change: RolesChange) -> str:
    roles = pgettext("list", ", ").join(str(Role(role).label) for role in change.after or ())
    words = (
        _("%(name)s takes part as: %(roles)s.") if change.is_new else _("%(name)s has the roles: %(roles)s.")
    )
    return words % {"name": change.user.shown_name, "roles": roles}


@require_POST
@login_required
@never_cache
@sensitive_variables("plain")
def invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Create an account. Only this response has its one-time password; sending the form again creates a new one."""
    project = _project(request, slug)
    form = InviteForm(request.POST, auto_id="invite_%s")
    if not form.is_valid():
        return _render(request, project, invite_form=form, status=422)
    try:
        user, plain = invite_person(project=project, actor=signed_in(request), **form.cleaned_data)
    except Refusal as refusal:
        form.add_error(refusal.details.get("field"), str(refusal))
        return _render(request, project, invite_form=form, status=422)
    return _render(request, project, made=user, plain=plain, days=ONE_TIME_PASSWORD_DAYS)


@require_POST
@login_required
@never_cache
@sensitive_variables("plain")
def renew(request: HttpRequest, slug: str, username: str) -> HttpResponse:
    """A new one-time password for a person who has not chosen a password yet."""
    project = _project(request, slug)
    user = find_member(project, username)
    plain = renew_invitation(project=project, actor=signed_in(request), user=user)
    return _render(request, project, made=user, plain=plain, days=ONE_TIME_PASSWORD_DAYS)


@require_POST
@login_required
@never_cache
@sensitive_variables("link")
def password_link(request: HttpRequest, slug: str, username: str) -> HttpResponse:
    """A link with which a member sets a new password. Only this response has it."""
    project = _project(request, slug)
    link = make_member_link(
        project=project,
        actor=signed_in(request),
        user=find_member(project, username),
        link_id=posted_uuid(request, "link_id"),
    )
    return _render(request, project, password_link=link)


@require_POST
@login_required
def change_roles(request: HttpRequest, slug: str, username: str) -> HttpResponse:
    """Set exactly the ticked roles or, to undo, the comma-separated roles in `before`.

    After a refusal the row shows the current roles.
    """
    project = _project(request, slug)
    before = request.POST.get("before")
    form = RolesForm(request.POST if before is None else {"roles": before.split(",")})
    form.is_valid()
    try:
        change = set_member(
            project=project,
            actor=signed_in(request),
            user=find_person(username),
            roles=form.cleaned_data.get("roles", []),
        )
    except Refusal as refusal:
        return _refused(request, project, username, refusal)
    return _changed(request, project, change)


@require_POST
@login_required
def remove(request: HttpRequest, slug: str, username: str) -> HttpResponse:
    project = _project(request, slug)
    try:
        change = remove_member(project=project, actor=signed_in(request), user=find_member(project, username))
    except Refusal as refusal:
        return _refused(request, project, username, refusal)
    return _changed(request, project, change)


def _changed(request: HttpRequest, project: Project, change: RolesChange) -> HttpResponse:
    """The row after the change, with an undo button."""
    if "HX-Request" not in request.headers:
        messages.success(request, _describe_change(change) if change.after else _removed(change))
        return redirect("members", project.slug)
    return _render_row(request, project, change.user.username, change=change)


def _render_row(request: HttpRequest, project: Project, username: str, **more: Any) -> HttpResponse:
    row = members_of(project).filter(user__username=username).first()
    columns = _columns(request, project, [row] if row else [])
    return render(request, "projects/members/row.html", {"project": project, "row": row, **columns, **more})


@require_POST
@login_required
def change_group(request: HttpRequest, slug: str, username: str) -> HttpResponse:
    """Put a member into a group; an empty name removes them from it."""
    project = _project(request, slug)
    try:
        set_group(
            project=project,
            actor=signed_in(request),
            user=find_member(project, username),
            group=request.POST.get("group", ""),
        )
    except Refusal as refusal:
        return _refused(request, project, username, refusal)
    if "HX-Request" not in request.headers:
        return redirect("members", slug)
    page = _render_row(request, project, username)
    return trigger_client_event(page, "toast", {"text": _("Saved."), "tone": "good"})


@require_POST
@login_required
def change_languages(request: HttpRequest, slug: str, username: str) -> HttpResponse:
    """Set exactly the ticked languages; none: every language."""
    project = _project(request, slug)
    user = find_member(project, username)
    try:
        set_member_languages(
            project=project,
            actor=signed_in(request),
            user=user,
            languages=request.POST.getlist("reading_languages"),
        )
    except Refusal as refusal:
        return _refused(request, project, username, refusal)
    if "HX-Request" not in request.headers:
        messages.success(request, _("Saved."))
        return redirect("members", slug)
    page = _render_row(request, project, username)
    return trigger_client_event(page, "toast", {"text": _("Saved."), "tone": "good"})


def _removed(change: RolesChange) -> str:
    return _("%(name)s is no longer a member. The work stays.") % {"name": change.user.shown_name}


def _refused(request: HttpRequest, project: Project, username: str, refusal: Refusal) -> HttpResponse:
    is_member = members_of(project).filter(user__username=username).exists()
    if not is_member or "HX-Request" not in request.headers:
        raise refusal
    page = _render_row(request, project, username)
    return trigger_client_event(page, "toast", {"text": str(refusal), "tone": "bad"})


urlpatterns = [
    path("p/<slug:slug>/members/", members, name="members"),
    path("p/<slug:slug>/members/add/", add, name="member_add"),
    path("p/<slug:slug>/members/invite/", invite, name="member_invite"),
    path("p/<slug:slug>/members/<str:username>/roles/", change_roles, name="member_roles"),
    path("p/<slug:slug>/members/<str:username>/group/", change_group, name="member_group"),
    path("p/<slug:slug>/members/<str:username>/languages/", change_languages, name="member_languages"),
    path("p/<slug:slug>/members/<str:username>/remove/", remove, name="member_remove"),
    path("p/<slug:slug>/members/<str:username>/password/", renew, name="member_password"),
    path("p/<slug:slug>/members/<str:username>/password-link/", password_link, name="member_password_link"),
]
