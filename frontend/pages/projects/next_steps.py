"""The next steps of a person in a project, by role."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.contrib.humanize.templatetags.humanize import intcomma
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext

from accounts.models import User
from annotation.overview.selectors import (
    NEEDS,
    WORK,
    Overview,
    Step,
    due_steps,
    overviews,
    steps_for,
    waiting_steps,
)
from common.sentences import join_sentences
from frontend.pages.projects.missing_roles import describe_missing_roles
from frontend.pages.projects.steps import NextStep
from frontend.pages.projects.study_steps import NOTHING, StudyOverview, study_overviews, study_steps
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import capabilities_of

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
    due, waiting = due_steps(project, seen), waiting_steps(project, seen)
    return [
        _describe_step(project, step, seen, is_due=step in due, is_waiting=step in waiting) for step in steps
    ]


def _describe_step(
    project: Project, step: Step, seen: Overview, *, is_due: bool, is_waiting: bool
) -> NextStep:
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
        is_waiting=is_waiting,
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
    return join_sentences([waits % {"n": intcomma(n)}, _("You choose your languages in your profile.")])


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
        reasons = ngettext("%(n)s came back with a reason.", "%(n)s came back with reasons.", back)
        why = join_sentences([why, reasons % {"n": intcomma(back)}])
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
        _("This project has an admission test, and you have not passed it yet."), _("Open the test")
    )


def _label(seen: Overview) -> StepText:
    if seen.open:
        note = ngettext("%(n)s open", "%(n)s open", seen.open) % {"n": intcomma(seen.open)}
        return StepText(_describe_open(seen.open), _("Continue labelling"), note)
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
    return StepText(join_sentences([why % {"n": intcomma(n)}, *_not_exported(seen)]), _("Export"))


def _not_exported(seen: Overview) -> list[str]:
    """Why dialogues with final labels cannot be exported yet."""
    found = []
    if n := seen.unaccepted:
        text = ngettext(
            "%(n)s dialogue with a final label cannot be exported yet: its batch is not accepted.",
            "%(n)s dialogues with final labels cannot be exported yet: their batches are not accepted.",
            n,
        )
        found.append(text % {"n": intcomma(n)})
    if n := seen.unbatched:
        text = ngettext(
            "%(n)s dialogue with a final label cannot be exported yet: it is in no batch.",
            "%(n)s dialogues with final labels cannot be exported yet: they are in no batch.",
            n,
        )
        found.append(text % {"n": intcomma(n)})
    return found


def _train(_seen: Overview) -> StepText:
    why = _("Train a model on what people chose, compare it, and put it to use.")
    return StepText(why, pgettext("verb", "Train"))


def _plan(seen: Overview) -> StepText:
    if n := seen.unplanned:
        why = ngettext("%(n)s dialogue is not planned yet.", "%(n)s dialogues are not planned yet.", n)
        return StepText(why % {"n": intcomma(n)}, _("Plan dialogues"))
    why = _("No dialogue is left to be written.")
    if n := seen.imported:
        complete = ngettext(
            "%(n)s imported dialogue is complete.", "%(n)s imported dialogues are complete.", n
        ) % {"n": intcomma(n)}
        why = join_sentences([why, complete])
    return StepText(why, _("Plan new dialogues"))


def _import(_seen: Overview) -> StepText:
    return StepText(_("Import a file; broken lines are reported with their numbers."), _("Import"))


def _statistics(_seen: Overview) -> StepText:
    why = _("What people do, how long it takes, and how reliable their answers are.")
    return StepText(why, _("Statistics"))


def _people(seen: Overview) -> StepText:
    if missing := describe_missing_roles(seen):
        return StepText(join_sentences(missing), _("Add people"), _("a role is missing"))
    return StepText(_("Add people, create accounts, assign and remove roles."), _("Members"))


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
    Step.TRAIN: StepStyle(gettext_lazy("Models and training"), "chip", "t", _train),
    Step.PLAN: StepStyle(gettext_lazy("Dialogues to plan"), "plus", "p", _plan, fragment="plan"),
    Step.PEOPLE: StepStyle(gettext_lazy("People"), "users", "m", _people),
    Step.STATISTICS: StepStyle(gettext_lazy("Progress and statistics"), "chart", "s", _statistics),
    Step.IMPORT: StepStyle(gettext_lazy("Import dialogues"), "upload", "", _import),
}
