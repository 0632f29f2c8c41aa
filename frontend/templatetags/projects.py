"""The tabs of a project, the same on each of its pages."""

from dataclasses import dataclass
from typing import Any, Final

from django import template
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, pgettext_lazy

from accounts.models import User
from projects.models import Project
from projects.roles import Capability
from projects.selectors import capabilities_of

register = template.Library()
C = Capability


@dataclass(frozen=True, slots=True)
class Tab:
    """A link to one page of a project. name: the URL name of the page. needs: one of these capabilities.

    pages_below: URL names of pages that are shown under this tab. protocol: the only one whose projects have the tab;
    empty: every project has it.
    """

    name: str
    label: str | Promise
    icon: str
    needs: frozenset[Capability]
    pages_below: frozenset[str] = frozenset()
    protocol: str = ""


def _tab(
    name: str,
    label: Promise,
    icon: str,
    *needs: Capability,
    under: tuple[str, ...] = (),
    protocol: str = "",
) -> Tab:
    return Tab(name, label, icon, frozenset(needs), frozenset(under), protocol)


TABS: Final = (
    _tab("project", gettext_lazy("Overview"), "home", C.SEE),
    _tab(
        "queue",
        gettext_lazy("Queue"),
        "pencil",
        C.ANNOTATE,
        under=("claim", "workbench", "label", "label_next", "confirmations"),
    ),
    _tab("review", gettext_lazy("Review"), "eye", C.REVIEW, under=("review_dialogue",), protocol="authoring"),
    _tab(
        "batches",
        gettext_lazy("Batches"),
        "folder",
        C.REVIEW,
        C.READ_STATISTICS,
        under=("batch", "sample", "batches_cut", "batches_plan", "batch_boards"),
        protocol="labelling",
    ),
    _tab("accuracy", gettext_lazy("My accuracy"), "chart", C.ANNOTATE, protocol="labelling"),
    _tab("appeals", gettext_lazy("Appeals"), "info", C.DECIDE, protocol="labelling"),
    _tab("disputes", gettext_lazy("Disputes"), "users", C.DECIDE, under=("dispute",), protocol="labelling"),
    _tab("threads", gettext_lazy("Threads"), "info", C.SEE, under=("thread",)),
    _tab(
        "admission_test",
        gettext_lazy("Training"),
        "shield",
        C.DECIDE,
        under=("gold", "disagreement"),
        protocol="labelling",
    ),
    _tab("dialogues", gettext_lazy("Dialogues"), "chat", C.READ_DIALOGUES, under=("dialogue",)),
    _tab("statistics", gettext_lazy("Statistics"), "chart", C.READ_STATISTICS, under=("assessment_report",)),
    _tab("imports", gettext_lazy("Import"), "upload", C.IMPORT, under=("import",)),
    _tab("exports", gettext_lazy("Export"), "download", C.EXPORT, under=("export",)),
    _tab("snapshots", gettext_lazy("Snapshots"), "lock", C.EXPORT, under=("snapshot",), protocol="authoring"),
    _tab(
        "trainings",
        pgettext_lazy("models", "Training"),
        "chip",
        C.TRAIN,
        under=("training_new", "training_run"),
        protocol="authoring",
    ),
    _tab(
        "models",
        gettext_lazy("Models"),
        "layers",
        C.TRAIN,
        under=("model", "evaluation"),
        protocol="authoring",
    ),
    _tab("jobs", gettext_lazy("Jobs"), "clock", C.IMPORT, C.EXPORT, C.CONFIGURE, under=("job",)),
    _tab(
        "schema",
        gettext_lazy("Schema"),
        "list",
        C.CONFIGURE,
        under=("schema_version",),
        protocol="labelling",
    ),
    _tab("members", gettext_lazy("Members"), "users", C.MANAGE_MEMBERS),
    _tab("project_settings", gettext_lazy("Settings"), "settings", C.CONFIGURE),
    _tab("guidelines", gettext_lazy("Guidelines"), "book", C.SEE),
)


@register.inclusion_tag("projects/nav.html", takes_context=True)
def project_nav(context: template.Context, project: Project) -> dict[str, Any]:
    """Links to the pages that the person's roles may open. One query."""
    request = context.get("request")
    if not isinstance(request, HttpRequest) or not isinstance(request.user, User):
        return {"tabs": []}
    granted = capabilities_of(request.user, project)
    match = request.resolver_match
    page_name = match.url_name if match else None
    visible_tabs = [tab for tab in TABS if tab.needs & granted and tab.protocol in ("", project.protocol)]
    tabs = [
        (tab, reverse(tab.name, args=[project.slug]), page_name in {tab.name, *tab.pages_below})
        for tab in visible_tabs
    ]
    return {"tabs": tabs, "project": project}
