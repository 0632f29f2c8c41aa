"""Creates, opens and closes runs."""

import secrets
from uuid import UUID

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from assessment.sessions.models.runs import RUN_MOVES, Run, RunState
from assessment.sessions.selectors.failing_systems import unproven_systems
from assessment.setup.models import TopicMode
from assessment.systems.models import Connector, System
from common.idempotency import check_repeat
from common.refusals import Invalid, Refusal
from projects.locking import lock_project
from projects.models import Event, Project
from projects.transitions import move, record, record_request

MAX_PLACES = 100_000
CREATION = "assessment.run_creation"
SEED_BITS = 63


@transaction.atomic
def create_run(
    *, project: Project, actor: User | None, creation_id: UUID, places: int, topic_mode: str
) -> Run:
    """Create a run that is not open yet. The same creation_id again returns the first run.

    Raises Invalid, or Refusal id_in_use.
    """
    lock_project(project.pk)  # one number is given at a time
    first = Event.objects.filter(subject_type=CREATION, subject_id=str(creation_id)).first()
    if first is not None:
        check_repeat(first, project_id=project.pk)
        check_repeat(first.data, places=places, topic_mode=topic_mode)
        return Run.objects.get(pk=first.data["run"])
    _check_places(places)
    if topic_mode not in TopicMode.values:
        raise Invalid(_("There is no such choice of topics."), field="topic_mode")
    last = Run.objects.filter(project=project).aggregate(last=Max("number"))["last"] or 0
    run = Run.objects.create(
        project=project,
        number=last + 1,
        topic_mode=topic_mode,
        places=places,
        open_places=places,
        seed=secrets.randbits(SEED_BITS),
    )
    data = {"run": run.pk, "places": places, "topic_mode": topic_mode}
    record_request(CREATION, creation_id, kind="run_created", project=project, actor=actor, data=data)
    return run


@transaction.atomic
def open_run(*, run: Run, actor: User | None, accepts_unproven: bool = False) -> Run:
    """Let participants enter. Safe to repeat. Raises Refusal: no_systems, no_places, unproven_systems.

    accepts_unproven: open although nobody knows whether some systems answer.
    """
    run = lock_run(run.pk)
    if run.state == RunState.OPEN:
        return run
    if not run.places:
        raise Refusal("no_places", _("This run has no places."), _("Say how many participants are wanted."))
    check_systems(run.project)
    if not accepts_unproven:
        _check_proven(run.project)
    move(run, to=RunState.OPEN, moves=RUN_MOVES, project=run.project, actor=actor)
    return run


@transaction.atomic
def close_run(*, run: Run, actor: User | None) -> Run:
    """Let nobody else enter. Participants who have begun finish their conversations. Safe to repeat."""
    run = lock_run(run.pk)
    if run.state != RunState.CLOSED:
        move(run, to=RunState.CLOSED, moves=RUN_MOVES, project=run.project, actor=actor)
    return run


@transaction.atomic
def change_places(*, run: Run, actor: User | None, places: int) -> Run:
    """Change how many participants are wanted. Safe to repeat. Raises Invalid if more have already entered."""
    _check_places(places)
    run = lock_run(run.pk)
    used = run.places - run.open_places
    if places < used:
        raise Invalid(
            ngettext(
                "%(used)s participant has already entered.",
                "%(used)s participants have already entered.",
                used,
            )
            % {"used": intcomma(used)},
            _("Choose at least that number, or close the run."),
            field="places",
        )
    if places != run.places:
        before, run.places, run.open_places = run.places, places, places - used
        run.save(update_fields=["places", "open_places"])
        data = {"before": before, "after": places}
        record(run, kind="places", project=run.project, actor=actor, data=data)
    return run


def lock_run(run_id: int) -> Run:
    """The run, locked until the end of the transaction. Lock an assignment, if at all, before its run."""
    return Run.objects.select_for_update(of=("self",), no_key=True).select_related("project").get(pk=run_id)


def check_systems(project: Project) -> None:
    """Raise Refusal no_systems unless an ordinary and a degraded system can take part."""
    connectors = set(
        System.objects.filter(project=project, retired_at=None).values_list("connector", flat=True)
    )
    if Connector.DEGRADED not in connectors:
        raise Refusal(
            "no_systems",
            _("The project has no degraded system."),
            _("Add one: the reliability of participants cannot be measured without it."),
        )
    if not connectors - {Connector.DEGRADED, Connector.IMPORTED}:
        raise Refusal(
            "no_systems", _("The project has no system that can chat."), _("Add at least one system.")
        )


def _check_proven(project: Project) -> None:
    if unproven := unproven_systems(project):
        names = [one.system.name for one in unproven]
        raise Refusal(
            "unproven_systems",
            ngettext(
                "This chatbot failed its last check, or was never checked: %(names)s.",
                "These chatbots failed their last check, or were never checked: %(names)s.",
                len(names),
            )
            % {"names": ", ".join(names)},
            _("Try them out on the page “Systems”, or open the run anyway."),
            details={"systems": names},
        )


def _check_places(places: int) -> None:
    if not 0 <= places <= MAX_PLACES:
        raise Invalid(
            _("The number of participants is between 0 and %(most)s.") % {"most": intcomma(MAX_PLACES)},
            field="places",
        )
