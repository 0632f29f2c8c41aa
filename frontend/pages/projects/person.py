"""One person's work in a project, for its managers, and the rate that cost is computed with."""

from datetime import date
from decimal import Decimal

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation.people.selectors import TOO_FEW, PersonReport, person_report
from common.refusals import NotFound
from common.sentences import join_sentences
from frontend.charts.chart import Cell, Chart
from frontend.charts.files import chart_file
from frontend.pages.requests import signed_in
from frontend.ui.questions import rated_titles
from plots.columns import draw_columns
from plots.marks import Mark
from projects.models import Membership, Project, Protocol
from projects.roles import Capability
from projects.selectors import project_for
from projects.services import set_hourly_rate


class RateForm(forms.Form):
    hourly_rate = forms.DecimalField(
        label=gettext_lazy("Cost of an hour"),
        min_value=Decimal(0),
        max_digits=8,
        decimal_places=2,
        required=False,
    )
    currency = forms.CharField(
        label=gettext_lazy("Currency"),
        max_length=8,
        required=False,
        widget=forms.TextInput(attrs={"size": 6}),
    )


@login_required
@never_cache
@require_safe
def person_page(request: HttpRequest, slug: str, user_id: int) -> HttpResponse:
    project = project_for(signed_in(request), slug, Capability.MANAGE_MEMBERS)
    person = _member(project, user_id)
    report = person_report(project, person)
    names = _question_names(project, report)
    context = {
        "project": project,
        "title": person.shown_name,
        "person": person,
        "report": report,
        "agreement": [(names.get(one.name, one.name), one) for one in report.agreement],
        "few": TOO_FEW,
        "chart": draw_weeks(report),
        "labels": project.protocol == Protocol.LABELLING,
        "form": RateForm(initial={"hourly_rate": project.hourly_rate, "currency": project.currency}),
    }
    return render(request, "projects/person.html", context)


def _member(project: Project, user_id: int) -> User:
    row = Membership.objects.filter(project=project, user=user_id).select_related("user").first()
    if row is None:
        raise NotFound(_("This person is not a member of the project."), _("Go back to the list of people."))
    return row.user


def _question_names(project: Project, report: PersonReport) -> dict[str, str]:
    """By the name of a rated question; "" stands for the final labels."""
    titles = rated_titles(project) if report.agreement else {}
    return titles | {"": _("With the final label")}


def draw_weeks(report: PersonReport) -> Chart:
    title = _("How many dialogues a week?")
    labels = [_week(monday) for monday, _n in report.weeks]
    marks = [Mark(n, f"{label}: {n}") for label, (_monday, n) in zip(labels, report.weeks, strict=True)]
    total = sum(n for _monday, n in report.weeks)
    note = ngettext(
        "n = %(n)s dialogue, by the Monday of its week",
        "n = %(n)s dialogues, by the Monday of their week",
        total,
    )
    x, y = _("week"), _("dialogues")
    svg = draw_columns(labels, marks, x=x, y=y, description=title) if marks else ""
    rows: list[list[Cell]] = [[monday.isoformat(), n] for monday, n in report.weeks]
    return Chart("weeks", title, note % {"n": intcomma(total)}, [x, y], rows, svg)


def _week(monday: date) -> str:
    return date_format(monday, "SHORT_DATE_FORMAT")


@login_required
@require_safe
def download(request: HttpRequest, slug: str, of: int, name: str, suffix: str) -> HttpResponse:
    project = project_for(signed_in(request), slug, Capability.MANAGE_MEMBERS)
    person = _member(project, of)
    if name != "weeks":
        raise Http404
    return chart_file(draw_weeks(person_report(project, person)), f"{slug}-{person.username}-weeks", suffix)


@require_POST
@login_required
def rate(request: HttpRequest, slug: str, user_id: int) -> HttpResponse:
    user = signed_in(request)
    project = project_for(user, slug, Capability.MANAGE_MEMBERS)
    form = RateForm(request.POST)
    if form.is_valid():
        set_hourly_rate(project=project, actor=user, **form.cleaned_data)
        messages.success(request, _("Saved."))
    else:
        messages.error(
            request, join_sentences(str(error) for errors in form.errors.values() for error in errors)
        )
    return redirect("person", slug, user_id)


urlpatterns = [
    path("p/<slug:slug>/people/<int:user_id>/", person_page, name="person"),
    path("p/<slug:slug>/people/<int:user_id>/rate/", rate, name="person_rate"),
    path("p/<slug:slug>/people/<int:of>/<slug:name>.<str:suffix>", download, name="person_file"),
]
