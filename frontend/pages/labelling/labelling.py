"""The labelling workbench: dialogues and the questions of a schema. static/js/labelling/labelling.js runs it over the
REST API. Opened without a dialogue, the script claims the next one."""

from time import time
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.models import User
from annotation.labelling.models.labels import LabellingSettings
from annotation.labelling.serializers import serialize_assignment
from annotation.labelling.services.submissions import MAX_NOTE, serve
from annotation.tasks.models.work import Assignment, AssignmentState, Task, TaskState
from annotation.tasks.selectors.assignments import assignment_for, missing_assignment
from annotation.tasks.selectors.queue import today_of
from frontend.pages import signed_in
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for

AT_ONCE = ["js/shared/api.js", "js/shared/drafts.js", "js/labelling/questions.js", "js/labelling/schema.js"]
ON_NEED = ["js/shared/conversation.js", "js/shared/leaving.js", "js/shared/theme.js", "js/shared/toast.js"]


@login_required
@never_cache
@require_safe
def label(request: HttpRequest, slug: str, assignment_id: int) -> HttpResponse:
    """One dialogue of the person's own, open or submitted."""
    user = signed_in(request)
    assignment = assignment_for(user, assignment_id)
    if assignment.project.slug != slug:
        raise missing_assignment()
    return _render(request, user, assignment.project, assignment)


@login_required
@never_cache
@require_safe
def label_next(request: HttpRequest, slug: str) -> HttpResponse:
    """What the person has begun; where nothing is open, the script claims the next dialogue."""
    user = signed_in(request)
    project = project_for(user, slug, Capability.ANNOTATE)
    return _render(request, user, project, begun_by(user, project))


def begun_by(user: User, project: Project) -> Assignment | None:
    active = Assignment.objects.filter(annotator=user, project=project, state=AssignmentState.ACTIVE)
    return active.filter(served_at__isnull=False).first() or active.first()


def _render(
    request: HttpRequest, user: User, project: Project, assignment: Assignment | None
) -> HttpResponse:
    context = {
        "project": project,
        "modules": AT_ONCE,
        "longest_note": MAX_NOTE,
        "skip_reasons": skip_reasons(),
        "data": data_of(user, project, assignment),
    }
    return render(request, "labelling/workbench.html", context)


def data_of(user: User, project: Project, assignment: Assignment | None) -> dict[str, Any]:
    """What static/js/labelling/labelling.js begins with."""
    today = today_of(user, project)
    schema = project.labelling.schema
    return {
        "project": project.slug,
        "made_at": int(time() * 1000),
        "assignment": serialize_assignment(serve(assignment=assignment)) if assignment else None,
        "schema": {"version": schema.version, "content": schema.content} if schema else None,
        "today": {"finished": today.finished, "goal": today.goal},
        "done": submitted_by(user, project),
        "of": dialogues_for_one(project.labelling),
        "words": words(),
        "files": [static(name) for name in ON_NEED],
        "urls": {
            "bench": reverse("label", args=[project.slug, 0]),
            "next": reverse("label_next", args=[project.slug]),
            "queue": reverse("queue", args=[project.slug]),
            "login": reverse("account_login"),
        },
    }


def submitted_by(user: User, project: Project) -> int:
    """Without what was withdrawn with its batch, which is to be labelled anew."""
    own = Assignment.objects.filter(annotator=user, project=project, state=AssignmentState.SUBMITTED)
    return own.exclude(task__state=TaskState.WITHDRAWN).count()


def dialogues_for_one(settings: LabellingSettings) -> int:
    """How many dialogues one person can label here at most."""
    tasks = Task.objects.filter(project_id=settings.project_id)
    planned = tasks.exclude(state=TaskState.WITHDRAWN).count()
    return min(planned, settings.max_per_person or planned)


def skip_reasons() -> list[str]:
    return [
        _("I do not understand it"),
        _("It is in another language"),
        _("It is broken or empty"),
        _("It contains private data"),
        _("I know the people in it"),
    ]


def question_words() -> dict[str, str]:
    """What static/js/labelling/questions.js says, here and in the preview of a schema."""
    return {
        "guide": _("Guide"),
        "unanswered": _("not answered"),
        "optional": _("optional"),
        "choose_any": _("any number, then Enter"),
        "follows": _("follows from the other answers"),
        "chip": _("{question}, utterance {n}: {answer}"),
        "empty_utterance": _("(nothing was said)"),
        "show_all": _("Show all {n} characters"),
        "differs": _("differs"),
        "decided": _("decided"),
        "other_answer": _("The other answer:"),
        "their_note": _("Their note"),
        "take_theirs": _("Take it"),
        "keep_mine": _("Keep mine"),
    }


