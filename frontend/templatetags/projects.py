"""The tabs of a project, the same on each of its pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django import template
from django.conf import settings
from django.db.models import TextChoices
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


class Group(TextChoices):
    WORK = "work", gettext_lazy("Work")
    QUALITY = "quality", gettext_lazy("Quality")
    DATA = "data", gettext_lazy("Data")
    MODEL = "model", gettext_lazy("Models")
    SETTINGS = "settings", gettext_lazy("Settings")


@dataclass(frozen=True, slots=True)
class Tab:
    """A link to one page of a project. name: the URL name of the page. needs: one of these capabilities.

    group: under which the menu lists it. pages_below: URL names of pages that are shown under this tab.
    protocols: those whose projects have the tab.
    """

    name: str
    label: str | Promise
    icon: str
    group: "Group"
    needs: frozenset[Capability]
    pages_below: frozenset[str] = frozenset()
    protocols: frozenset[str] = frozenset(Protocol)


def _tab(
    name: str,
    label: Promise,
    icon: str,
    group: Group,
    *needs: Capability,
    under: tuple[str, ...] = (),
    protocols: tuple[str, ...] = tuple(Protocol),
) -> Tab:
    return Tab(name, label, icon, group, frozenset(needs), frozenset(under), frozenset(protocols))


AUTHORING: Final = (Protocol.AUTHORING,)
LABELLING: Final = (Protocol.LABELLING,)
ASSESSMENT: Final = (Protocol.ASSESSMENT,)
ANNOTATION: Final = (*AUTHORING, *LABELLING)


TABS: Final = (
    _tab("project", gettext_lazy("Overview"), "home", Group.WORK, C.SEE),
    _tab(
        "queue",
        gettext_lazy("Queue"),
        "pencil",
        Group.WORK,
        C.ANNOTATE,
        under=("claim", "workbench", "label", "label_next", "confirmations", "admission", "admission_try"),
        protocols=ANNOTATION,
    ),
    _tab(
        "review",
        gettext_lazy("Review"),
        "eye",
        Group.WORK,
        C.REVIEW,
        under=("review_dialogue",),
        protocols=AUTHORING,
    ),
    _tab(
        "batches",
        gettext_lazy("Batches"),
        "folder",
        Group.QUALITY,
        C.REVIEW,
        C.READ_STATISTICS,
        under=("batch", "sample", "batches_cut", "batches_plan", "batch_boards"),
        protocols=LABELLING,
    ),
    _tab("accuracy", gettext_lazy("My accuracy"), "chart", Group.QUALITY, C.ANNOTATE, protocols=LABELLING),
    _tab("appeals", gettext_lazy("Appeals"), "info", Group.QUALITY, C.DECIDE, protocols=LABELLING),
    _tab(
        "disputes",
        gettext_lazy("Disputes"),
        "users",
        Group.QUALITY,
        C.DECIDE,
        under=("dispute",),
        protocols=LABELLING,
    ),
    _tab(
        "threads", gettext_lazy("Threads"), "info", Group.WORK, C.SEE, under=("thread",), protocols=ANNOTATION
    ),
    _tab(
        "admission_test",
        gettext_lazy("Admission test"),
        "shield",
        Group.QUALITY,
        C.DECIDE,
        under=("gold", "disagreement"),
        protocols=LABELLING,
    ),
    _tab(
        "systems",
        gettext_lazy("Systems"),
        "chip",
        Group.WORK,
        C.CONFIGURE,
        under=("system_new", "system_edit", "system_try"),
        protocols=ASSESSMENT,
    ),
    _tab(
        "runs",
        gettext_lazy("Runs"),
        "layers",
        Group.WORK,
        C.READ_STATISTICS,
        under=("run", "run_create", "run_links"),
        protocols=ASSESSMENT,
    ),
    _tab(
        "collections",
        gettext_lazy("Collections"),
        "folder",
        Group.WORK,
        C.READ_STATISTICS,
        under=("collection", "collection_new"),
        protocols=ASSESSMENT,
    ),
    _tab(
        "participants",
        gettext_lazy("Participants"),
        "users",
        Group.WORK,
        C.READ_STATISTICS,
        protocols=ASSESSMENT,
    ),
    _tab("take_part", gettext_lazy("Take part"), "pencil", Group.WORK, C.SEE, protocols=ASSESSMENT),
    _tab(
        "dialogues",
        gettext_lazy("Dialogues"),
        "chat",
        Group.DATA,
        C.READ_DIALOGUES,
        under=("dialogue", "dialogue_delete", "dialogues_deleted"),
    ),
    _tab(
        "statistics", gettext_lazy("Statistics"), "chart", Group.DATA, C.READ_STATISTICS, protocols=ANNOTATION
    ),
    _tab(
        "assessment_report",
        gettext_lazy("Report"),
        "chart",
        Group.QUALITY,
        C.READ_STATISTICS,
        protocols=ASSESSMENT,
    ),
    _tab("imports", gettext_lazy("Import"), "upload", Group.DATA, C.IMPORT, under=("import", "import_undo")),
    _tab("exports", gettext_lazy("Export"), "download", Group.DATA, C.EXPORT, under=("export",)),
    _tab(
        "snapshots",
        gettext_lazy("Snapshots"),
        "lock",
        Group.DATA,
        C.EXPORT,
        under=("snapshot",),
        protocols=ANNOTATION,
    ),
    _tab(
        "trainings",
        pgettext_lazy("models", "Training"),
        "chip",
        Group.MODEL,
        C.TRAIN,
        under=("training_new", "training_run", "training_comparison"),
        protocols=ANNOTATION,
    ),
    _tab(
        "models",
        gettext_lazy("Models"),
        "layers",
        Group.MODEL,
        C.TRAIN,
        under=("model", "evaluation"),
        protocols=ANNOTATION,
    ),
    _tab(
        "evaluators",
        gettext_lazy("Evaluators"),
        "chart",
        Group.MODEL,
        C.TRAIN,
        under=("scoring_new", "scoring_run", "scoring_machine_labels", "meta_evaluation"),
    ),
    _tab(
        "topics",
        gettext_lazy("Topics"),
        "list",
        Group.DATA,
        C.READ_STATISTICS,
        under=("tagging_new", "tagging_run"),
    ),
    _tab("jobs", gettext_lazy("Jobs"), "clock", Group.DATA, C.IMPORT, C.EXPORT, C.CONFIGURE, under=("job",)),
    _tab(
        "schema",
        pgettext_lazy("of a schema", "Questions"),
        "list",
        Group.SETTINGS,
        C.CONFIGURE,
        under=("schema_version",),
        protocols=LABELLING,
    ),
    _tab(
        "study_settings",
        gettext_lazy("Study"),
        "list",
        Group.SETTINGS,
        C.CONFIGURE,
        under=("study_statements",),
        protocols=ASSESSMENT,
    ),
    _tab(
        "members",
        gettext_lazy("Members"),
        "users",
        Group.SETTINGS,
        C.MANAGE_MEMBERS,
        under=("person", "invitations", "invite_one", "invite_list", "invitation_link"),
    ),
    _tab(
        "project_settings",
        gettext_lazy("Settings"),
        "settings",
        Group.SETTINGS,
        C.CONFIGURE,
        under=(
            "project_replan",
            "project_copy",
            "project_delete",
            "hub_token",
            "webhooks",
            "webhook",
            "history",
        ),
    ),
    _tab("guidelines", gettext_lazy("Guidelines"), "book", Group.WORK, C.SEE, under=("guidelines_history",)),
)


# Which tabs stay in the row if there are more than MOST_TABS; the others are in the menu.
MAIN: Final = (
    "project", "queue", "review", "batches", "runs", "dialogues", "statistics", "assessment_report", "exports",
    "disputes", "members", "systems", "accuracy", "take_part", "threads", "guidelines",
)  # fmt: skip
MOST_TABS: Final = 6


@dataclass(frozen=True, slots=True)
class TabLink:
    tab: Tab
    url: str
    is_here: bool


@register.inclusion_tag("projects/nav.html", takes_context=True)
def project_nav(context: template.Context, project: Project) -> dict[str, Any]:
    """Links to the pages that the person's roles may open. One query."""
    request = context.get("request")
    if not isinstance(request, HttpRequest) or not isinstance(request.user, User):
        return {"tabs": []}
    granted = capabilities_of(request.user, project)
    match = request.resolver_match
    page_name = match.url_name if match else None
    links = [
        TabLink(tab, reverse(tab.name, args=[project.slug]), page_name in {tab.name, *tab.pages_below})
        for tab in TABS
        if tab.needs & granted and project.protocol in tab.protocols
    ]
    groups = [(group.label, [link for link in links if link.tab.group == group]) for group in Group]
    return {
        "tabs": main_tabs(links),
        "groups": [(label, members) for label, members in groups if members],
        "has_more": len(links) > MOST_TABS,
        "project": project,
    }


@register.inclusion_tag("projects/archived_notice.html", takes_context=True)
def archived_notice(context: template.Context, project: Project) -> dict[str, Any]:
    """Says that the project is archived; those who may restore it get the button. One query."""
    user = context["request"].user
    may_restore = isinstance(user, User) and C.MANAGE_MEMBERS in capabilities_of(user, project)
    return {"project": project, "may_restore": may_restore, "request": context["request"]}


def main_tabs(links: Sequence[TabLink]) -> list[TabLink]:
    """At most MOST_TABS: the page that is shown, then the main ones, in the order of the tabs."""
    ranks = {name: rank for rank, name in enumerate(MAIN)}
    ranked = sorted(links, key=lambda link: (not link.is_here, ranks.get(link.tab.name, len(ranks))))
    chosen = ranked[:MOST_TABS]
    return [link for link in links if link in chosen]


@register.simple_tag
def role_label(role: str) -> str:
    return str(Role(role).label) if role in Role.values else role


@register.simple_tag
def language_label(code: str) -> str:
    """The name of a language of the interface; unknown codes are shown unchanged."""
    return str(dict(settings.LANGUAGES).get(code, code))
