"""Threads: questions about dialogues, replies, and a trainer's decision."""

from typing import Any
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation.labelling.selectors.workbench import utterances_in
from annotation.onboarding.models import ThreadState
from annotation.onboarding.selectors.threads import (
    assignments_of_dialogue,
    count_open_threads,
    dialogue_for_thread,
    messages_by_thread,
    sees_all_threads,
    sees_thread_names,
    visible_threads,
)
from annotation.onboarding.services.threads import (
    MAX_TEXT,
    ask_question,
    mark_seen,
    reply_to_thread,
    show_in_guidelines,
)
from common.refusals import Invalid, Refusal
from dialogues.models import Dialogue
from frontend.pages.requests import signed_in
from frontend.ui.paging import parse_number
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import capabilities_of, project_for

PAGE_SIZE = 30
THREADS_SHOWN = 50  # of one dialogue
UTTERANCES_SHOWN = 200


@login_required
@never_cache
@require_safe
def threads(request: HttpRequest, slug: str) -> HttpResponse:
    """Newest first; `?state=` filters."""
    user = signed_in(request)
    project = project_for(user, slug)
    state = request.GET.get("state", "")
    rows = visible_threads(user, project, state=state)
    page = Paginator(rows, PAGE_SIZE).get_page(parse_number(request.GET.get("page")) or 1)
    context = {
        "project": project,
        "title": _("Threads"),
        "page": page,
        "state": state,
        "states": ThreadState.choices,
        "all": sees_all_threads(user, project),
        "names": sees_thread_names(user, project),
        "open": count_open_threads(project),
        "me": user.pk,
    }
    return render(request, "onboarding/threads/threads.html", context)


@login_required
@never_cache
def thread(request: HttpRequest, slug: str, dialogue_id: int) -> HttpResponse:
    """A dialogue with its threads and a form to ask a question."""
    user = signed_in(request)
    project = project_for(user, slug)
    dialogue = dialogue_for_thread(user, project, dialogue_id)
    refusal: Refusal | None = None
    if request.method == "POST":
        try:
            _store_message(request, project, dialogue)
        except Refusal as refused:
            refusal = refused
        else:
            return redirect(
                f"{reverse('thread', args=[slug, dialogue_id])}?stored={request.POST.get('id', '')}"
            )
    return _show(request, project, dialogue, refusal)


def _store_message(request: HttpRequest, project: Project, dialogue: Dialogue) -> None:
    user, sent = signed_in(request), request.POST
    try:
        id_ = UUID(sent.get("id", ""))
        thread_id = UUID(sent["thread"]) if sent.get("thread") else None
    except ValueError as error:
        raise Invalid(
            _("The form does not name a valid question."), _("Reload the page and try again.")
        ) from error
    if thread_id:
        reply_to_thread(
            author=user,
            thread_id=thread_id,
            message_id=id_,
            kind=sent.get("kind", ""),
            text=sent.get("text", ""),
            faq="faq" in sent,
        )
        return
    ask_question(
        asker=user,
        project=project,
        dialogue_id=dialogue.pk,
        thread_id=id_,
        text=sent.get("text", ""),
        position=_to_position(sent.get("position")),
    )


def _to_position(sent: str | None) -> int | None:
    """The form counts from 1, positions from 0."""
    number = parse_number(sent)
    return None if number is None else number - 1


def _show(
    request: HttpRequest, project: Project, dialogue: Dialogue, refusal: Refusal | None
) -> HttpResponse:
    user = signed_in(request)
    rows = list(visible_threads(user, project).filter(dialogue=dialogue)[:THREADS_SHOWN])
    names = sees_thread_names(user, project)
    replies = messages_by_thread(user, rows, names=names)
    decides = Capability.DECIDE in capabilities_of(user, project)
    undecided = [row for row in rows if row.state != ThreadState.DECIDED]
    shown: list[dict[str, Any]] = [
        {
            "row": row,
            "messages": replies[row.pk],
            "message_id": uuid4(),
            "is_next": row in undecided[:1],
        }
        for row in rows
    ]
    if refusal is None:
        mark_seen(user=user, threads=rows)
    context = {
        "project": project,
        "title": _("Threads"),
        "dialogue": dialogue,
        "dialogue_url": _dialogue_url(user, project, dialogue),
        "utterances": utterances_in(dialogue.pk)[:UTTERANCES_SHOWN],
        "threads": shown,
        "undecided": len(undecided),
        "decides": decides,
        "names": names,
        "longest": MAX_TEXT,
        "thread_id": uuid4(),
        "refusal": refusal,
        "sent": request.POST if refusal else {},
        "stored": request.GET.get("stored", ""),
        "owner": user.pk,
    }
    return render(
        request, "onboarding/threads/thread.html", context, status=refusal.status if refusal else 200
    )


def _dialogue_url(user: User, project: Project, dialogue: Dialogue) -> str:
    """Where the person works on the dialogue, else where they read it; "" if they may do neither."""
    if own := assignments_of_dialogue(user, dialogue.pk).first():
        page = "label" if project.protocol == Protocol.LABELLING else "workbench"
        return reverse(page, args=[project.slug, own.pk])
    return reverse("dialogue", args=[project.slug, dialogue.pk]) if sees_all_threads(user, project) else ""


@require_POST
@login_required
def faq(request: HttpRequest, slug: str, thread_id: UUID) -> HttpResponse:
    """Show a decision in the guidelines, or remove it."""
    user = signed_in(request)
    shown = request.POST.get("faq") == "1"
    row = show_in_guidelines(trainer=user, thread_id=thread_id, faq=shown)
    messages.success(
        request,
        _("The decision is now shown in the guidelines.")
        if shown
        else _("The decision is no longer shown in the guidelines."),
    )
    return redirect("thread", slug, row.dialogue_id)


urlpatterns = [
    path("p/<slug:slug>/threads/", threads, name="threads"),
    path("p/<slug:slug>/threads/<int:dialogue_id>/", thread, name="thread"),
    path("p/<slug:slug>/threads/<uuid:thread_id>/faq/", faq, name="thread_faq"),
]
