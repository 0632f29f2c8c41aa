"""The invitations of a project: one person or a list of them, links, states, revoking."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import uuid4

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_POST, require_safe

from accounts.mail import is_mail_set_up
from common.refusals import Refusal
from frontend.pages.requests import signed_in
from frontend.ui.paging import keyset_page, parse_number
from projects.invitations.invitees import MAX_CHARS, MAX_NAME, MAX_PEOPLE, Invitee, Line, parse_people
from projects.invitations.links import invitation_url
from projects.invitations.selectors import invitation_for, invitations_of, mark_known_people
from projects.invitations.services import invite_by_link, renew_link, revoke_invitation
from projects.models import Invitation, InvitationState, Project, Role
from projects.roles import Capability
from projects.selectors import project_for

SHOWN_KEY: Final = "shown_invitations"  # in the session
SHOWN_FOR: Final = timedelta(minutes=10)


class MailingForm(forms.Form):
    """Base class: the choice to send links by email is there only if the server can."""

    by_mail = forms.BooleanField(label=gettext_lazy("Also send the link by email"), required=False)
    request_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not is_mail_set_up():
            del self.fields["by_mail"]

    @property
    def is_by_mail(self) -> bool:
        return bool(self.cleaned_data.get("by_mail"))


class PersonForm(MailingForm):
    name = forms.CharField(label=pgettext_lazy("of a person", "Name"), max_length=MAX_NAME, required=False)
    email = forms.EmailField(
        label=gettext_lazy("Email"),
        max_length=254,
        required=False,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("A name or an address is enough."),
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        required=False,
        choices=[("", gettext_lazy("As the browser")), *settings.LANGUAGES],
    )
    roles = forms.MultipleChoiceField(
        label=gettext_lazy("Roles"),
        choices=Role.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=[Role.ANNOTATOR],
    )
    field_order = ("name", "email", "language", "roles", "by_mail", "request_id")

    def invitee(self) -> Invitee:
        data = self.cleaned_data
        name = " ".join(data["name"].split())
        return Invitee(tuple(data["roles"]), name, data["email"], data["language"])


class ListForm(MailingForm):
    people = forms.CharField(
        label=gettext_lazy("One person per line: name, email, role, language"),
        max_length=MAX_CHARS,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "autocomplete": "off"}),
        help_text=gettext_lazy(
            "Several roles: annotator+controller. The language (en or zh) may be left out."
        ),
    )
    field_order = ("people", "by_mail", "request_id")


def _project(request: HttpRequest, slug: str) -> Project:
    return project_for(signed_in(request), slug, Capability.MANAGE_MEMBERS)


@require_safe
@login_required
@never_cache
def invitations(request: HttpRequest, slug: str) -> HttpResponse:
    project = _project(request, slug)
    return _render(request, project, _shown_links(request, project))


def _redirect_to_links(request: HttpRequest, project: Project, made: Sequence[Invitation]) -> HttpResponse:
    """Show the list with these links, so that a reload sends no form again.

    The session keeps which invitations they are, for a short time; never the links, which are made from the rows.
    """
    request.session[SHOWN_KEY] = {
        "project": project.pk,
        "ids": [one.pk for one in made],
        "until": (timezone.now() + SHOWN_FOR).timestamp(),
    }
    return redirect("invitations", project.slug)


def _shown_links(request: HttpRequest, project: Project) -> list[Invitation]:
    """The invitations that the person made or asked for just now, here."""
    shown = request.session.get(SHOWN_KEY)
    if not shown or shown["project"] != project.pk:
        return []
    if timezone.now().timestamp() > shown["until"]:
        del request.session[SHOWN_KEY]
        return []
    return list(invitations_of(project).filter(pk__in=shown["ids"]).order_by("pk"))


@sensitive_variables("made", "links")
def _render(
    request: HttpRequest, project: Project, made: Sequence[Invitation] = (), **more: Any
) -> HttpResponse:
    """made: whose links this response shows."""
    rows = invitations_of(project)
    links = [(one.name or one.email, one.email, invitation_url(one)) for one in made if one.is_valid]
    context = {
        "project": project,
        "title": _("Invitations"),
        "page": keyset_page(rows, request.GET.get("before")),
        "open_count": rows.filter(state=InvitationState.OPEN).count(),
        "links": links,
        "person_form": PersonForm(auto_id="person_%s"),
        "list_form": ListForm(auto_id="list_%s"),
        **more,
    }
    return render(request, "projects/invitations/list.html", context, status=more.get("status", 200))


@require_POST
@login_required
@never_cache
def invite_one(request: HttpRequest, slug: str) -> HttpResponse:
    project = _project(request, slug)
    form = PersonForm(request.POST, auto_id="person_%s")
    if form.is_valid():
        try:
            made = invite_by_link(
                project=project,
                actor=signed_in(request),
                request_id=form.cleaned_data["request_id"],
                people=[form.invitee()],
                by_mail=form.is_by_mail,
            )
            return _redirect_to_links(request, project, made)
        except Refusal as refusal:
            form.add_error(None, str(refusal))
    return _render(request, project, person_form=form, status=422)


@require_POST
@login_required
@never_cache
def invite_list(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what the lines say; with `confirmed`, invite all of them. The lines are read and checked again then."""
    project = _project(request, slug)
    form = ListForm(request.POST, auto_id="list_%s")
    if not form.is_valid():
        return _render(request, project, list_form=form, status=422)
    lines = parse_people(form.cleaned_data["people"])
    mark_known_people(project, lines)
    if len(lines) > MAX_PEOPLE:
        form.add_error("people", _("A list may have at most %(most)d people.") % {"most": MAX_PEOPLE})
        return _render(request, project, list_form=form, status=422)
    try:
        if "confirmed" in request.POST and not _has_problems(lines):
            return _redirect_to_links(request, project, _invite_lines(request, project, form, lines))
    except Refusal as refusal:
        form.add_error(None, str(refusal))
    return _preview(request, project, form, lines)


