"""The workbench of a batch's sample: a controller judges one drawn dialogue after another. The page talks to the REST
API; static/js/batch_review/sample_review.js runs it."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.models import User
from annotation.batch_review.models import Sample
from annotation.batch_review.selectors.sample_review import judged_by, schemas_of
from annotation.batch_review.serializers import next_of, progress_in
from annotation.labelling.selectors.settings import labelling_project
from annotation.tasks.models.rounds import Round, RoundState
from annotation.tasks.services.reasons import MAX_REASON
from common.refusals import NotFound
from frontend.pages import signed_in
from frontend.pages.labelling.labelling import question_words
from projects.roles import Capability

READY = 3  # dialogues that the page begins with: one to judge, two that lie ready
MODULES = [
    *(
        "js/shared/api.js",
        "js/shared/conversation.js",
        "js/batch_review/judgements.js",
        "js/labelling/questions.js",
        "js/labelling/schema.js",
    ),
    "js/batch_review/sample_progress.js",
]


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
        "modules": [static(name) for name in MODULES],
        "longest": MAX_REASON,
        "data": data_of(user, drawn),
    }
    return render(request, "batch_review/sample_review/workbench.html", context)


def data_of(user: User, drawn: Sample) -> dict[str, Any]:
    """What static/js/batch_review/sample_review.js begins with. Labels that may not be seen yet are not in it."""
    items = next_of(user, drawn, READY)
    for item in items:
        for row in item["utterances"]:
            row["time"] = row["time"].isoformat() if hasattr(row["time"], "isoformat") else row["time"]
    return {
        "sample": str(drawn.pk),
        "me": user.pk,
        "question": drawn.question,
        "isBlind": drawn.is_blind,
        "isDouble": drawn.is_double,
        "schemas": {row.version: row.content for row in schemas_of(drawn)},
        "items": items,
        "progress": progress_in(user, drawn),
        "mine": judged_by(user, drawn),
        "words": words(),
        "urls": {
            "batch": reverse("batch", args=[drawn.round.project.slug, drawn.round.batch.number]),
            "sample": f"/rounds/{drawn.round_id}/sample/",  # below the API's root, as static/js/shared/api.js wants it
            "login": reverse("account_login"),
        },
    }


def words() -> dict[str, Any]:
    """What the scripts say, {n} and the like filled in there. A list: for 1, and for other numbers."""
    return {
        **question_words(),
        "differs": _("differs"),
        "decided": _("differs"),
        "missing": _("This has to be answered first."),
        "why_missing": _("Say why: the annotators learn from it."),
        "same_as_label": _("This is the label itself: choose another answer, or agree."),
        "place": _("{n} of {of}"),
        "you": _("you"),
        "annotators": _("label"),
        # stages
        "task_blind": _("Label it yourself, then see what the annotators said."),
        "task_open": _("Does the label hold?"),
        "task_correct": _("Give the right label and say why."),
        "task_told": _("Compare, then go on."),
        "send_blind": _("Judge"),
        "send_correct": _("Store the correction"),
        "holds": _("The label holds."),
        "fails_here": _("The label does not hold."),
        "said_both": _("Label: {label}. You: {own}."),
        "label_is": _("Label: {label}"),
        "checked": _("Checked is: {question}"),
        "checked_all": _("Checked is every compared answer."),
        # standing
        "cells": _("{judged} of {all} judged: {right} right, {wrong} wrong"),
        "none_yet": _("Nothing is judged yet"),
        "interval": _("95 % interval {low} to {high}"),
        "needed": _("Needed: {overall} of all"),
        "needed_classes": _("Needed: {overall} of all, {classes} of every class"),
        "passes": _("The sample passes."),
        "passes_early": _("It passes, whatever the rest says."),
        "fails": _("The sample does not pass."),
        "fails_early": _("It cannot pass any more."),
        "failing": _("Class that fell short: {names}"),
        "still_open": [
            ngettext(
                "Both verdicts are possible: {n} more may be wrong.",
                "Both verdicts are possible: {n} more may be wrong.",
                n,
            )
            for n in (1, 2)
        ],
        "no_spare": _("Both verdicts are possible: nothing more may be wrong."),
        "open_by_class": _("Both verdicts are possible: a class can still fall short."),
        "still_weighted": _("Both verdicts are possible."),
        # notices
        "offline": _("No connection."),
        "offline_remedy": _("What you judged is kept in this browser and sent when the connection is back."),
        "sign_in": _("You are signed out."),
        "sign_in_remedy": _("Sign in again, also in another tab: what waits here is sent then."),
        "sign_in_link": _("Sign in"),
        "to_batch": _("To the batch"),
        "failed": _("That did not work. Nothing was changed."),
        "nothing_back": _("You have judged nothing before this."),
        # the end
        "loading": _("The next dialogue is on its way."),
        "end_all": _("All of the sample is judged"),
        "end_mine": _("There is nothing left for you"),
        "end_others": _("What is left is your own work, or others judge it."),
        "end_held": [
            ngettext(
                "{n} more is with another controller now; in a few minutes it may be free.",
                "{n} more are with other controllers now; in a few minutes they may be free.",
                n,
            )
            for n in (1, 2)
        ],
    }


urlpatterns = [
    path("p/<slug:slug>/batches/<int:number>/sample/", sample, name="sample"),
]
