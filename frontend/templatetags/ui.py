"""The components of the design system as template tags. /styleguide/ (with DEBUG) shows each in every state."""

from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from django import template
from django.core.paginator import Page
from django.forms import (
    BoundField,
    CheckboxInput,
    CheckboxSelectMultiple,
    Field,
    FileInput,
    RadioSelect,
    Select,
)
from django.http import HttpRequest, QueryDict
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from accounts.mail import is_mail_set_up
from common import clock
from common.sentences import close_gaps
from frontend.charts.chart import Chart
from frontend.pages.message_catalog import catalog_url
from frontend.preferences import theme_of
from frontend.ui import dialogues, units
from frontend.ui.icons import ICONS
from frontend.ui.job_failures import describe_failure
from frontend.ui.paging import KeysetPage
from frontend.ui.reading_languages import LanguageChecks
from frontend.ui.sorting import Sorting
from jobs.broker import broker_answers
from jobs.models import LIVE_STATES, Job, JobState

register = template.Library()


class StateStyle(NamedTuple):
    """How a state is shown: a sign and a word, never only a colour."""

    tone: str  # "", good, warn, bad, busy
    sign: str
    label: str | Promise


STATE_STYLES: Final = {
    "queued": StateStyle("", "clock", gettext_lazy("Waiting")),
    "running": StateStyle("busy", "half", gettext_lazy("Running")),
    "done": StateStyle("good", "check", gettext_lazy("Done")),
    "failed": StateStyle("bad", "cross", gettext_lazy("Failed")),
    "cancelled": StateStyle("", "ban", gettext_lazy("Cancelled")),
    "active": StateStyle("busy", "half", gettext_lazy("In work")),
    "saved": StateStyle("", "folder", gettext_lazy("Saved for later")),
    "submitted": StateStyle("good", "check", gettext_lazy("Finished")),
    "released": StateStyle("", "undo", gettext_lazy("Given back")),
    "expired": StateStyle("warn", "clock", gettext_lazy("Expired")),
    "writing": StateStyle("busy", "half", gettext_lazy("Being written")),
    "finished": StateStyle("good", "check", gettext_lazy("Finished")),
    "abandoned": StateStyle("", "ban", gettext_lazy("Abandoned")),
    "unreviewed": StateStyle("", "circle", gettext_lazy("Not reviewed")),
    "pass": StateStyle("good", "check", gettext_lazy("Pass")),
    "passed": StateStyle("good", "check", gettext_lazy("Passed")),
    "veto": StateStyle("bad", "cross", gettext_lazy("Veto")),
    "vetoed": StateStyle("bad", "cross", gettext_lazy("Vetoed")),
    "select": StateStyle("", "check", gettext_lazy("selected")),
    "revise": StateStyle("", "pencil", gettext_lazy("revised")),
    "rewrite": StateStyle("", "rewrite", gettext_lazy("rewritten")),
    "pending": StateStyle("warn", "upload", gettext_lazy("Waiting to send")),
    "offline": StateStyle("warn", "offline", gettext_lazy("Offline")),
    "live": StateStyle("good", "check", gettext_lazy("Valid")),
    "revoked": StateStyle("", "ban", gettext_lazy("Revoked")),
    "open": StateStyle("", "circle", gettext_lazy("Being labelled")),
    "confirming": StateStyle("busy", "half", gettext_lazy("Being confirmed")),
    "disputed": StateStyle("warn", "alert", gettext_lazy("For a trainer")),
    "final": StateStyle("good", "check", gettext_lazy("Final")),
    "sealed": StateStyle("warn", "shield", gettext_lazy("Sealed")),
    "in_review": StateStyle("busy", "eye", gettext_lazy("In review")),
    "accepted": StateStyle("good", "check", gettext_lazy("Accepted")),
    "returned": StateStyle("bad", "undo", gettext_lazy("Returned")),
    "upheld": StateStyle("good", "check", gettext_lazy("Upheld")),
    "rejected": StateStyle("", "cross", gettext_lazy("Rejected")),
    "archived": StateStyle("", "folder", gettext_lazy("Archived")),
    "draft": StateStyle("", "pencil", gettext_lazy("Being prepared")),
    "closed": StateStyle("", "lock", gettext_lazy("Closed")),
    "invited": StateStyle("", "circle", gettext_lazy("Has not consented yet")),
    "completed": StateStyle("good", "check", gettext_lazy("Completed")),
    "system_failure": StateStyle("bad", "alert", gettext_lazy("Ended by a failure of the systems")),
    "timed_out": StateStyle("warn", "clock", gettext_lazy("Timed out")),
    "declined": StateStyle("", "ban", gettext_lazy("Consent declined")),
    "on": StateStyle("good", "check", gettext_lazy("On")),
    "off": StateStyle("", "ban", gettext_lazy("Off")),
    "undone": StateStyle("", "undo", gettext_lazy("Undone")),
    "partly_undone": StateStyle("", "undo", gettext_lazy("Partly undone")),
    "removed": StateStyle("", "trash", gettext_lazy("Removed")),
    "waiting": StateStyle("busy", "clock", gettext_lazy("Waiting")),
    "delivered": StateStyle("good", "check", gettext_lazy("Delivered")),
    "answered": StateStyle("busy", "chat", gettext_lazy("Answered")),
    "decided": StateStyle("good", "check", gettext_lazy("Decided")),
    "trial": StateStyle("", "chat", gettext_lazy("Tried out")),
}

