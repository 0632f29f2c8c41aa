"""The workbench of a sample: a controller judges one drawn dialogue after another.

static/js/batch_review/sample_review.js runs the page over the REST API.
"""

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
from frontend.pages.labelling.question_form import serialize_time
from frontend.pages.requests import signed_in
from frontend.script_modules import preloaded
from projects.roles import Capability

ITEMS_SENT = 3  # one to judge, two in advance
SCRIPT = "js/batch_review/sample_review.js"


@login_required
@never_cache
@require_safe
def sample(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The sample of the round in review; redirects to the batch if no round is."""
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
        "data": _workbench_data(user, drawn),
    }
    return render(request, "batch_review/sample_review/workbench.html", context)


def _workbench_data(user: User, drawn: Sample) -> dict[str, Any]:
    """The initial data of static/js/batch_review/sample_review.js, without labels that the user may not see yet."""
    items = serialize_next_items(user, drawn, ITEMS_SENT)
    for item in items:
        item["utterances"] = [serialize_time(row) for row in item["utterances"]]
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
            "sample": f"/rounds/{drawn.round_id}/sample/",  # static/js/shared/api.js adds the root of the API
            "login": reverse("account_login"),
        },
    }


urlpatterns = [
    path("p/<slug:slug>/batches/<int:number>/sample/", sample, name="sample"),
]
