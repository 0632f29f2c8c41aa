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


def _confirm(url: str, seen: Overview) -> Shown:
    why = ngettext(
        "Somebody else answered differently for %(n)d dialogue: look at it once more.",
        "Somebody else answered differently for %(n)d dialogues: look at them once more.",
        seen.to_confirm,
    ) % {"n": seen.to_confirm}
    note = ngettext("%(n)d to confirm", "%(n)d to confirm", seen.to_confirm) % {"n": seen.to_confirm}
    return Shown(_("Confirming"), why, _("Confirm"), url, "check", "c", note)


def _test(url: str, _seen: Overview) -> Shown:
    return Shown(
        _("Admission test"),
        _("This project has an admission test, and you have not passed it yet."),
        _("To the test"),
        url,
        "book",
        "t",
    )


def _label(url: str, seen: Overview) -> Shown:
    if seen.open:
        why = ngettext("You have %(n)d open dialogue.", "You have %(n)d open dialogues.", seen.open) % {
            "n": seen.open
        }
        return Shown(_("Labelling"), why, _("Go on labelling"), url, "pencil", "l")
    if seen.free:
        why = ngettext(
            "%(n)d dialogue still wants somebody.", "%(n)d dialogues still want somebody.", seen.free
        ) % {"n": seen.free}
    else:
        why = _("No dialogue waits for anybody at the moment.")
    return Shown(_("Labelling"), why, _("Label"), url, "pencil", "l")


def _decide(url: str, seen: Overview) -> Shown:
    if seen.disputed:
        why = ngettext(
            "People still disagree about %(n)d dialogue.",
            "People still disagree about %(n)d dialogues.",
            seen.disputed,
        ) % {"n": seen.disputed}
        note = ngettext("%(n)d disputed", "%(n)d disputed", seen.disputed) % {"n": seen.disputed}
    else:
        why, note = _("People agree about every dialogue that they finished."), _("nothing waits")
    return Shown(_("Disputes"), why, _("Decide"), url, "shield", "d", note)


def _answer(url: str, seen: Overview) -> Shown:
    why = ngettext(
        "%(n)d question about a dialogue has no answer.",
        "%(n)d questions about dialogues have no answer.",
        seen.asked,
    ) % {"n": seen.asked}
    return Shown(_("Questions"), why, _("Answer"), url, "info", "a")


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


def _judge(url: str, seen: Overview) -> Shown:
    if seen.to_judge:
        why = ngettext(
            "%(n)d batch waits for its sample to be judged.",
            "%(n)d batches wait for their samples to be judged.",
            seen.to_judge,
        ) % {"n": seen.to_judge}
        note = ngettext("%(n)d waits", "%(n)d wait", seen.to_judge) % {"n": seen.to_judge}
    else:
        why, note = _("No batch waits for a controller."), _("nothing waits")
    return Shown(_("Batch review"), why, _("Judge"), url, "eye", "r", note)


def _export(url: str, seen: Overview) -> Shown:
    if seen.labelled:
        why = ngettext(
            "%(n)d dialogue has its final label: take it out as a file.",
            "%(n)d dialogues have their final labels: take them out as a file.",
            seen.labelled,
        ) % {"n": seen.labelled}
    elif seen.passed:
        why = ngettext(
            "Experts passed %(n)d dialogue: take it out as a file.",
            "Experts passed %(n)d dialogues: take them out as a file.",
            seen.passed,
        ) % {"n": seen.passed}
    else:
        why = _("Take the dialogues and every judgement on them out as a file.")
    return Shown(_("Data"), why, _("Export"), url, "download", "e")


def _plan(url: str, seen: Overview) -> Shown:
    if seen.unplanned:
        why = ngettext(
            "%(n)d dialogue is given to nobody yet.",
            "%(n)d dialogues are given to nobody yet.",
            seen.unplanned,
        ) % {"n": seen.unplanned}
        return Shown(_("Dialogues to be labelled"), why, _("Plan them"), f"{url}#plan", "plus", "p")
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
        _("What people do, how long it takes them, and how far it can be relied on."),
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
    Step.CONFIRM: _confirm,
    Step.TEST: _test,
    Step.LABEL: _label,
    Step.DECIDE: _decide,
    Step.ANSWER: _answer,
    Step.REVIEW: _review,
    Step.JUDGE: _judge,
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
    else:
        found += _missing_in_labelling(project, granted, seen)
    return [one for one in found if not shown or not one.url or one.url != shown[0].url]


def _missing_in_labelling(project: Project, granted: frozenset[Capability], seen: Overview) -> list[Missing]:
    found = _missing_people(url_of("members", project.slug), granted, seen)
    if not seen.dialogues:
        url = url_of("imports", project.slug) if Capability.IMPORT in granted else ""
        found.append(Missing(_("There is no dialogue to be labelled."), _("Import"), url))
    elif seen.unplanned:
        url = url_of("project_settings", project.slug)
        found.append(Missing(_("Some dialogues are given to nobody yet."), _("Plan them"), f"{url}#plan"))
    if project.labelling.schema_id is None:
        found.append(Missing(_("There are no questions."), _("Write them"), url_of("schema", project.slug)))
    return found


def _missing_people(members: str, granted: frozenset[Capability], seen: Overview) -> list[Missing]:
    if seen.annotators:
        return []
    url = members if Capability.MANAGE_MEMBERS in granted else ""
    return [Missing(_("Nobody has the role “Annotator”."), _("Add people"), url)]


def _missing_in_authoring(
    settings: str, members: str, granted: frozenset[Capability], seen: Overview
) -> list[Missing]:
    found = _missing_people(members, granted, seen)
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