CAPS: Final = {
    "mod": "Ctrl", "ctrl": "Ctrl", "alt": "Alt", "shift": "Shift", "enter": "↵", "escape": "Esc", "esc": "Esc",
    "up": "↑", "down": "↓", "left": "←", "right": "→", "space": "Space",
}  # fmt: skip
UNITS: Final = {
    "files": gettext_lazy("files"),
    "rows": gettext_lazy("rows"),
    "dialogues": pgettext_lazy("after a number", "dialogues"),
    "steps": gettext_lazy("steps"),
    "replies": gettext_lazy("replies"),
}
# The first match counts: CheckboxSelectMultiple is a subclass of RadioSelect.
ARRANGEMENTS: Final = [
    (LanguageChecks, "languages"),
    (CheckboxInput, "check"),
    (CheckboxSelectMultiple, "checks"),
    (RadioSelect, "radio"),
    (FileInput, "file"),
]
APPLE_CAPS: Final = {**CAPS, "mod": "⌘", "ctrl": "⌃", "alt": "⌥", "shift": "⇧"}


@register.simple_tag
def message_catalog_url(language: str) -> str:
    """The URL of the texts of scripts in this language."""
    return catalog_url(language)


@register.simple_tag
def mail_is_set_up() -> bool:
    return is_mail_set_up()


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """One of frontend/ui/icons.py; hidden from screen readers unless it has a label."""
    accessibility = (
        format_html('role="img" aria-label="{}"', label) if label else mark_safe('aria-hidden="true"')
    )
    paths = mark_safe(ICONS[name])  # noqa: S308 (our own drawings)
    return format_html('<svg class="icon" viewBox="0 0 24 24" {}>{}</svg>', accessibility, paths)


@register.simple_tag(takes_context=True)
def key(context: template.Context, combination: str) -> SafeString:
    """A key hint, "mod+enter" → Ctrl ↵ or ⌘↵. The control itself carries data-key and is what gets pressed."""
    request = context.get("request")
    on_apple = isinstance(request, HttpRequest) and "Mac" in request.headers.get("User-Agent", "")
    caps = APPLE_CAPS if on_apple else CAPS
    names = combination.lower().split("+") if combination != "+" else ["+"]
    shown = [caps.get(name, name.upper() if len(name) == 1 else name.title()) for name in names]
    return format_html('<kbd class="key" aria-hidden="true">{}</kbd>', ("" if on_apple else " ").join(shown))


@register.simple_tag
def badge(state: object, label: str = "", tone: str = "", sign: str = "") -> SafeString:
    """A state as sign and word. A label, tone or sign that is passed replaces the one of the table."""
    style = STATE_STYLES.get(str(state), StateStyle("", "circle", str(state)))
    classes = " ".join(filter(None, ["badge", tone or style.tone]))
    return format_html(
        '<span class="{}">{}{}</span>', classes, icon(sign or style.sign), label or style.label
    )