def words() -> dict[str, Any]:
    """What the scripts of the workbench say, {n} and the like filled in there. A list: for 1, and for other numbers."""
    return {
        **question_words(),
        "stage_label": _("Label"),
        "stage_confirm": _("Confirm"),
        "stage_revise": _("Revise"),
        "left_today": _("{n} left today"),
        "goal_reached": _("Today's goal is reached"),
        "progress": _("{n} of {of}"),
        "progress_label": _("Dialogues that you have labelled"),
        "left": [ngettext("{n} answer left", "{n} answers left", n) for n in (1, 2)],
        "left_differing": [
            ngettext(
                "Somebody else answered {n} question differently: keep yours or change it.",
                "Somebody else answered {n} questions differently: keep yours or change them.",
                n,
            )
            for n in (1, 2)
        ],
        "all_answered": _("Everything is answered: submit."),
        "floor": _("≥ {min} s: {clock} left"),
        "submit": _("Submit"),
        "submits_in": _("Submits in {clock}"),
        "cancelled": _("Not submitted."),
        "changed": _("Not submitted: something changed. Submit again."),
        "missing": _("This has to be answered first."),
        "undecided": _("Keep your answer or take the other one first."),
        "crowded_goals": _("{speaker} has {n} goal nuggets; only the first one counts."),
        "draft_saved": _("draft saved"),
        "draft_local": _("draft kept in this browser"),
        # notices
        "offline": _("No connection."),
        "offline_remedy": _(
            "Go on: everything is kept in this browser and sent, in order, when the connection is back."
        ),
        "volatile": _("This browser cannot keep unsent answers on disk."),
        "volatile_remedy": _("Keep this tab open until everything is sent."),
        "elsewhere": _("You submitted this dialogue in another tab."),
        "elsewhere_remedy": _("What you submit here replaces those answers."),
        "refused": _("A submission was not stored."),
        "open_it": _("Open it"),
        "conflict": _("The answers to this dialogue were changed in another tab or on another device."),
        "keep_mine_draft": _("Keep these"),
        "use_theirs": _("Take the ones there"),
        "sign_in": _("You are signed out."),
        "sign_in_remedy": _("Sign in again, also in another tab: what waits here is sent then."),
        "sign_in_link": _("Sign in"),
        "failed_action": _("That did not work. Nothing was changed."),
        "state_saved": _("Saved for later, kept until {when}."),
        "state_saved_remedy": _("Go on to take it up again."),
        "state_expired": _("This dialogue was kept for you until {when}."),
        "state_expired_remedy": _("Go on to take it up again, as long as nobody else has."),
        "state_released": _("You gave this dialogue back."),
        "state_released_remedy": _("You can take it up again as long as nobody else has."),
        "released_action": _("Take it up again"),
        "state_submitted": _("You submitted this dialogue."),
        "state_submitted_remedy": _("Submit again to correct it; the earlier answers are kept as history."),
        "state_confirming": _("The others have not confirmed their answers yet."),
        "state_confirming_remedy": _("You have confirmed yours; nothing is to be done here."),
        "state_disputed": _("You and the others disagree about this dialogue."),
        "state_disputed_remedy": _("A trainer decides; nothing is to be done here."),
        "state_decided": _("A trainer has decided this dialogue."),
        "state_decided_remedy": _("If you think that something is wrong, ask in its thread."),
        # between dialogues
        "loading": _("The next dialogue is on its way."),
        "nothing_offline": _("No more dialogues lie ready in this browser."),
        "nothing_offline_remedy": _("The next one comes by itself when the connection is back."),
        "waiting": [
            ngettext(
                "{n} submission waits here and is not lost.", "{n} submissions wait here and are not lost.", n
            )
            for n in (1, 2)
        ],
        "free_at": _("The first of them becomes free, if it is not finished, at {when}."),
        "to_confirm": [ngettext("{n} to confirm", "{n} to confirm", n) for n in (1, 2)],
        "undone": _("The last submission is open again; submit it as a correction."),
        "undone_unsent": _("The last submission was taken back before it was sent."),
        "undo_nothing": _("There is nothing to undo."),
        "unchanged": _("Nothing was changed, so nothing was sent."),
        # leaving
        "skip": _("Skip"),
        "give_back": _("Give back"),
        "reason_needed": _("Choose a reason, or write one."),
        "needs_network": _("This needs the connection. Try again when it is back."),
        "no_submissions": _("You have not submitted anything here yet."),
        "revision": _("revision {n}"),
    }


urlpatterns = [
    path("p/<slug:slug>/label/", label_next, name="label_next"),
    path("p/<slug:slug>/label/<int:assignment_id>/", label, name="label"),
]
