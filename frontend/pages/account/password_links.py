"""One-time links to a new password: the page that a link opens, and the page on which operators make one."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods

from accounts.attempts import check_failures, count_failure
from accounts.models import User
from common.refusals import Invalid, Refusal
from frontend.pages.account.new_password import NewPasswordForm
from frontend.pages.requests import posted_uuid, signed_in
from projects.password_links.services import make_operator_link, person_of_link, set_password_by_link


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@sensitive_post_parameters()
@sensitive_variables("key")
def password_link(request: HttpRequest, link_id: UUID) -> HttpResponse:
    """Opening the link changes nothing: programs that preview links open it, too."""
    key = request.POST.get("key", "") if request.method == "POST" else request.GET.get("key", "")
    try:
        check_failures(request, "password_link")
        person = person_of_link(link_id=link_id, token=key)
        form = NewPasswordForm(request.POST or None)
        if form.is_valid() and _set_password(form, link_id, key):
            messages.success(request, _("The password is set. Sign in with it."))
            return redirect("account_login")
    except Refusal as refusal:
        count_failure(request, "password_link")
        return render(request, "errors/refusal.html", {"refusal": refusal}, status=refusal.status)
    context = {"form": form, "person": person, "link_id": link_id, "key": key}
    return render(request, "account/password_link.html", context, status=422 if form.errors else 200)


def _set_password(form: NewPasswordForm, link_id: UUID, key: str) -> bool:
    try:
        set_password_by_link(link_id=link_id, token=key, password=form.cleaned_data["password"])
    except Invalid as refusal:
        form.add_error("password", str(refusal))
        return False
    return True


@login_required
@never_cache
@sensitive_variables("link")
def operator_password_link(request: HttpRequest, user_id: int) -> HttpResponse:
    """Reached from the person in the administration pages. Only the response to the form has the link."""
    operator = signed_in(request)
    if not operator.is_superuser:
        raise Http404
    person = get_object_or_404(User, pk=user_id)
    context: dict[str, Any] = {"person": person, "title": _("Password link")}
    if request.method == "POST":
        link_id = posted_uuid(request, "link_id")
        context["link"] = make_operator_link(actor=operator, user=person, link_id=link_id)
    return render(request, "account/operator_password_link.html", context)


urlpatterns = [
    path("account/password-link/<uuid:link_id>/", password_link, name="password_link"),
    path(
        "account/people/<int:user_id>/password-link/", operator_password_link, name="operator_password_link"
    ),
]
