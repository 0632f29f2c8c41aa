"""The workbench: one dialogue, written turn by turn. static/js/authoring/authoring.js runs it over the REST API."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import path, reverse
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation.authoring.models import Topic
from annotation.authoring.serializers import full
from annotation.authoring.services import turns
from annotation.expert_review.selectors import is_being_judged, verdicts_on
from annotation.tasks.models.work import Assignment, AssignmentState
from annotation.tasks.selectors.assignments import assignment_for, missing_assignment
from annotation.tasks.selectors.queue import Today, today_of
from annotation.tasks.services import assignment as holding
from dialogues.models import ReviewState
from frontend.pages import signed_in
from projects.models import DialogueLanguage, Project, Protocol

TOPICS_SENT = 60
CLOSED = (AssignmentState.SUBMITTED, AssignmentState.RELEASED)
AT_ONCE = [
    "js/shared/api.js",
    "js/authoring/candidates.js",
    "js/authoring/composer.js",
    "js/shared/conversation.js",
    "js/shared/drafts.js",
]
ON_NEED = ["js/authoring/ending.js", "js/shared/keeping.js", "js/shared/theme.js", "js/shared/toast.js"]


@login_required
@never_cache
@require_safe
def workbench(request: HttpRequest, slug: str, assignment_id: int) -> HttpResponse:
    user = signed_in(request)
    assignment = assignment_in(user, slug, assignment_id)
    shown = full(assignment)
    position = len(shown["dialogue"]["utterances"])
    draft = shown["draft"] if shown["draft"] and shown["draft"]["position"] == position else {}
    today = today_of(user, assignment.project)
    context = {
        "project": assignment.project,
        "utterances": shown["dialogue"]["utterances"],
        "round_words": round_words(assignment, position // 2),
        "closed": assignment.state in CLOSED,
        "rounds_done": position // 2,
        "least_rounds": assignment.project.authoring.min_rounds,
        "writes_words": words()["writes"].format(speaker="AB"[position % 2]),
        "today": today,
        "dialogue_lang": lang_of(assignment.project),
        "draft": draft.get("text", ""),
        "verdicts": verdicts_on(assignment.dialogue) if decision_on(assignment) else [],
        "modules": AT_ONCE,
        "data": data_of(user, assignment, shown, today),
    }
    return render(request, "authoring/workbench.html", context)


def data_of(user: User, assignment: Assignment, shown: dict[str, Any], today: Today) -> dict[str, Any]:
    """What static/js/authoring/authoring.js begins with."""
    slug = assignment.project.slug
    return {
        "assignment": shown,
        "submit_on_enter": user.submit_on_enter,
        "topics": topics_of(assignment),
        "lang": lang_of(assignment.project),
        "closed": assignment.state in CLOSED,
        "today": {"finished": today.finished, "goal": today.goal},
        "decision": decision_on(assignment),
        "words": words(),
        "files": [static(name) for name in ON_NEED],
        "urls": {
            "queue": reverse("queue", args=[slug]),
            "workbench": reverse("workbench", args=[slug, 0]),
            "login": reverse("account_login"),
        },
    }


def round_words(assignment: Assignment, rounds: int) -> str:
    """The heading before any script has run."""
    said = words()
    if assignment.state in CLOSED:
        return str(said["rounds_closed"][rounds != 1].format(n=rounds))
    return str(said["round"].format(n=rounds + 1, needed=assignment.project.authoring.min_rounds))


def decision_on(assignment: Assignment) -> str:
    """What experts made of a finished dialogue: passed, vetoed, reading; empty where its author may take it back."""
    dialogue = assignment.dialogue
    if assignment.state != AssignmentState.SUBMITTED or not is_being_judged(dialogue):
        return ""
    return "reading" if dialogue.review_state == ReviewState.UNREVIEWED else dialogue.review_state


def assignment_in(user: User, slug: str, assignment_id: int) -> Assignment:
    assignment = assignment_for(user, assignment_id, Protocol.AUTHORING)
    if assignment.project.slug != slug:
        raise missing_assignment()
    return assignment


def lang_of(project: Project) -> str:
    """For the lang attribute of what is written; empty where a project has several languages."""
    return "" if project.language == DialogueLanguage.MIXED else project.language


def topics_of(assignment: Assignment) -> list[dict[str, str]]:
    """Ideas for the opening: the reader's language first, begun at another place for every dialogue."""
    topics = list(Topic.objects.filter(project=assignment.project)[:TOPICS_SENT])
    reads = (get_language() or "en")[:2]
    own = [topic for topic in topics if topic.language.startswith(reads)]
    others = [topic for topic in topics if not topic.language.startswith(reads)]
    return [
        {"language": topic.language, "title": topic.title, "example": topic.example}
        for topic in [*_turned(own, assignment.pk), *_turned(others, assignment.pk)]
    ]


