"""The next steps of a person in a project, by role, and what a new project still lacks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.contrib.humanize.templatetags.humanize import intcomma
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

from accounts.models import User
from annotation.labelling.selectors.speakers import unasked_speakers
from annotation.overview.selectors import NEEDS, WORK, Overview, Step, due_steps, overviews, steps_for
from annotation.tasks.selectors.languages import count_unread_tasks
from annotation.tasks.selectors.people import count_tasks_short_of_people
from assessment.sessions.selectors.failing_systems import failing_in_open_runs
from frontend.pages.projects.steps import MissingSetup, NextStep
from frontend.pages.projects.study_steps import (
    CHAT,
    NOTHING,
    StudyOverview,
    no_chat_worker,
    study_overviews,
    study_steps,
)
from jobs.selectors import live_workers
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import capabilities_of

GPU = "gpu"
STUDY_STEPS = (Step.IMPORT,)


@dataclass(frozen=True, slots=True)
class StepText:
    """The texts of a step, which depend on the numbers of the project."""

    why: str
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class StepStyle:
    """The title, icon and key of a step. fragment: of the URL, after #."""

    title: Promise
    icon: str
    key: str
    words: Callable[[Overview], StepText]
    fragment: str = ""


def next_steps(
    project: Project, granted: frozenset[Capability], seen: Overview, study: StudyOverview = NOTHING
) -> list[NextStep]:
    """In order of urgency; the first one is the next action. study: of an assessment project."""
    if project.protocol == Protocol.ASSESSMENT:
        steps = [step for step in STUDY_STEPS if NEEDS[step] in granted and not project.archived_at]
        return [*study_steps(project, granted, study), *_describe_steps(project, steps, seen)]
    return _describe_steps(project, steps_for(project, granted, seen), seen)


def _describe_steps(project: Project, steps: Sequence[Step], seen: Overview) -> list[NextStep]:
    due = due_steps(project, seen)
    return [_describe_step(project, step, seen, is_due=step in due) for step in steps]


def _describe_step(project: Project, step: Step, seen: Overview, *, is_due: bool) -> NextStep:
    style = STEP_STYLES[step]
    words = style.words(seen)
    return NextStep(
        str(style.title),
        words.why,
        words.label,
        _address(project, step, seen),
        style.icon,
        style.key,
        words.note,
        is_due=is_due,
        is_idle=step in WORK and not is_due,
        is_standing=step is Step.STATISTICS,
    )


def _address(project: Project, step: Step, seen: Overview) -> str:
    if step is Step.JUDGE and seen.next_batch:
        return reverse("batch", args=[project.slug, seen.next_batch])
    fragment = STEP_STYLES[step].fragment
    url = reverse(step, args=[project.slug])
    return f"{url}#{fragment}" if fragment else url


def steps_in(user: User, project: Project) -> list[NextStep]:
    """The next steps of a person in one project."""
    seen, study = overviews(user, [project])[project.pk], study_overviews([project])[project.pk]
    return next_steps(project, capabilities_of(user, project), seen, study)


def _describe_open(n: int) -> str:
    return ngettext("You have %(n)s open dialogue.", "You have %(n)s open dialogues.", n) % {"n": intcomma(n)}


def _waiting(n: int) -> str:
    return ngettext("%(n)s waits", "%(n)s wait", n) % {"n": intcomma(n)}


def _in_other_languages(n: int) -> str:
    """Why a person gets nothing although dialogues wait."""
    waits = ngettext(
        "%(n)s dialogue waits in a language that you do not read.",
        "%(n)s dialogues wait in languages that you do not read.",
        n,
    )
    return f"{waits % {'n': intcomma(n)}} {_('You choose your languages in your profile.')}"


def _write(seen: Overview) -> StepText:
    notes = []
    if seen.open:
        why, label = _describe_open(seen.open), _("Continue writing")
        notes.append(ngettext("%(n)s open", "%(n)s open", seen.open) % {"n": intcomma(seen.open)})
    else:
        why, label = _("You have no open dialogue at the moment."), _("Write")
        if seen.free and not seen.readable:
            why = _in_other_languages(seen.free)
    if back := seen.came_back:
        why += " " + ngettext("%(n)s came back with a reason.", "%(n)s came back with reasons.", back) % {
            "n": intcomma(back)
        }
        notes.append(ngettext("%(n)s came back", "%(n)s came back", back) % {"n": intcomma(back)})
    return StepText(why, label, " · ".join(notes))


def _confirm(seen: Overview) -> StepText:
    n = seen.to_confirm
    why = ngettext(
        "Somebody else answered differently for %(n)s dialogue: look at it once more.",
        "Somebody else answered differently for %(n)s dialogues: look at them once more.",
        n,
    )
    return StepText(why % {"n": intcomma(n)}, _("Confirm"), _("%(n)s waiting") % {"n": intcomma(n)})


def _test(_seen: Overview) -> StepText:
    return StepText(
        _("This project has an admission test, and you have not passed it yet."), _("To the test")
    )


