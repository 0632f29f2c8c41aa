"""The tabs of a project, the same on each of its pages."""

from dataclasses import dataclass
from typing import Any, Final

from django import template
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, pgettext_lazy

from accounts.models import User
from projects.models import Project, Protocol, Role
from projects.roles import Capability
from projects.selectors import capabilities_of

register = template.Library()
C = Capability


@dataclass(frozen=True, slots=True)
class Tab:
    """A link to one page of a project. name: the URL name of the page. needs: one of these capabilities.

    pages_below: URL names of pages that are shown under this tab. protocols: those whose projects have the tab.
    """

    name: str
    label: str | Promise
    icon: str
    needs: frozenset[Capability]
    pages_below: frozenset[str] = frozenset()
    protocols: frozenset[str] = frozenset(Protocol)


def _tab(
    name: str,
    label: Promise,
    icon: str,
    *needs: Capability,
    under: tuple[str, ...] = (),
    protocols: tuple[str, ...] = tuple(Protocol),
) -> Tab:
    return Tab(name, label, icon, frozenset(needs), frozenset(under), frozenset(protocols))


AUTHORING: Final = (Protocol.AUTHORING,)
LABELLING: Final = (Protocol.LABELLING,)
ASSESSMENT: Final = (Protocol.ASSESSMENT,)
ANNOTATION: Final = (*AUTHORING, *LABELLING)


TABS: Final = (
    _tab("project", gettext_lazy("Overview"), "home", C.SEE),
    _tab(
        "queue",
        gettext_lazy("Queue"),
        "pencil",
        C.ANNOTATE,
        under=("claim", "workbench", "label", "label_next", "confirmations"),
        protocols=ANNOTATION,
    ),
    _tab("review", gettext_lazy("Review"), "eye", C.REVIEW, under=("review_dialogue",), protocols=AUTHORING),
    _tab(
        "batches",
        gettext_lazy("Batches"),
        "folder",
        C.REVIEW,
        C.READ_STATISTICS,
        under=("batch", "sample", "batches_cut", "batches_plan", "batch_boards"),
        protocols=LABELLING,
    ),
    _tab("accuracy", gettext_lazy("My accuracy"), "chart", C.ANNOTATE, protocols=LABELLING),
    _tab("appeals", gettext_lazy("Appeals"), "info", C.DECIDE, protocols=LABELLING),
    _tab("disputes", gettext_lazy("Disputes"), "users", C.DECIDE, under=("dispute",), protocols=LABELLING),
    _tab("threads", gettext_lazy("Threads"), "info", C.SEE, under=("thread",), protocols=ANNOTATION),
    _tab(
        "admission_test",
        gettext_lazy("Training"),
        "shield",
        C.DECIDE,
        under=("gold", "disagreement"),
        protocols=LABELLING,
    ),
    _tab(
        "systems",
        gettext_lazy("Systems"),
        "chip",
        C.CONFIGURE,
        under=("system_new", "system_edit", "system_try"),
        protocols=ASSESSMENT,
    ),
    _tab(
        "runs",
        gettext_lazy("Runs"),
        "layers",
        C.READ_STATISTICS,
        under=("run", "run_create", "run_links"),
        protocols=ASSESSMENT,
    ),
    _tab(
        "collections",
        gettext_lazy("Collections"),
        "folder",
        C.READ_STATISTICS,
        under=("collection", "collection_new"),
        protocols=ASSESSMENT,
    ),
    _tab("participants", gettext_lazy("Participants"), "users", C.READ_STATISTICS, protocols=ASSESSMENT),
    _tab("take_part", gettext_lazy("Take part"), "pencil", C.SEE, protocols=ASSESSMENT),
    _tab("dialogues", gettext_lazy("Dialogues"), "chat", C.READ_DIALOGUES, under=("dialogue",)),
    _tab("statistics", gettext_lazy("Statistics"), "chart", C.READ_STATISTICS, protocols=ANNOTATION),
    _tab("assessment_report", gettext_lazy("Report"), "chart", C.READ_STATISTICS, protocols=ASSESSMENT),
    _tab("imports", gettext_lazy("Import"), "upload", C.IMPORT, under=("import",)),
    _tab("exports", gettext_lazy("Export"), "download", C.EXPORT, under=("export",)),
    _tab("snapshots", gettext_lazy("Snapshots"), "lock", C.EXPORT, under=("snapshot",), protocols=ANNOTATION),
    _tab(
        "trainings",
        pgettext_lazy("models", "Training"),
        "chip",
        C.TRAIN,
        under=("training_new", "training_run"),
        protocols=ANNOTATION,
    ),
    _tab(
        "models",
        gettext_lazy("Models"),
        "layers",
        C.TRAIN,
        under=("model", "evaluation"),
        protocols=ANNOTATION,
    ),
    _tab(
        "evaluators",
        gettext_lazy("Evaluators"),
        "chart",
        C.TRAIN,
        under=("scoring_new", "scoring_run", "meta_evaluation"),
    ),
    _tab(
        "topics",
        gettext_lazy("Topics"),
        "list",
        C.READ_STATISTICS,
        under=("tagging_new", "tagging_run"),
    ),
    _tab("jobs", gettext_lazy("Jobs"), "clock", C.IMPORT, C.EXPORT, C.CONFIGURE, under=("job",)),
    _tab(
        "schema",
        gettext_lazy("Schema"),
        "list",
        C.CONFIGURE,
        under=("schema_version",),
        protocols=LABELLING,
    ),
    _tab(
        "study_settings",
        gettext_lazy("Study"),
        "list",
        C.CONFIGURE,
        under=("study_statements",),
        protocols=ASSESSMENT,
    ),
    _tab("members", gettext_lazy("Members"), "users", C.MANAGE_MEMBERS, under=("invitations",)),
    _tab("project_settings", gettext_lazy("Settings"), "settings", C.CONFIGURE, under=("project_replan",)),
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
    visible_tabs = [tab for tab in TABS if tab.needs & granted and project.protocol in tab.protocols]
    tabs = [
        (tab, reverse(tab.name, args=[project.slug]), page_name in {tab.name, *tab.pages_below})
        for tab in visible_tabs
    ]
    return {"tabs": tabs, "project": project}


@register.simple_tag
def role_label(role: str) -> str:
    return str(Role(role).label) if role in Role.values else role


@register.simple_tag
def language_label(code: str) -> str:
    """The name of a language of the interface; unknown codes are shown unchanged."""
    return str(dict(settings.LANGUAGES).get(code, code))
