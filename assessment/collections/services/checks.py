"""What a collection may ask for."""

from collections.abc import Sequence
from typing import Final

from django.utils.translation import gettext as _

from accounts.models import User
from assessment.collections.models import CollectionKind
from assessment.collections.selectors.votes import asks_for_scores
from assessment.sessions.models.runs import Run
from assessment.systems.models import Connector, System
from common.refusals import Invalid, NotAllowed
from projects.models import Project, Protocol
from projects.roles import Capability
from projects.selectors import capabilities_of

MAX_DIALOGUES: Final = 5_000  # of all systems together
MAX_ROUNDS: Final = 50


def check_plan(
    project: Project,
    actor: User | None,
    *,
    kind: str,
    target: Project,
    systems: Sequence[System],
    source: Project | None,
    run: Run | None,
    count: int | None,
    rounds: int,
) -> None:
    """Raises Invalid with the field that is wrong, NotAllowed. actor: None for a command."""
    if kind not in CollectionKind.values:
        raise Invalid(
            _("There is no kind of collection “%(kind)s”.") % {"kind": kind[:40]},
            _("Choose one of: %(known)s.") % {"known": ", ".join(CollectionKind.values)},
            field="kind",
        )
    _check_target(target, actor)
    if kind == CollectionKind.HUMAN_BOT:
        _check_run(run, project, source)
        return
    _check_source(source, actor)
    _check_systems(project, kind, systems)
    if count is not None and not 1 <= count <= MAX_DIALOGUES:
        raise Invalid(_("Choose between 1 and %(limit)d.") % {"limit": MAX_DIALOGUES}, field="count")
    if kind == CollectionKind.SELF_CHAT and not 1 <= rounds <= MAX_ROUNDS:
        raise Invalid(
            _("A self-chat has between 1 and %(limit)d rounds.") % {"limit": MAX_ROUNDS}, field="rounds"
        )


def _check_target(target: Project, actor: User | None) -> None:
    if target.protocol != Protocol.LABELLING or target.archived_at is not None:
        raise Invalid(
            _("The raters need a labelling project that is not archived."),
            _("Create one with the preset “diamante-evaluation”."),
            field="target",
        )
    if not asks_for_scores(target):
        raise Invalid(
            _("“%(title)s” asks for no score on a scale, so systems could not be compared.")
            % {"title": target.title},
            _("Choose a labelling project with the preset “diamante-evaluation”."),
            field="target",
        )
    if actor is not None and Capability.CONFIGURE not in capabilities_of(actor, target):
        raise NotAllowed(
            _("You may not plan dialogues in the labelling project."),
            _("Choose another one, or ask its manager to make you a manager there."),
        )


def _check_run(run: Run | None, project: Project, source: Project | None) -> None:
    if run is None or run.project_id != project.pk:
        raise Invalid(_("Choose a run of this project."), field="run")
    if source is not None:
        raise Invalid(_("The conversations of a run need no source."), field="source")


def _check_source(source: Project | None, actor: User | None) -> None:
    """Raters see texts of the source, so whoever chooses it must be allowed to read it."""
    if source is None:
        raise Invalid(_("Choose the project whose dialogues give the contexts."), field="source")
    if actor is not None and Capability.READ_DIALOGUES not in capabilities_of(actor, source):
        raise NotAllowed(_("You may not read the dialogues of that project."), _("Choose another source."))


def _check_systems(project: Project, kind: str, systems: Sequence[System]) -> None:
    if not systems:
        raise Invalid(_("Choose at least one system."), field="systems")
    if any(system.project_id != project.pk or not can_reply(system) for system in systems):
        raise Invalid(_("Only systems of this project that still take part can be asked."), field="systems")
    if kind == CollectionKind.STATIC and any(system.connector == Connector.HTTP for system in systems):
        raise Invalid(
            _("A conversational service remembers its own conversations and cannot be given a context."),
            _("Leave it out, or collect self-chats."),
            field="systems",
        )


def can_reply(system: System) -> bool:
    """Whether a collection can ask the system."""
    return system.retired_at is None and system.connector != Connector.IMPORTED
