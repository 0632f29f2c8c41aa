"""What a project needs before people can work well."""

from django.contrib.humanize.templatetags.humanize import intcomma
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from annotation.labelling.selectors.settings import lacks_trainer
from annotation.labelling.selectors.speakers import unasked_speakers
from annotation.overview.selectors import Overview
from annotation.tasks.selectors.languages import count_unread_tasks
from annotation.tasks.selectors.people import count_tasks_short_of_people
from assessment.sessions.selectors.failing_systems import failing_in_open_runs
from frontend.pages.projects.missing_roles import describe_missing_roles, no_trainer_yet
from frontend.pages.projects.steps import MissingSetup, NextStep
from frontend.pages.projects.study_steps import CHAT, no_chat_worker
from jobs.selectors import live_workers
from projects.models import Project, Protocol
from projects.roles import Capability

GPU = "gpu"


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
        found.append(MissingSetup(_("There are no guidelines."), _("Write them"), f"{settings}#guidelines"))
    if project.protocol == Protocol.AUTHORING:
        found += _missing_in_authoring(settings, granted, seen)
    elif project.protocol == Protocol.LABELLING:
        found += _missing_in_labelling(project, granted, seen)
    else:
        found += _missing_in_study(project)
    members = reverse("members", args=[project.slug])  # several things can be missing there
    due = {step.url for step in shown if step.is_due and step.url != members}
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
    members = reverse("members", args=[project.slug]) if Capability.MANAGE_MEMBERS in granted else ""
    found = _missing_people(granted, seen)
    if not seen.disputed and lacks_trainer(project):
        found.append(MissingSetup(no_trainer_yet(), _("Members"), members))
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
        found.append(MissingSetup(text % {"n": intcomma(n)}, _("Members and their languages"), members))
    if seen.annotators and (n := count_tasks_short_of_people(project)):
        text = ngettext(
            "%(n)s dialogue needs more people than there are annotators for it: it cannot be finished before more"
            " annotators join.",
            "%(n)s dialogues need more people than there are annotators for them: they cannot be finished before more"
            " annotators join.",
            n,
        )
        found.append(MissingSetup(text % {"n": intcomma(n)}, _("Add people"), members))
    if unasked := unasked_speakers(project):
        text = _(
            "The questions about utterances are asked only where the speaker is %(wanted)s. Here the speakers are"
            " %(found)s, so annotators never see these questions."
        )
        comma = pgettext("list", ", ")
        words = {"wanted": comma.join(unasked.wanted), "found": comma.join(unasked.found[:5])}
        found.append(
            MissingSetup(
                text % words, pgettext("of a schema", "Questions"), reverse("schema", args=[project.slug])
            )
        )
    if project.labelling.schema_id is None:
        found.append(
            MissingSetup(
                _("There are no questions."), _("Write them"), reverse("schema", args=[project.slug])
            )
        )
    return found


def _missing_people(granted: frozenset[Capability], seen: Overview) -> list[MissingSetup]:
    """What the reader cannot mend: for those who can, it is a next step."""
    if Capability.MANAGE_MEMBERS in granted:
        return []
    return [MissingSetup(text, "", "") for text in describe_missing_roles(seen)]


def _missing_in_authoring(
    settings: str, granted: frozenset[Capability], seen: Overview
) -> list[MissingSetup]:
    found = _missing_people(granted, seen)
    if not seen.free:
        found.append(
            MissingSetup(_("No dialogue is left to be written."), _("Plan new dialogues"), f"{settings}#plan")
        )
    if not live_workers(GPU).exists():
        text = _(
            "No worker is running that generates candidates, so people write without them. Ask"
            " whoever runs this server to start one."
        )
        found.append(MissingSetup(text, "", ""))
    return found
