"""The kinds of jobs. Every app registers its own when it is ready, for pages, workers and commands alike."""

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
    """work: dotted path of a Work, imported only where it runs. needs: the capability to start and manage it.

    is_stoppable: whether it may be cancelled after a worker has begun.
    """

    work: str
    needs: Capability
    is_stoppable: bool = True


_KINDS: dict[str, JobKind] = {}


def register(kind: str, work: str, *, needs: Capability, is_stoppable: bool = True) -> None:
    """Called by an app when it is ready. work: dotted path of a function that is safe to run again after a kill.

    needs: the capability to start, cancel and retry such a job, and to open its result.
    """
    _KINDS[kind] = JobKind(work, needs, is_stoppable)


def work_for(kind: str) -> Work:
    """The function that runs jobs of this kind. Raises Refusal "unknown_kind" for a kind of another release."""
    if kind not in _KINDS:
        raise Refusal(
            "unknown_kind",
            _("This worker's release does not know jobs of the kind “%(kind)s”.") % {"kind": kind},
            _("Run web server and workers from the same release, then start it again."),
        )
    work: Work = import_string(_KINDS[kind].work)
    return work


def is_stoppable(kind: str) -> bool:
    """Whether a job of this kind may be cancelled after a worker has begun."""
    return kind not in _KINDS or _KINDS[kind].is_stoppable


def capability_for(kind: str) -> Capability:
    """The capability to manage jobs of this kind; CONFIGURE for a kind of another release."""
    return _KINDS[kind].needs if kind in _KINDS else Capability.CONFIGURE