register.filter("speaker_name", dialogues.speaker_name)


@register.filter
def is_recent(moment: datetime) -> bool:
    """Whether it was less than a minute ago."""
    return clock.now() - moment < timedelta(minutes=1)


@register.filter
def percent(share: float | None) -> str:
    """A share from 0 to 1 in percent; a dash if missing."""
    return "–" if share is None else units.keep_units(f"{100 * share:.1f} %")


@register.filter(is_safe=True)
def keep_units(text: str) -> str:
    """The text with its numbers and their units on one line."""
    return units.keep_units(text)


@register.simple_tag
def progress(value: float, maximum: float, label: str = "", tone: str = "") -> SafeString:
    """A bar with the same in words, "12 of 40"; with a maximum of 0 the bar is empty."""
    words = label or _("%(value)s of %(maximum)s") % {"value": value, "maximum": maximum}
    bar = format_html(
        '<progress class="{}" value="{}" max="{}" aria-label="{}"></progress>',
        tone,
        value,
        maximum or 1,
        words,
    )
    return format_html('<span class="progress">{}<span>{}</span></span>', bar, words)


@register.simple_tag
def steps(value: int, maximum: int, label: str = "") -> SafeString:
    """A bar with one cell per step, for a few countable things (rounds): `value` are done, the next one is in work."""
    words = label or _("%(value)s of %(maximum)s") % {"value": value, "maximum": maximum}
    states = ["done" if n < value else "now" if n == value else "" for n in range(maximum)]
    cells = format_html_join("", '<i class="{}"></i>', ((state,) for state in states))
    return format_html(
        '<span class="progress"><span class="steps" aria-hidden="true">{}</span><span>{}</span></span>',
        cells,
        words,
    )


@register.simple_block_tag
def sentences(content: str) -> SafeString:
    """A paragraph of several sentences: with spaces between them where the language writes them, without in Chinese."""
    return mark_safe(close_gaps(content))  # noqa: S308  # rendered by the template, which has escaped it


@register.inclusion_tag("components/empty_state.html")
def empty_state(
    title: str, text: str = "", icon: str = "inbox", url: str = "", action: str = "", key: str = ""
) -> dict[str, str]:
    """A page or list without content: says why, and offers the next step."""
    return {"title": title, "text": text, "icon_name": icon, "url": url, "action": action, "key_name": key}


@register.inclusion_tag("components/pager.html", takes_context=True)
def pager(context: template.Context, page: "Page[Any] | KeysetPage[Any]") -> dict[str, Any]:
    """Links to the neighbouring pages that keep the rest of the query. Takes a Django Page or a KeysetPage."""
    if isinstance(page, KeysetPage):
        older = _query(context, before=page.before) if page.before else ""
        return {"page": page, "older": older, "newest": "" if page.is_first else _query(context, before="")}
    previous = _query(context, page=str(page.number - 1)) if page.has_previous() else ""
    following = _query(context, page=str(page.number + 1)) if page.has_next() else ""
    return {"page": page, "numbered": True, "previous": previous, "following": following}


@register.inclusion_tag("components/sort_head.html", takes_context=True)
def sort_head(
    context: template.Context, sorting: Sorting, name: str, label: str, css: str = ""
) -> dict[str, Any]:
    """The head of a column by which a list can be sorted; the link keeps the filters."""
    is_chosen = sorting.name == name
    direction = ("descending" if sorting.is_falling else "ascending") if is_chosen else ""
    sign = "arrow-down" if sorting.is_falling else "arrow-up"
    url = _query(context, sort=sorting.next_for(name), before="")
    return {"label": label, "css": css, "direction": direction, "sign": sign, "url": url}


def _query(context: template.Context, **changes: str) -> str:
    request = context.get("request")
    query = request.GET.copy() if isinstance(request, HttpRequest) else QueryDict(mutable=True)
    for name, value in changes.items():
        query[name] = value
        if not value:
            del query[name]
    return f"?{query.urlencode()}"


