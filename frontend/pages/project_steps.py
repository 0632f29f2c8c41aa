"""What is to be done in a project, by role; and what a new project still lacks."""

from dataclasses import dataclass

from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Task
from annotation.selectors.overview import Overview
from jobs.selectors import live_workers
from projects.models import Membership, Project, Protocol, Role
from projects.roles import Capability

GPU = "gpu"


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do now. label: the button; why: a sentence beside it, with the number that makes it urgent."""

    title: str
    why: str
    label: str
    url: str
    icon: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Missing:
    """Something without which the work cannot begin or ends badly."""

    text: str
    label: str
    url: str


def next_steps(project: Project, granted: frozenset[Capability], seen: Overview) -> list[Step]:
    """In the order of urgency; the first is the next action. Pages that this installation lacks are left out."""
    offered = [
        *([_write(project, seen)] if Capability.ANNOTATE in granted else []),
        *([_review(project, seen)] if Capability.REVIEW in granted else []),
        *([_export(project)] if Capability.EXPORT in granted else []),
        *([_import(project)] if Capability.IMPORT in granted else []),
        *([_statistics(project)] if Capability.READ_STATISTICS in granted else []),
        *([_people(project)] if Capability.MANAGE_MEMBERS in granted else []),
    ]
    return [step for step in offered if step.url]


def _write(project: Project, seen: Overview) -> Step:
    if seen.open:
        why = ngettext("You have %(n)d open dialogue.", "You have %(n)d open dialogues.", seen.open) % {
            "n": seen.open
        }
        label = _("Go on writing")
    else:
        why, label = _("You hold no dialogue at the moment."), _("Write")
    if seen.came_back:
        why += " " + ngettext(
            "%(n)d came back with a reason.", "%(n)d came back with reasons.", seen.came_back
        ) % {"n": seen.came_back}
    return Step(_("Writing"), why, label, url_of("queue", project.slug), "pencil", "w")


def _review(project: Project, seen: Overview) -> Step:
    why = (
        ngettext("%(n)d finished dialogue waits for an expert.", "%(n)d finished dialogues wait for an expert.",
                 seen.unreviewed) % {"n": seen.unreviewed}
        if seen.unreviewed
        else _("Every finished dialogue is reviewed.")
    )  # fmt: skip
    return Step(_("Expert review"), why, _("Review"), url_of("review", project.slug), "eye", "r")


def _export(project: Project) -> Step:
    return Step(
        _("Data"),
        _("Take the dialogues, every candidate and every choice out as a file."),
        _("Export"),
        url_of("exports", project.slug),
        "download",
        "e",
    )


def _import(project: Project) -> Step:
    return Step(
        _("Dialogues from elsewhere"),
        _("Bring in a file; broken lines are named with their number."),
        _("Import"),
        url_of("imports", project.slug),
        "upload",
    )


def _statistics(project: Project) -> Step:
    return Step(
        _("How it goes"),
        _("Who selects, revises and rewrites how often, and how long a turn takes."),
        _("Statistics"),
        url_of("statistics", project.slug),
        "chart",
        "s",
    )


def _people(project: Project) -> Step:
    return Step(
        _("People"),
        _("Add people, make accounts, give and take roles."),
        _("Members"),
        url_of("members", project.slug),
        "users",
        "m",
    )


def missing_steps(project: Project, granted: frozenset[Capability]) -> list[Missing]:
    """What somebody who configures the project should do before people can work well."""
    settings = url_of("project_settings", project.slug)
    found = []
    if not (project.guidelines_en.strip() or project.guidelines_zh.strip()):
        found.append(Missing(_("There are no guidelines."), _("Write them"), settings))
    if project.protocol == Protocol.AUTHORING:
        found += _missing_in_authoring(project, settings, granted)
    return found


def _missing_in_authoring(project: Project, settings: str, granted: frozenset[Capability]) -> list[Missing]:
    found = []
    if not Membership.objects.filter(project=project, roles__contains=[Role.ANNOTATOR]).exists():
        members = url_of("members", project.slug) if Capability.MANAGE_MEMBERS in granted else ""
        found.append(Missing(_("Nobody has the role “Annotator”."), _("Add people"), members))
    if not Task.objects.filter(project=project, open_slots__gt=0).exists():
        found.append(Missing(_("No dialogue is left to be written."), _("Plan more"), f"{settings}#plan"))
    if not live_workers(GPU).exists():
        text = _(
            "No worker for candidates is running: people write without them. Whoever runs this server starts one."
        )
        found.append(Missing(text, "", ""))
    return found


def url_of(name: str, slug: str) -> str:
    """Empty for a page that this installation does not have."""
    try:
        return reverse(name, args=[slug])
    except NoReverseMatch:
        return ""
