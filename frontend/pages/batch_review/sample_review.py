"""The workbench of a batch's sample: a controller judges one drawn dialogue after another. The page talks to the REST
API; static/js/batch_review/sample_review.js runs it."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.models import User
from annotation.batch_review.models import Sample
from annotation.batch_review.selectors.access import items_judged_by, sample_schemas
from annotation.batch_review.serializers.samples import serialize_next_items, serialize_progress_for
from annotation.labelling.selectors.settings import labelling_project
from annotation.tasks.models.rounds import Round, RoundState
from annotation.tasks.services.reasons import MAX_REASON
from common.refusals import NotFound
from frontend.pages.requests import signed_in
from frontend.script_modules import preloaded
from projects.roles import Capability

READY = 3  # dialogues that the page begins with: one to judge, two that lie ready
SCRIPT = "js/batch_review/sample_review.js"


@login_required
@never_cache
@require_safe
def sample(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The sample of the batch's round that is in review; without one, the batch says how it stands."""
    user = signed_in(request)
    project = labelling_project(user, slug, Capability.REVIEW)
    rows = Round.objects.filter(project=project, batch__number=number).select_related("batch")
    latest = rows.order_by("-number").first()
    if latest is None:
        raise NotFound(_("There is no such batch."), _("Go back to the list."))
    if latest.state != RoundState.IN_REVIEW:
        messages.info(request, _("No sample of this batch is in review."))
        return redirect("batch", slug, number)
    drawn = Sample.objects.select_related("round__project", "round__batch").get(round=latest)
    context = {
        "project": project,
        "sample": drawn,
        "batch": latest.batch,
        "round": latest,
        "batch_url": reverse("batch", args=[slug, number]),
        "script": SCRIPT,
        "modules": preloaded(SCRIPT),
        "longest": MAX_REASON,
        "data": data_of(user, drawn),
    }
    return render(request, "batch_review/sample_review/workbench.html", context)


def data_of(user: User, drawn: Sample) -> dict[str, Any]:
    """What static/js/batch_review/sample_review.js begins with. Labels that may not be seen yet are not in it."""
    items = serialize_next_items(user, drawn, READY)
    for item in items:
        for row in item["utterances"]:
            row["time"] = row["time"].isoformat() if hasattr(row["time"], "isoformat") else row["time"]
    return {
        "sample": str(drawn.pk),
        "me": user.pk,
        "question": drawn.question,
        "isBlind": drawn.is_blind,
        "isDouble": drawn.is_double,
        "schemas": {row.version: row.content for row in sample_schemas(drawn)},
        "items": items,
        "progress": serialize_progress_for(user, drawn),
        "mine": items_judged_by(user, drawn),
        "urls": {
            "batch": reverse("batch", args=[drawn.round.project.slug, drawn.round.batch.number]),
            "sample": f"/rounds/{drawn.round_id}/sample/",  # below the API's root, as static/js/shared/api.js wants it
            "login": reverse("account_login"),
        },
    }


urlpatterns = [
    path("p/<slug:slug>/batches/<int:number>/sample/", sample, name="sample"),
]
