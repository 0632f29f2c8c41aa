"""What a project waits for that is not the reader's own next step."""

from django.contrib.humanize.templatetags.humanize import intcomma
from django.urls import reverse
from django.utils.translation import ngettext

from annotation.overview.selectors import Overview
from annotation.tasks.models.work import TaskState
from projects.models import Project, Protocol
from projects.roles import Capability


def waiting_for_others(
    project: Project, granted: frozenset[Capability], seen: Overview
) -> list[tuple[str, str]]:
    """What waits for people in other roles, in words and with the page that shows it."""
    if project.protocol != Protocol.LABELLING or project.archived_at:
        return []
    if Capability.READ_STATISTICS not in granted:
        return []
    dialogues, batches = (reverse(name, args=[project.slug]) for name in ("dialogues", "batches"))
    found = []
    if (n := seen.disputed) and Capability.DECIDE not in granted:
        text = ngettext("%(n)s disputed dialogue", "%(n)s disputed dialogues", n)
        found.append((text % {"n": intcomma(n)}, f"{dialogues}?label={TaskState.DISPUTED}"))
    if (n := seen.confirming - seen.to_confirm) > 0:  # what the person confirms is a step of their own
        text = ngettext(
            "%(n)s dialogue to be confirmed by its annotators",
            "%(n)s dialogues to be confirmed by their annotators",
            n,
        )
        found.append((text % {"n": intcomma(n)}, f"{dialogues}?label={TaskState.CONFIRMING}"))
    if (n := seen.in_review) and Capability.REVIEW not in granted:
        text = ngettext("%(n)s batch for the controllers", "%(n)s batches for the controllers", n)
        found.append((text % {"n": intcomma(n)}, batches))
    return found
