"""The topic of a dialogue in exported rows; importing them again reads it."""

from dialogues.models import Dialogue


def stored_topic(dialogue: Dialogue) -> dict[str, str]:
    """{"topic", "topic_source"} of a dialogue that has a topic."""
    return {"topic": dialogue.topic, "topic_source": dialogue.topic_source} if dialogue.topic else {}
