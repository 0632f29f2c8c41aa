"""The kinds of jobs. Apps register theirs when ready, so that pages, workers and commands know the same ones."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from common.refusals import Refusal
from jobs.models import Job
from jobs.progress import Progress
from projects.roles import Capability

Work = Callable[[Job, Progress], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class JobKind:
    """work: dotted path of a Work, which only loads where it runs; needs: what it takes to start and to steer it."""

    work: str
    needs: Capability


_KINDS: dict[str, JobKind] = {}


def register(kind: str, work: str, *, needs: Capability) -> None:
    """Called by an app when it is ready. work: dotted path of a function that is safe to run again after a kill.

    needs: for starting, stopping and repeating such a job, and opening what it made.
    """
    _KINDS[kind] = JobKind(work, needs)


def work_for(kind: str) -> Work:
    """Raises Refusal for a kind of another release."""
    if kind not in _KINDS:
        raise Refusal(
            "unknown_kind",
            _("This worker's release knows no jobs of the kind “%(kind)s”.") % {"kind": kind},
            _("Run web server and workers from the same release, then start it again."),
        )
    work: Work = import_string(_KINDS[kind].work)
    return work


def capability_for(kind: str) -> Capability:
    """What a person needs to steer jobs of this kind; to configure the project where it is of another release."""
    return _KINDS[kind].needs if kind in _KINDS else Capability.CONFIGURE