def _label(seen: Overview) -> StepText:
    if seen.open:
        return StepText(_describe_open(seen.open), _("Continue labelling"))
    if not seen.free:
        return StepText(_("No dialogue waits for anybody at the moment."), _("Label"))
    if not seen.readable:
        return StepText(_in_other_languages(seen.free), _("Label"))
    n = seen.readable
    why = ngettext("%(n)s dialogue still needs an annotator.", "%(n)s dialogues still need an annotator.", n)
    return StepText(why % {"n": intcomma(n)}, _("Label"))


def _decide(seen: Overview) -> StepText:
    n = seen.disputed
    if not n:
        why, note = _("People agree about every dialogue that they finished."), _("nothing waits")
        return StepText(why, _("Decide"), note)
    why = ngettext(
        "People still disagree about %(n)s dialogue.", "People still disagree about %(n)s dialogues.", n
    )
    note = ngettext("%(n)s disputed", "%(n)s disputed", n)
    return StepText(why % {"n": intcomma(n)}, _("Decide"), note % {"n": intcomma(n)})


def _answer(seen: Overview) -> StepText:
    why = ngettext(
        "%(n)s question about a dialogue has no answer.",
        "%(n)s questions about dialogues have no answer.",
        seen.asked,
    )
    return StepText(why % {"n": intcomma(seen.asked)}, _("Answer"))


def _review(seen: Overview) -> StepText:
    n, label = seen.unreviewed, _("Review")
    if n:
        why = ngettext(
            "%(n)s finished dialogue waits for an expert.", "%(n)s finished dialogues wait for an expert.", n
        )
        return StepText(why % {"n": intcomma(n)}, label, _waiting(n))
    if seen.reviewed:
        return StepText(_("Everything that waited for an expert is reviewed."), label, _("nothing waits"))
    return StepText(_("There is nothing to review yet: no dialogue is finished."), label, _("nothing waits"))


def _judge(seen: Overview) -> StepText:
    n, label = seen.to_judge, _("Judge")
    if not n:
        return StepText(_("No batch waits for a controller."), label, _("nothing waits"))
    why = ngettext(
        "%(n)s batch waits for its sample to be judged.",
        "%(n)s batches wait for their samples to be judged.",
        n,
    )
    label = _("Judge batch %(n)d") % {"n": seen.next_batch}
    return StepText(why % {"n": intcomma(n)}, label, _waiting(n) if n > 1 else "")


def _export(seen: Overview) -> StepText:
    n, why = 0, _("Export the dialogues and every judgement on them as a file.")
    if n := seen.labelled:
        why = ngettext(
            "%(n)s dialogue has its final label and can be exported.",
            "%(n)s dialogues have their final labels and can be exported.",
            n,
        )
    elif n := seen.passed:
        why = ngettext(
            "Experts passed %(n)s dialogue, which can be exported.",
            "Experts passed %(n)s dialogues, which can be exported.",
            n,
        )
    return StepText(why % {"n": intcomma(n)}, _("Export"))


def _train(_seen: Overview) -> StepText:
    why = _("Train a model on what people chose, compare it, and put it to use.")
    return StepText(why, pgettext("verb", "Train"))


def _plan(seen: Overview) -> StepText:
    n = seen.unplanned
    if not n:
        return StepText(_("No dialogue is left to be written."), _("Plan dialogues"))
    why = ngettext("%(n)s dialogue is not planned yet.", "%(n)s dialogues are not planned yet.", n)
    return StepText(why % {"n": intcomma(n)}, _("Plan dialogues"))


def _import(_seen: Overview) -> StepText:
    return StepText(_("Import a file; broken lines are reported with their numbers."), _("Import"))


def _statistics(_seen: Overview) -> StepText:
    why = _("What people do, how long it takes them, and how far it can be relied on.")
    return StepText(why, _("Statistics"))


def _people(seen: Overview) -> StepText:
    if seen.annotators:
        return StepText(_("Add people, create accounts, assign and remove roles."), _("Members"))
    return StepText(_("Nobody has the role “Annotator”."), _("Add people"))


STEP_STYLES = {
    Step.WRITE: StepStyle(gettext_lazy("Writing"), "pencil", "w", _write),
    Step.CONFIRM: StepStyle(gettext_lazy("Confirming"), "check", "c", _confirm),
    Step.TEST: StepStyle(gettext_lazy("Admission test"), "book", "t", _test),
    Step.LABEL: StepStyle(gettext_lazy("Labelling"), "pencil", "l", _label),
    Step.DECIDE: StepStyle(gettext_lazy("Disputes"), "shield", "d", _decide),
    Step.ANSWER: StepStyle(gettext_lazy("Questions"), "info", "a", _answer),
    Step.REVIEW: StepStyle(gettext_lazy("Expert review"), "eye", "r", _review),
    Step.JUDGE: StepStyle(gettext_lazy("Batch review"), "eye", "r", _judge),
    Step.EXPORT: StepStyle(gettext_lazy("Data"), "download", "e", _export),
    Step.TRAIN: StepStyle(gettext_lazy("Models that learn"), "chip", "t", _train),
    Step.PLAN: StepStyle(gettext_lazy("Dialogues to plan"), "plus", "p", _plan, fragment="plan"),
    Step.PEOPLE: StepStyle(gettext_lazy("People"), "users", "m", _people),
    Step.STATISTICS: StepStyle(gettext_lazy("How it is going"), "chart", "s", _statistics),
    Step.IMPORT: StepStyle(gettext_lazy("Dialogues from elsewhere"), "upload", "", _import),
}


