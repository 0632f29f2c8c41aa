"""What a report says of the conversations themselves: topics, lengths, and replies that identify a system."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from statistics import median
from typing import Final

from django.db.models import Count, QuerySet

from assessment.sessions.models.conversations import Session, SessionState, Turn
from assessment.sessions.models.participants import PAID
from assessment.sessions.models.runs import Run
from dialogues.models import Utterance

# A word is a run of letters without blanks; a Chinese, Japanese or Korean character is a word by itself.
WORD: Final = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)
PARTICIPANT: Final = "A"  # the speaker of inputs


@dataclass(frozen=True, slots=True)
class TopicAnswers:
    """What `n` conversations of a participant have in common: opinions are of Opinion, topic_change of TopicChange.

    Any of them may be "", since files may lack them.
    """

    participant: int
    opinion: str
    bot_opinion: str
    topic_change: str
    n: int


def topic_answers(run: Run) -> list[TopicAnswers]:
    """What participants say about their topics, counted (Table 2); empty if a file says nothing about topics."""
    answers = ("opinion", "bot_opinion", "topic_change")
    rows = _counted_sessions(run).order_by().values_list("assignment__participant_id", *answers)
    return [TopicAnswers(*row) for row in rows.annotate(n=Count("id")) if any(row[1:4])]


@dataclass(frozen=True, slots=True)
class Lengths:
    """Medians over inputs and over conversations (all inputs of one), and how many conversations they rest on.

    None without texts.
    """

    characters_per_input: float | None
    characters_per_conversation: float | None
    words_per_input: float | None
    words_per_conversation: float | None
    conversations: int


@dataclass(slots=True)
class ConversationLength:
    """The participant's id, and the characters and words of each input."""

    participant: int
    characters: list[int]
    words: list[int]


def conversation_lengths(run: Run) -> list[ConversationLength]:
    """The lengths of what participants wrote in each conversation of which there are texts."""
    rows = (
        Utterance.objects.filter(dialogue__assessment_session__in=_counted_sessions(run), speaker=PARTICIPANT)
        .order_by()
        .values_list("dialogue_id", "dialogue__assessment_session__assignment__participant_id", "text")
    )
    lengths: dict[int, ConversationLength] = {}
    for dialogue, participant, text in rows.iterator(chunk_size=5000):
        length = lengths.setdefault(dialogue, ConversationLength(participant, [], []))
        length.characters.append(len(text))
        length.words.append(len(WORD.findall(text)))
    return list(lengths.values())


def median_lengths(lengths: Iterable[ConversationLength], participants: Collection[int]) -> Lengths:
    """The medians over the conversations of these participants (Table 11)."""
    chosen = [length for length in lengths if length.participant in participants]
    return Lengths(
        _median(n for length in chosen for n in length.characters),
        _median(sum(length.characters) for length in chosen),
        _median(n for length in chosen for n in length.words),
        _median(sum(length.words) for length in chosen),
        len(chosen),
    )


def revealing_replies(run: Run) -> dict[int, int]:
    """How many replies of each system contain a word that may identify it, by system id; systems without are absent."""
    return dict(
        Turn.objects.filter(session__assignment__run=run, trace__has_key="identity_words")
        .exclude(trace__identity_words=[])
        .order_by()
        .values_list("session__system_id")
        .annotate(n=Count("id"))
    )


def _counted_sessions(run: Run) -> QuerySet[Session]:
    counted = Session.objects.filter(assignment__run=run, assignment__state__in=PAID)
    return counted.exclude(state=SessionState.VOIDED)


def _median(values: Iterable[int]) -> float | None:
    listed = list(values)
    return float(median(listed)) if listed else None