def _turned(topics: list[Topic], number: int) -> list[Topic]:
    # 5 has no factor in common with most lengths, so neighbours do not begin with neighbouring topics.
    begin = number * 5 % len(topics) if topics else 0
    return topics[begin:] + topics[:begin]


@require_POST
@login_required
def resume(request: HttpRequest, slug: str, assignment_id: int) -> HttpResponse:
    assignment_in(signed_in(request), slug, assignment_id)
    holding.resume(annotator=signed_in(request), assignment_id=assignment_id)
    return redirect("workbench", slug, assignment_id)


@require_POST
@login_required
def take_back(request: HttpRequest, slug: str, assignment_id: int) -> HttpResponse:
    assignment_in(signed_in(request), slug, assignment_id)
    turns.take_back(annotator=signed_in(request), assignment_id=assignment_id)
    return redirect("workbench", slug, assignment_id)


def words() -> dict[str, Any]:
    """What the scripts of the workbench say, {n} and the like filled in there. A list: for 1, and for other numbers."""
    return {
        "round": _("Round {n} of {needed}"),
        "round_over": _("Round {n}"),
        "rounds_closed": [ngettext("{n} round", "{n} rounds", n) for n in (1, 2)],
        "writes": _("{speaker} writes"),
        "task_opening": _("Write an opening as A: concrete, about anything people talk about."),
        "task_turn": _("Continue as {speaker}: pick a candidate, revise it, or write your own."),
        "task_enough": _("Long enough: finish it, or write on as {speaker}."),
        # the composer
        "from": _("from {n}"),
        "from_set": _("from {n} of set {set}"),
        "select": _("select"),
        "revise": _("revise"),
        "rewrite": _("rewrite"),
        "changed": _("{n} changed"),
        "length": [ngettext("{n} character", "{n} characters", n) for n in (1, 2)],
        "length_of": _("{n} of {limit} characters"),
        "too_long": [
            ngettext(
                "Too long by {n} character. Shorten it; nothing is cut off.",
                "Too long by {n} characters. Shorten it; nothing is cut off.",
                n,
            )
            for n in (1, 2)
        ],
        "empty": _("Write something, or pick a candidate."),
        "digit": _("{n} again types the digit"),
        "draft_saved": _("draft saved"),
        "draft_local": _("draft kept in this browser"),
        "cleared": _("Cleared. Undo typing brings it back."),
        # candidates
        "candidates": _("Candidates"),
        "ideas": _("Ideas for the opening"),
        "other_ideas": _("Other ideas"),
        "new": _("New"),
        "retry": _("Try again"),
        "set": _("Set {n}"),
        "queued": _("Waiting for the model"),
        "queued_for": _("Waiting for the model · {s} s"),
        "running": _("Being generated"),
        "running_for": _("Being generated · {s} s"),
        "no_worker": _("No worker is running, so no candidates come."),
        "no_worker_remedy": _(
            "This page keeps asking. You can write without them; tell your manager if it lasts."
        ),
        "failed": _("The candidates failed."),
        "cancelled": _("These candidates were called off."),
        "partial": _("{n} of {wanted} candidates."),
        "ready": _("Ready · generated in {s} s"),
        "ready_at_once": _("Ready at once · generated in {s} s while you wrote"),
        "arrived": [ngettext("{n} candidate is here.", "{n} candidates are here.", n) for n in (1, 2)],
        "free_opening": _("Take an idea as a start, or write about something else."),
        "unsent": _(
            "Candidates come when your turn is stored. Go on by yourself if you like: that counts as rewriting."
        ),
        "unsent_offline": _("No connection. Candidates come when it is back."),
        "unsent_offline_remedy": _("Go on writing by yourself if you like: nothing is lost."),
        "slow_queued": [
            ngettext(
                "Taking longer than usual: {n} worker is there and has not begun it yet · {s} s",
                "Taking longer than usual: {n} workers are there, none has begun it yet · {s} s",
                n,
            )
            for n in (1, 2)
        ],
        "slow_running": _("Taking longer than usual: a worker has begun and not finished yet · {s} s"),
        "unreachable": _("The server cannot be reached. Candidates come when it answers again."),
        "more_sets_none": _("No more new sets in this turn."),
        # notices
        "offline": _("No connection."),
        "offline_remedy": _(
            "Go on writing: everything is kept in this browser and sent, in order, when it is back."
        ),
        "volatile": _("This browser cannot keep unsent turns on disk."),
        "volatile_remedy": _("Keep this tab open until everything is sent."),
        "refused": _("A turn was not stored."),
        "aside": _("Kept for you: words that are not stored."),
        "use": _("Put into the input"),
        "discard": _("Discard"),
        "conflict": _("This draft was changed in another tab or on another device."),
        "conflict_theirs": _("There:"),
        "conflict_mine": _("Here:"),
        "use_theirs": _("Take the one there"),
        "keep_mine": _("Keep this one"),
        "to_queue": _("To the queue"),
        "state_saved": _("Saved for later, kept until {when}."),
        "state_saved_remedy": _("Write on to take it up again."),
        "state_expired": _("This dialogue was kept for you until {when}."),
        "state_expired_remedy": _("Write on to take it up again, as long as nobody else has."),
        "state_submitted": _("This dialogue is finished."),
        "state_submitted_remedy": _("You can take it back as long as no expert reads it."),
        "submitted_action": _("Take it back"),
        "state_reading": _("This dialogue is finished, and an expert is reading it."),
        "state_reading_remedy": _("It cannot be taken back any more; the verdict appears in your queue."),
        "state_passed": _("Experts passed this dialogue."),
        "state_passed_remedy": _("It is in the data and cannot be taken back."),
        "state_vetoed": _("An expert vetoed this dialogue."),
        "state_vetoed_remedy": _("It is out of the data and cannot be taken back. The reason is above."),
        "state_released": _("You gave this dialogue back."),
        "state_released_remedy": _("You can take it up again as long as nobody else has."),
        "released_action": _("Take it up again"),
        "sign_in": _("You are signed out."),
        "sign_in_remedy": _("Sign in again, also in another tab: what waits here is sent then."),
        "sign_in_link": _("Sign in"),
        "undone": _("Turn undone; its words are in the input."),
        "synced": _("Another tab or device wrote in this dialogue. This is what is stored now."),
        "finish_unsent": _("There are unsent words in the input. Submit or clear them, then finish."),
        "undo_nothing": _("There is no turn to undo."),
        "too_early": [
            ngettext(
                "{n} more round, then it can be finished.", "{n} more rounds, then it can be finished.", n
            )
            for n in (1, 2)
        ],
        # leaving a dialogue
        "sending_first": _("Your last turns are being sent first."),
        "not_sent": _("Your last turns are not sent yet. Try again when the connection is back."),
        "saved": _("Saved for later, kept until {when}."),
        "reset_done": _("Started over."),
        "put_back": _("Put back"),
        "finished_rounds": [ngettext("{n} round, handed in.", "{n} rounds, handed in.", n) for n in (1, 2)],
        "finished_today": _("{n} of {goal} today."),
        "today": _("%(n)s of %(goal)s today") % {"n": "{n}", "goal": "{goal}"},
        "goal_reached": _("That is today's goal. Well done."),
        "failed_action": _("That did not work. Nothing was changed."),
    }


urlpatterns = [
    path("p/<slug:slug>/a/<int:assignment_id>/", workbench, name="workbench"),
    path("p/<slug:slug>/a/<int:assignment_id>/resume/", resume, name="resume"),
    path("p/<slug:slug>/a/<int:assignment_id>/take-back/", take_back, name="take_back"),
]
