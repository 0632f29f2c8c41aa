"""The numbers in the instructions of participants, filled in from the settings of the study."""

from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from assessment.setup.models import AssessmentSettings, TopicMode


def fill_instructions(
    text: str, settings: AssessmentSettings, *, conversations: int, topic_mode: str, language: str
) -> str:
    """Replace {conversations}, {messages}, {statements} and {topic} in a text of this language."""
    with translation.override("zh-hans" if language.startswith("zh") else "en"):
        phrases = {
            "{conversations}": ngettext("%(n)d conversation", "%(n)d conversations", conversations)
            % {"n": conversations},
            "{messages}": ngettext("%(n)d message", "%(n)d messages", settings.inputs)
            % {"n": settings.inputs},
            "{statements}": ngettext("%(n)d statement", "%(n)d statements", len(settings.statements))
            % {"n": len(settings.statements)},
            "{topic}": _topic_step(topic_mode),
        }
    for name, phrase in phrases.items():
        text = text.replace(name, phrase)
    return text


def _topic_step(topic_mode: str) -> str:
    if topic_mode == TopicMode.ICE_BREAKER:
        return _("read the sentence that you are given as a topic")
    return _("enter a topic that you want to talk about")