def _has_problems(lines: Sequence[Line]) -> bool:
    return any(line.problems for line in lines)


def _invite_lines(
    request: HttpRequest, project: Project, form: ListForm, lines: Sequence[Line]
) -> list[Invitation]:
    return invite_by_link(
        project=project,
        actor=signed_in(request),
        request_id=form.cleaned_data["request_id"],
        people=[line.invitee for line in lines],
        by_mail=form.is_by_mail,
    )


def _preview(request: HttpRequest, project: Project, form: ListForm, lines: Sequence[Line]) -> HttpResponse:
    bad = [line for line in lines if line.problems]
    context = {
        "project": project,
        "title": _("Invitations"),
        "form": form,
        "lines": lines,
        "bad_count": len(bad),
    }
    status = 422 if bad or form.errors or not lines else 200
    return render(request, "projects/invitations/preview.html", context, status=status)


@require_POST
@login_required
@never_cache
def show_link(request: HttpRequest, slug: str, invitation_id: int) -> HttpResponse:
    """The link of a valid invitation; with `version`, a new one."""
    project = _project(request, slug)
    if version := parse_number(request.POST.get("version")):
        row = renew_link(
            project=project, actor=signed_in(request), invitation_id=invitation_id, version=version
        )
    else:
        row = invitation_for(project, invitation_id)
    return _redirect_to_links(request, project, [row])


@require_POST
@login_required
def revoke(request: HttpRequest, slug: str, invitation_id: int) -> HttpResponse:
    revoke_invitation(project=_project(request, slug), actor=signed_in(request), invitation_id=invitation_id)
    messages.success(request, _("Revoked: the link no longer works."))
    return redirect("invitations", slug)


urlpatterns = [
    path("p/<slug:slug>/invitations/", invitations, name="invitations"),
    path("p/<slug:slug>/invitations/one/", invite_one, name="invite_one"),
    path("p/<slug:slug>/invitations/list/", invite_list, name="invite_list"),
    path("p/<slug:slug>/invitations/<int:invitation_id>/link/", show_link, name="invitation_link"),
    path("p/<slug:slug>/invitations/<int:invitation_id>/revoke/", revoke, name="invitation_revoke"),
]
