"""Webhooks of a project: added, changed, tested; what was sent to them, and sent again."""

from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from common.refusals import Invalid
from frontend.pages.requests import posted_uuid, signed_in
from frontend.ui.filters import Filter, chosen_filters, filter_choices
from frontend.ui.paging import keyset_page, parse_number
from jobs.models import Job
from jobs.selectors import jobs_by_id
from projects.models import DeliveryState, Project, Webhook, WebhookDelivery, WebhookEvent, WebhookState
from projects.roles import Capability
from projects.selectors import project_for
from projects.webhooks import services
from projects.webhooks.addresses import LONGEST
from projects.webhooks.selectors import deliveries_of, delivery_counts, webhook_for, webhooks_of

JOB: Final = "job:"  # before the id in the subject of a delivery
FILTERS: Final = (
    Filter("state", gettext_lazy("State"), gettext_lazy("Every state"), DeliveryState.choices),
    Filter("type", gettext_lazy("Event"), gettext_lazy("Every event"), WebhookEvent.choices),
)


class WebhookForm(forms.Form):
    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=LONGEST,
        widget=forms.TextInput(attrs={"inputmode": "url", "spellcheck": "false", "autocomplete": "off"}),
        help_text=gettext_lazy("For example https://hooks.example.org/lapidary"),
    )
    description = forms.CharField(
        label=gettext_lazy("What it is for"),
        max_length=200,
        required=False,
    )
    events = forms.MultipleChoiceField(
        label=gettext_lazy("Events"),
        choices=[(event.value, event.label) for event in services.CHOICES],
        widget=forms.CheckboxSelectMultiple,
    )


class NewWebhookForm(WebhookForm):
    # Sending the form twice adds one webhook.
    webhook_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)


def _project(request: HttpRequest, slug: str) -> Project:
    return project_for(signed_in(request), slug, Capability.MANAGE_MEMBERS)


def _webhook(request: HttpRequest, slug: str, webhook_id: UUID) -> Webhook:
    return webhook_for(_project(request, slug), webhook_id)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_variables("secret")
def webhooks(request: HttpRequest, slug: str) -> HttpResponse:
    """The list. The secret of a new webhook is in the answer to its creation only."""
    project = _project(request, slug)
    form = NewWebhookForm(request.POST or None)
    made, secret = None, ""
    if request.method == "POST" and form.is_valid():
        try:
            made, secret = services.create_webhook(
                project=project, actor=signed_in(request), **form.cleaned_data
            )
        except Invalid as refusal:
            form.add_error(refusal.details.get("field"), str(refusal))
        else:
            form = NewWebhookForm()
    context = {
        "project": project,
        "title": _("Webhooks"),
        "form": form,
        "webhooks": list(webhooks_of(project)),
        "made": made,
        "secret": secret,
    }
    return render(request, "projects/webhooks/list.html", context, status=422 if form.errors else 200)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def webhook(request: HttpRequest, slug: str, webhook_id: UUID) -> HttpResponse:
    """One webhook: its settings, and the deliveries, newest first."""
    row = _webhook(request, slug, webhook_id)
    initial = {"url": row.url, "description": row.description, "events": row.events}
    form = WebhookForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            services.change_webhook(webhook=row, actor=signed_in(request), **form.cleaned_data)
        except Invalid as refusal:
            form.add_error(refusal.details.get("field"), str(refusal))
        else:
            messages.success(request, _("Saved. Deliveries that are waiting will go to this address."))
            return redirect("webhook", slug, webhook_id)
    return _render_webhook(request, row, form=form)


def _render_webhook(
    request: HttpRequest, row: Webhook, *, form: WebhookForm, secret: str = ""
) -> HttpResponse:
    chosen = chosen_filters(request.GET, FILTERS)
    page = keyset_page(deliveries_of(row, **chosen), request.GET.get("before"))
    context: dict[str, Any] = {
        "project": row.project,
        "title": urlsplit(row.url).hostname,
        "webhook": row,
        "is_on": row.state == WebhookState.ON,
        "form": form,
        "secret": secret,
        "counts": delivery_counts(row),
        "filters": filter_choices(FILTERS, chosen),
        "page": page,
        "jobs": _jobs_by_subject(row.project, page.rows),
        "request_id": uuid4(),
    }
    return render(request, "projects/webhooks/detail.html", context, status=422 if form.errors else 200)


