"""Appeals against corrections by controllers: annotators raise them, trainers settle them."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Case, Value, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation.batch_review.models import Appeal, AppealState, SampleItem
from annotation.batch_review.selectors.access import appeals_for, corrections_by_item, disputable_item_for
from annotation.batch_review.selectors.visibility import later_judgements
from annotation.batch_review.services.appeals import raise_appeal, settle_appeal
from annotation.labelling.selectors.settings import labelling_project
from common.refusals import NotFound, Refusal
from frontend.pages.batch_review.corrections import (
    Correction,
    RefusedText,
    appeals_by_item,
    build_correction,
)
from frontend.pages.requests import posted_uuid, signed_in
from frontend.ui.paging import parse_number
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

PAGE_SIZE = 30


@login_required
@never_cache
@require_safe
def appeals(request: HttpRequest, slug: str) -> HttpResponse:
    """Open appeals first. Trainers see all appeals, annotators only their own."""
    user = signed_in(request)
    return _render(request, user, labelling_project(user, slug))


def _render(
    request: HttpRequest,
    user: User,
    project: Project,
    item: SampleItem | None = None,
    refused: RefusedText | None = None,
) -> HttpResponse:
    """item: is shown first, with the refused text."""
    open_first = Case(When(state=AppealState.OPEN, then=Value(0)), default=Value(1))
    rows = appeals_for(user, project).select_related("item__final__schema", "item__sample__round__batch")
    paginator = Paginator(rows.order_by(open_first, "-raised_at", "pk"), PAGE_SIZE)
    page = paginator.get_page(parse_number(request.GET.get("page")) or 1)
    pairs: list[tuple[SampleItem, Appeal | None]] = [(appeal.item, appeal) for appeal in page.object_list]
    if item is not None:
        pairs = [(item, appeals_by_item([item]).get(item.pk)), *(pair for pair in pairs if pair[0] != item)]
    context = {
        "project": project,
        "title": _("Appeals"),
        "page": page,
        "corrections": _build_corrections(user, project, pairs, item, refused),
        "from_own": request.POST.get("own", ""),
    }
    status = refused.refusal.status if refused else 200
    return render(request, "batch_review/appeals.html", context, status=status)


def _build_corrections(
    user: User,
    project: Project,
    pairs: list[tuple[SampleItem, Appeal | None]],
    refused_item: SampleItem | None,
    refused: RefusedText | None,
) -> list[Correction]:
    judgements = corrections_by_item(item.pk for item, _appeal in pairs)
    later = later_judgements(judgements.values())
    decides = Capability.DECIDE in capabilities_of(user, project)
    return [
        build_correction(
            item,
            judgements[item.pk],
            appeal,
            later=later.get(judgements[item.pk].pk),
            refused=refused if item == refused_item else None,
            decides=decides,
        )
        for item, appeal in pairs
        if item.pk in judgements
    ]


@require_POST
@login_required
def settle(request: HttpRequest, slug: str, pk: UUID) -> HttpResponse:
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.DECIDE)
    appeal = appeals_for(user, project).filter(pk=pk).first()
    if appeal is None:
        raise NotFound(_("There is no such appeal."), _("Go back to the list."))
    upheld, settlement = request.POST.get("upheld") == "1", request.POST.get("settlement", "")
    try:
        settle_appeal(trainer=user, appeal_id=pk, upheld=upheld, settlement=settlement)
    except Refusal as refusal:
        return _render(request, user, project, appeal.item, RefusedText(settlement, refusal))
    messages.success(request, _("The appeal is settled. The accuracy of the batch now counts the decision."))
    return redirect("appeals", slug)


@require_POST
@login_required
def appeal(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Dispute a correction: annotators from their accuracy page, trainers from the batch."""
    user = signed_in(request)
    item = disputable_item_for(user, pk)
    project, reason = item.sample.round.project, request.POST.get("reason", "")
    try:
        raise_appeal(by=user, item_id=item.pk, appeal_id=posted_uuid(request, "request_id"), reason=reason)
    except Refusal as refusal:
        return _render(request, user, project, item, RefusedText(reason, refusal))
    messages.success(request, _("A trainer looks at it."))
    return redirect("accuracy" if request.POST.get("own") else "appeals", project.slug)


urlpatterns = [
    path("p/<slug:slug>/appeals/", appeals, name="appeals"),
    path("p/<slug:slug>/appeals/<uuid:pk>/", settle, name="appeal_settle"),
    path("p/<slug:slug>/samples/<int:pk>/appeal/", appeal, name="appeal"),
]
