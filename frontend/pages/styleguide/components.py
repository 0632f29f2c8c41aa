"""Every component in every state, for developers. Served with DEBUG only; nothing is stored."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.refusals import NotAllowed
from frontend.pages import errors
from frontend.templatetags.ui import STATE_STYLES
from frontend.ui.icons import ICONS
from jobs.models import Job, JobState

CONVERSATION = [
    ("A", "春天我家猫开始掉毛了，到处都是", "", ""),
    ("B", "我都是买吸尘器吸的", "revise", "3"),
    ("A", "你家猫掉的多吗，是啥品种的", "select", ""),
    ("B", "英短银渐层，每天都得吸", "rewrite", ""),
    ("A", "我猫有时还吃自己的毛团", "select", ""),
]
CANDIDATES = [
    "我家的也吃",
    "不会吧，你家的多大了？",
    "是不是缺东西啊？给它买点猫草吃？",
    "吃点化毛的",
    "吃毛球，你买个化毛膏给猫吃",
    "吃毛没关系啊，我猫也吃",
    "这个你要注意了，去看看医生",
]
ERRORS: dict[str, Callable[[HttpRequest], HttpResponse]] = {
    "400": errors.bad_request,
    "403": errors.permission_denied,
    "404": errors.not_found,
    "csrf": errors.csrf_failure,
}


class SampleForm(forms.Form):
    title = forms.CharField(label=_("Title"), help_text=_("Shown in lists."))
    slug = forms.CharField(label=_("Short name"), initial="Chit chat")
    about = forms.CharField(label=_("Description"), widget=forms.Textarea(attrs={"rows": 3}), required=False)
    language = forms.ChoiceField(label=_("Language"), choices=[("en", "English"), ("zh", "中文")])
    mode = forms.ChoiceField(
        label=_("Broken lines"), choices=[("stop", _("Stop")), ("skip", _("Skip"))], widget=forms.RadioSelect
    )
    ahead = forms.BooleanField(
        label=_("Generate while the annotator pauses"), help_text=_("Costs some of the model's time.")
    )
    file = forms.FileField(label=_("File"), required=False)

    def clean_slug(self) -> str:
        raise forms.ValidationError(_("Small letters, digits, - and _ only."))


def sample_jobs() -> list[Job]:
    """An unsaved job in each state."""
    begun, ended = timezone.now() - timedelta(minutes=4), timezone.now() - timedelta(minutes=1)
    broken = {
        "error": _("Line 312: “utterances” is not a list."),
        "remedy": _("Correct the line, or import again and skip broken lines."),
    }
    states: list[dict[str, Any]] = [
        {"state": JobState.QUEUED, "done": 0},
        {"state": JobState.RUNNING, "done": 12_400, "total": 40_000, "started_at": begun},
        {"state": JobState.DONE, "done": 40_000, "total": 40_000, "ended_at": ended},
        {"state": JobState.FAILED, "done": 311, "total": 40_000, "ended_at": ended, **broken},
        {"state": JobState.CANCELLED, "done": 8_000, "total": 40_000, "ended_at": ended},
    ]
    return [Job(id=UUID(int=number), kind="import", **state) for number, state in enumerate(states, start=1)]


def components(request: HttpRequest) -> HttpResponse:
    if "messages" in request.GET:
        messages.success(request, _("Saved."))
        messages.error(request, _("The line was not stored: it is longer than 2,000 characters. Shorten it."))
    form = SampleForm({"title": "", "slug": "Chit chat", "mode": "stop", "language": "zh"})
    context = {
        "title": _("Style guide"),
        "form": form,
        "fresh_form": SampleForm(prefix="fresh"),
        "jobs": sample_jobs(),
        "states": list(STATE_STYLES),
        "icons": list(ICONS),
        "page": Paginator(range(2000), 50).page(3),
        "themes": ["light", "dark"],
    }
    return render(request, "styleguide/components.html", context)


def workbench(request: HttpRequest) -> HttpResponse:
    context = {
        "title": _("Chit-chat"),
        "conversation": CONVERSATION,
        "candidates": CANDIDATES,
        "waiting": "waiting" in request.GET,
    }
    return render(request, "styleguide/workbench.html", context)


def error(request: HttpRequest, code: str) -> HttpResponse:
    if code == "refusal":
        role = _("Ask its manager for the role “Trainer”.")
        raise NotAllowed(_("Only experts of this project review dialogues."), role)
    return ERRORS.get(code, errors.server_error)(request)


def job_row(request: HttpRequest) -> HttpResponse:
    return render(request, "styleguide/job.html", {"job": sample_jobs()[1]})
