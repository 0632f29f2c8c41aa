"""Deleting a dialogue for good, and the list of those that were deleted."""

from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from dialogues.models import DeletedDialogue
from dialogues.selectors import deletable_dialogue_for, deletion_for, deletions_of, dialogue_not_found
from dialogues.services.deleting import MAX_REASON, WORDS, delete_dialogue, deletion_preview
from frontend.pages.requests import signed_in
from jobs.models import JobState
from projects.models import Project
from projects.roles import Capability
from projects.selectors import project_for

PAGE_SIZE = 50
STAYS: Final[Mapping[str, str | Promise]] = {
    "held": gettext_lazy("People who have it open now: they lose what they have not sent"),
    "judged": gettext_lazy("Places in judged samples: the verdict stays, and shows “deleted dialogue”"),
    "snapshots": gettext_lazy(
        "Snapshots to search (one that contains the dialogue is closed until you remove its files)"
    ),
}


class DeletionForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=MAX_REASON,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("Who asked for it, or why. It is kept: do not repeat what the dialogue says."),
    )


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, slug: str, dialogue_id: int) -> HttpResponse:
    """What goes with the dialogue and what stays; POST deletes it."""
    user = signed_in(request)
    project = project_for(user, slug, Capability.MANAGE_MEMBERS)
    if (stored := deletion_for(user, dialogue_id)) is not None and stored.project_id == project.pk:
        return redirect("dialogues_deleted", slug)
    dialogue = deletable_dialogue_for(user, dialogue_id)
    if dialogue.project_id != project.pk:
        raise dialogue_not_found()
    form = DeletionForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        delete_dialogue(dialogue=dialogue, actor=user, reason=form.cleaned_data["reason"])
        messages.success(request, _("Dialogue %(n)d is deleted.") % {"n": dialogue_id})
        return redirect("dialogues_deleted", slug)
    preview = deletion_preview(dialogue)
    context = {
        "project": project,
        "title": _("Delete dialogue %(n)d") % {"n": dialogue.pk},
        "dialogue": dialogue,
        "form": form,
        "goes": describe_counts(preview["goes"]),
        "stays": [(STAYS[code], count) for code, count in preview["stays"].items()],
    }
    return render(request, "data/dialogues/delete.html", context, status=400 if form.errors else 200)


def describe_counts(counts: Mapping[str, int]) -> list[tuple[str | Promise, int]]:
    return [(WORDS.get(code, code), count) for code, count in counts.items()]


@login_required
@never_cache
@require_safe
def deleted_list(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for(signed_in(request), slug, Capability.MANAGE_MEMBERS)
    page = Paginator(deletions_of(project), PAGE_SIZE).get_page(request.GET.get("page"))
    context = {
        "project": project,
        "title": _("Deleted dialogues"),
        "page": page,
        "rows": [_describe(project, row) for row in page],
    }
    return render(request, "data/dialogues/deleted.html", context)


def _describe(project: Project, row: DeletedDialogue) -> dict[str, Any]:
    result = row.job.result if row.job else {}
    return {
        "deleted": row,
        "exports": result.get("exports"),
        "snapshots": result.get("snapshots"),
        "has_failed": row.job is not None and row.job.state == JobState.FAILED,
    }


urlpatterns = [
    path("p/<slug:slug>/dialogues/deleted/", deleted_list, name="dialogues_deleted"),
    path("p/<slug:slug>/dialogues/<int:dialogue_id>/delete/", delete, name="dialogue_delete"),
]