@register.inclusion_tag("components/job.html", takes_context=True)
def job_progress(context: template.Context, job: Job, title: str = "", **urls: Any) -> dict[str, Any]:
    """The progress of a job; it reloads itself while the job runs.

    urls: poll (this component again, for htmx), cancel, retry, download, details; each is optional.
    worker_alive=False: no worker serves the job's queue. queues: the queues that are served, as another way to say so.
    """
    live = job.state in LIVE_STATES
    queues = urls.pop("queues", [job.queue])
    alive = urls.pop("worker_alive", True) and job.queue in queues
    return {
        "csrf_token": context.get("csrf_token"),
        "job": job,
        "failure": describe_failure(job),
        "title": title or job.kind,
        "live": live,
        "waiting_for_worker": job.state == JobState.QUEUED and not alive,
        "waiting_for_queue": job.state == JobState.QUEUED and not broker_answers(),
        "unit": UNITS.get(job.unit, job.unit),
        "is_short": bool(job.total) and (live or job.done != job.total),
        "percent": round(100 * job.done / job.total) if job.total else None,
        **urls,
    }


CHART_FILES: Final = ("svg", "csv", "json")


@register.inclusion_tag("components/chart.html", takes_context=True)
def chart_figure(
    context: template.Context, chart: Chart, page: str, query: str = "", level: int = 2, of: object = None
) -> dict[str, object]:
    """A chart with links to its files. page: the URL name of the files; of: the id in that URL, if it has one.

    level: of the heading.
    """
    ids = [context["project"].slug, *([of] if of else [])]
    urls = {suffix: reverse(page, args=[*ids, chart.name, suffix]) + query for suffix in CHART_FILES}
    return {"chart": chart, "level": level} | {f"{suffix}_url": url for suffix, url in urls.items()}


@register.inclusion_tag("components/field.html")
def field(bound: BoundField, label: str = "", help: str = "") -> dict[str, Any]:
    """A form field with label, help and errors; the kind of widget decides how they are arranged."""
    if label or bound.field.widget.attrs.get("placeholder") == bound.label:
        bound.field.widget.attrs.pop("placeholder", None)  # allauth's placeholders only repeat the label
    _focus_first_error(bound)
    kind = next((name for widget, name in ARRANGEMENTS if isinstance(bound.field.widget, widget)), "line")
    return {
        "field": bound,
        "kind": kind,
        "label": label or bound.label,
        "help": help or bound.help_text,
        "is_optional": _is_optional(bound.field),
    }


def _focus_first_error(bound: BoundField) -> None:
    """After a refusal the page opens at the first field that was refused, which may lie below what is seen.

    Not at hidden ones, nor at those of several inputs, each of which would get the focus.
    """
    fields = {name: field.widget for name, field in bound.form.fields.items() if name in bound.form.errors}
    wrong = [
        name
        for name, widget in fields.items()
        if not widget.is_hidden and not isinstance(widget, RadioSelect)
    ]
    if not wrong:
        return
    bound.field.widget.attrs.pop("autofocus", None)
    if bound.name == wrong[0]:
        bound.field.widget.attrs["autofocus"] = True


def _is_optional(field: Field) -> bool:
    """Whether it may be left empty: a select without an empty choice cannot be."""
    if field.required:
        return False
    if isinstance(field.widget, Select) and not field.widget.allow_multiple_selected:
        return any(value in ("", None) for value, _label in field.widget.choices)
    return True


# The first match counts: a User-Agent also names the browsers that it imitates.
BROWSERS: Final = [("Edg/", "Edge"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari")]
SYSTEMS: Final = [
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"), ("Mac OS", "macOS"),
    ("Linux", "Linux"),
]  # fmt: skip


@register.filter
def device(user_agent: str) -> str:
    """ "Firefox · Windows" from a User-Agent; the beginning of the header if the browser is unknown."""
    names = [
        next((name for mark, name in marks if mark in user_agent), None) for marks in (BROWSERS, SYSTEMS)
    ]
    return " · ".join(filter(None, names)) or user_agent[:60] or _("unknown")


@register.simple_tag(takes_context=True)
def theme(context: template.Context) -> str:
    """The theme for <html data-theme>: of the person, or of the cookie if nobody is signed in."""
    request = context.get("request")
    return theme_of(request) if isinstance(request, HttpRequest) else "auto"
