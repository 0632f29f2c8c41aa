"""What studies keep about dialogues that are deleted."""

from collections.abc import Sequence

from django.db.models import Q
from django.utils.translation import gettext as _

from assessment.collections.models import CollectedDialogue
from assessment.sessions.models.conversations import Session, SessionState, Turn
from assessment.systems.models import Trial
from common.refusals import Refusal

Ids = Sequence[int]


def count_conversations(dialogues: Ids) -> int:
    sessions = Session.objects.filter(dialogue__in=dialogues).count()
    return sessions + Trial.objects.filter(dialogue__in=dialogues).count()


def copies_of(dialogues: Ids) -> list[int]:
    """The other copy of a collected dialogue: the system's own in the study, or the one that raters see."""
    rows = CollectedDialogue.objects.filter(Q(dialogue__in=dialogues) | Q(draft__in=dialogues))
    pairs = rows.values_list("dialogue", "draft")
    return [pk for pair in pairs for pk in pair if pk is not None]


def forget_conversations(dialogues: Ids) -> None:
    """A conversation loses its texts; its ratings stay, as those of imported conversations without texts.

    Raises Refusal busy while a participant is in the conversation.
    """
    sessions = Session.objects.filter(dialogue__in=dialogues)
    if sessions.exclude(state__in=(SessionState.RATED, SessionState.VOIDED)).exists():
        raise Refusal(
            "busy",
            _("A participant has this conversation right now."),
            _("Delete it when they have rated it, or when their time is over."),
        )
    Turn.objects.filter(session__in=sessions).delete()
    CollectedDialogue.objects.filter(Q(dialogue__in=dialogues) | Q(draft__in=dialogues)).update(context=[])
    sessions.update(dialogue=None, topic="", ice_breaker="")