def _jobs_by_subject(project: Project, deliveries: Iterable[WebhookDelivery]) -> dict[str, Job]:
    subjects = {one.subject for one in deliveries if one.subject.startswith(JOB)}
    jobs = jobs_by_id(project, [subject.removeprefix(JOB) for subject in subjects])
    return {f"{JOB}{key}": job for key, job in jobs.items()}


@require_POST
@login_required
@never_cache
@sensitive_variables("secret")
def new_secret(request: HttpRequest, slug: str, webhook_id: UUID) -> HttpResponse:
    """The new secret is in this answer only."""
    row = _webhook(request, slug, webhook_id)
    version = parse_number(request.POST.get("version")) or 0
    row, secret = services.rotate_secret(webhook=row, actor=signed_in(request), version=version)
    if not secret:  # the form was sent twice
        return redirect("webhook", slug, webhook_id)
    initial = {"url": row.url, "description": row.description, "events": row.events}
    return _render_webhook(request, row, form=WebhookForm(initial=initial), secret=secret)


@require_POST
@login_required
def switch(request: HttpRequest, slug: str, webhook_id: UUID) -> HttpResponse:
    on = request.POST.get("on") == "1"
    services.switch_webhook(webhook=_webhook(request, slug, webhook_id), actor=signed_in(request), on=on)
    done = (
        _("The webhook is on. Deliveries that waited are being sent.")
        if on
        else _("The webhook is off. New events wait until it is on again.")
    )
    messages.success(request, done)
    return redirect("webhook", slug, webhook_id)


@require_POST
@login_required
def send_test(request: HttpRequest, slug: str, webhook_id: UUID) -> HttpResponse:
    row = _webhook(request, slug, webhook_id)
    test_id = posted_uuid(request, "request_id")
    services.send_test(webhook=row, actor=signed_in(request), test_id=test_id)
    messages.success(request, _("The test is on its way. Reload the page in a moment to see the answer."))
    return redirect("webhook", slug, webhook_id)


@require_POST
@login_required
def replay(request: HttpRequest, slug: str, webhook_id: UUID) -> HttpResponse:
    """One delivery, or all that failed if none is named."""
    row = _webhook(request, slug, webhook_id)
    named = parse_number(request.POST.get("delivery"))
    count = services.replay_deliveries(
        webhook=row,
        actor=signed_in(request),
        replay_id=posted_uuid(request, "request_id"),
        deliveries=[] if named is None else [named],
        all_failed=named is None,
    )
    words = ngettext("%(n)s delivery will be sent again.", "%(n)s deliveries will be sent again.", count)
    messages.success(request, words % {"n": intcomma(count)})
    return redirect("webhook", slug, webhook_id)


@require_POST
@login_required
def remove(request: HttpRequest, slug: str, webhook_id: UUID) -> HttpResponse:
    services.remove_webhook(webhook=_webhook(request, slug, webhook_id), actor=signed_in(request))
    messages.success(request, _("The webhook was removed."))
    return redirect("webhooks", slug)


ONE: Final = "p/<slug:slug>/settings/webhooks/<uuid:webhook_id>/"
urlpatterns = [
    path("p/<slug:slug>/settings/webhooks/", webhooks, name="webhooks"),
    path(ONE, webhook, name="webhook"),
    path(f"{ONE}secret/", new_secret, name="webhook_secret"),
    path(f"{ONE}switch/", switch, name="webhook_switch"),
    path(f"{ONE}test/", send_test, name="webhook_test"),
    path(f"{ONE}replay/", replay, name="webhook_replay"),
    path(f"{ONE}remove/", remove, name="webhook_remove"),
]
