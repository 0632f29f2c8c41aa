"""What is to be done in a project, by role; and what a new project still lacks."""

from dataclasses import dataclass

from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from annotation.selectors.overview import Overview, Step, overviews, steps_for
from jobs.selectors import live_workers
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import capabilities_of

GPU = "gpu"


@dataclass(frozen=True, slots=True)
class Shown:
    """A step in words. label: the button; why: a sentence beside it, with the number that makes it urgent; note: the
    same in a word or two."""

    title: str
    why: str
    label: str
    url: str
    icon: str
    key: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Missing:
    """Something without which the work cannot begin or ends badly."""

    text: str
    label: str
    url: str


def next_steps(project: Project, granted: frozenset[Capability], seen: Overview) -> list[Shown]:
    """In the order of urgency; the first is the next action. Pages that this installation lacks are left out."""
    urls = [(step, url_of(step, project.slug)) for step in steps_for(project, granted, seen)]
    return [WORDS[step](url, seen) for step, url in urls if url]


def steps_in(user: User, project: Project) -> list[Shown]:
    """The steps of a person in one project."""
    return next_steps(project, capabilities_of(user, project), overviews(user, [project])[project.pk])


def _write(url: str, seen: Overview) -> Shown:
    notes = []
    if seen.open:
        why = ngettext("You have %(n)d open dialogue.", "You have %(n)d open dialogues.", seen.open) % {
            "n": seen.open
        }
        label = _("Go on writing")
        notes.append(ngettext("%(n)d open", "%(n)d open", seen.open) % {"n": seen.open})
    else:
        why, label = _("You hold no dialogue at the moment."), _("Write")
    if seen.came_back:
        why += " " + ngettext(
            "%(n)d came back with a reason.", "%(n)d came back with reasons.", seen.came_back
        ) % {"n": seen.came_back}
        notes.append(ngettext("%(n)d came back", "%(n)d came back", seen.came_back) % {"n": seen.came_back})
    return Shown(_("Writing"), why, label, url, "pencil", "w", " · ".join(notes))


def _review(url: str, seen: Overview) -> Shown:
    if seen.unreviewed:
        why = ngettext(
            "%(n)d finished dialogue waits for an expert.",
            "%(n)d finished dialogues wait for an expert.",
            seen.unreviewed,
        ) % {"n": seen.unreviewed}
        note = ngettext("%(n)d waits", "%(n)d wait", seen.unreviewed) % {"n": seen.unreviewed}
    elif seen.reviewed:
        why, note = _("Everything that waited for an expert is reviewed."), _("nothing waits")
    else:
        why, note = _("There is nothing to review yet: no dialogue is finished."), _("nothing waits")
    return Shown(_("Expert review"), why, _("Review"), url, "eye", "r", note)


def _export(url: str, seen: Overview) -> Shown:
    if seen.passed:
        why = ngettext(
            "Experts passed %(n)d dialogue: take it out as a file.",
            "Experts passed %(n)d dialogues: take them out as a file.",
            seen.passed,
        ) % {"n": seen.passed}
    else:
        why = _("Take the dialogues, every candidate and every choice out as a file.")
    return Shown(_("Data"), why, _("Export"), url, "download", "e")


def _plan(url: str, _seen: Overview) -> Shown:
    return Shown(
        _("Dialogues to be written"),
        _("No dialogue is left to be written."),
        _("Plan more"),
        f"{url}#plan",
        "plus",
        "p",
    )


def _import(url: str, _seen: Overview) -> Shown:
    return Shown(
        _("Dialogues from elsewhere"),
        _("Bring in a file; broken lines are named with their number."),
        _("Import"),
        url,
        "upload",
    )


def _statistics(url: str, _seen: Overview) -> Shown:
    return Shown(
        _("How it goes"),
        _("Who selects, revises and rewrites how often, and how long a turn takes."),
        _("Statistics"),
        url,
        "chart",
        "s",
    )


def _people(url: str, seen: Overview) -> Shown:
    if not seen.annotators:
        why, label = _("Nobody has the role “Annotator”."), _("Add people")
    else:
        why, label = _("Add people, make accounts, give and take roles."), _("Members")
    return Shown(_("People"), why, label, url, "users", "m")


WORDS = {
    Step.WRITE: _write,
    Step.REVIEW: _review,
    Step.EXPORT: _export,
    Step.PLAN: _plan,
    Step.PEOPLE: _people,
    Step.STATISTICS: _statistics,
    Step.IMPORT: _import,
}


def missing_steps(
    project: Project, granted: frozenset[Capability], seen: Overview, shown: list[Shown]
) -> list[Missing]:
    """What somebody who configures the project should do before people can work well, but for what is the next step."""
    settings = url_of("project_settings", project.slug)
    found = []
    if not (project.guidelines_en.strip() or project.guidelines_zh.strip()):
        found.append(Missing(_("There are no guidelines."), _("Write them"), settings))
    if project.protocol == Protocol.AUTHORING:
        found += _missing_in_authoring(settings, url_of("members", project.slug), granted, seen)
    return [one for one in found if not shown or not one.url or one.url != shown[0].url]


def _missing_in_authoring(
    settings: str, members: str, granted: frozenset[Capability], seen: Overview
) -> list[Missing]:
    found = []
    if not seen.annotators:
        url = members if Capability.MANAGE_MEMBERS in granted else ""
        found.append(Missing(_("Nobody has the role “Annotator”."), _("Add people"), url))
    if not seen.free:
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