def missing_steps(
    project: Project,
    granted: frozenset[Capability],
    seen: Overview,
    shown: list[NextStep],
) -> list[MissingSetup]:
    """What a member who configures the project should set up, without what is already the next step."""
    settings = reverse("project_settings", args=[project.slug])
    found = []
    if project.archived_at:
        return []
    if not (project.guidelines_en.strip() or project.guidelines_zh.strip()):
        found.append(MissingSetup(_("There are no guidelines."), _("Write them"), settings))
    if project.protocol == Protocol.AUTHORING:
        found += _missing_in_authoring(settings, reverse("members", args=[project.slug]), granted, seen)
    elif project.protocol == Protocol.LABELLING:
        found += _missing_in_labelling(project, granted, seen)
    else:
        found += _missing_in_study(project)
    due = {step.url for step in shown if step.is_due}
    return [one for one in found if not one.url or one.url not in due]


def _missing_in_study(project: Project) -> list[MissingSetup]:
    found = []
    if not live_workers(CHAT).exists():
        found.append(MissingSetup(no_chat_worker(), "", ""))
    if names := failing_in_open_runs(project):
        text = ngettext(
            "This chatbot leaves participants without a reply: %(names)s.",
            "These chatbots leave participants without a reply: %(names)s.",
            len(names),
        ) % {"names": ", ".join(names)}
        found.append(MissingSetup(text, _("Systems"), reverse("systems", args=[project.slug])))
    return found


def _missing_in_labelling(
    project: Project, granted: frozenset[Capability], seen: Overview
) -> list[MissingSetup]:
    found = _missing_people(reverse("members", args=[project.slug]), granted, seen)
    if not seen.dialogues:
        url = reverse("imports", args=[project.slug]) if Capability.IMPORT in granted else ""
        found.append(MissingSetup(_("There is no dialogue to be labelled."), _("Import"), url))
    elif seen.unplanned:
        url = reverse("project_settings", args=[project.slug])
        found.append(
            MissingSetup(_("Some dialogues are not planned yet."), _("Plan dialogues"), f"{url}#plan")
        )
    if n := count_unread_tasks(project):
        text = ngettext(
            "%(n)s dialogue waits in a language that no annotator here reads.",
            "%(n)s dialogues wait in languages that no annotator here reads.",
            n,
        )
        url = reverse("members", args=[project.slug]) if Capability.MANAGE_MEMBERS in granted else ""
        found.append(MissingSetup(text % {"n": intcomma(n)}, _("Members and their languages"), url))
    if seen.annotators and (n := count_tasks_short_of_people(project)):
        text = ngettext(
            "%(n)s dialogue wants more people than there are annotators for it: it cannot be finished before more"
            " annotators join.",
            "%(n)s dialogues want more people than there are annotators for them: they cannot be finished before more"
            " annotators join.",
            n,
        )
        url = reverse("members", args=[project.slug]) if Capability.MANAGE_MEMBERS in granted else ""
        found.append(MissingSetup(text % {"n": intcomma(n)}, _("Add people"), url))
    if unasked := unasked_speakers(project):
        text = _(
            "The questions about utterances are asked only where the speaker is %(wanted)s. Here the speakers are"
            " %(found)s, so annotators never see these questions."
        )
        comma = pgettext("list", ", ")
        words = {"wanted": comma.join(unasked.wanted), "found": comma.join(unasked.found[:5])}
        found.append(MissingSetup(text % words, _("Questions"), reverse("schema", args=[project.slug])))
    if project.labelling.schema_id is None:
        found.append(
            MissingSetup(
                _("There are no questions."), _("Write them"), reverse("schema", args=[project.slug])
            )
        )
    return found


def _missing_people(members: str, granted: frozenset[Capability], seen: Overview) -> list[MissingSetup]:
    if seen.annotators:
        return []
    url = members if Capability.MANAGE_MEMBERS in granted else ""
    return [MissingSetup(_("Nobody has the role “Annotator”."), _("Add people"), url)]


def _missing_in_authoring(
    settings: str, members: str, granted: frozenset[Capability], seen: Overview
) -> list[MissingSetup]:
    found = _missing_people(members, granted, seen)
    if not seen.free:
        found.append(
            MissingSetup(_("No dialogue is left to be written."), _("Plan dialogues"), f"{settings}#plan")
        )
    if not live_workers(GPU).exists():
        text = _(
            "No worker for candidates is running: people write without them. Whoever runs this server starts one."
        )
        found.append(MissingSetup(text, "", ""))
    return found
