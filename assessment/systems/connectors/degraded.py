"""The connector `degraded`: a random reply of the corpus, distorted (Ji et al., 2022, §4.1).

It ignores the conversation. Participants who rate it as high as ordinary systems did not rate with care.
"""

from collections.abc import Collection
from random import Random
from typing import Final

from assessment.systems.connectors.protocol import Conversation, Question, SystemReply
from assessment.systems.selectors.corpus import CorpusText, dialogue_texts, draw_dialogues, draw_reply
from generation.protocol import BackendError
from measures.degradation import count_words, distort, is_cjk, replaced_words

TRIES: Final = 8  # rounds of draws for a text in the script of the conversation
LONGEST: Final = 500  # characters; other systems chat, too, and a longer reply would give it away


class DegradedConnector:
    """corpus: key of the project whose dialogues it takes its words from."""

    def __init__(self, corpus: int) -> None:
        self._corpus = corpus

    def open(self, conversation: Conversation, deadline: float) -> str:
        return ""

    def reply(self, question: Question) -> SystemReply:
        """The seed decides everything. The trace names the source, the replaced span and where its words are from."""
        rng, current = Random(question.seed), question.conversation.dialogue_id
        wants_cjk = is_cjk(" ".join(message.text for message in question.context if message.speaker == "A"))
        source = self._draw_source(rng, current, wants_cjk)
        excluded, words = {current, source.dialogue}, replaced_words(count_words(source.text))
        donor = self._draw_donor(rng, excluded, words, is_cjk(source.text))
        made = distort(source.text, donor.text, rng)
        trace = {
            "source_dialogue": source.dialogue,
            "source_position": source.position,
            "source_text": source.text,
            "donor_dialogue": donor.dialogue,
            "donor_position": donor.position,
            "start": made.start,
            "count": made.count,
            "removed": made.removed,
            "inserted": made.inserted,
        }
        return SystemReply(made.text, trace)

    def close(self, handle: str, deadline: float) -> None:
        """Nothing is held."""

    def _draw_source(self, rng: Random, current: int, wants_cjk: bool) -> CorpusText:
        """A reply in the participant's script, or in another one if the corpus has hardly any."""
        other = None
        for _ in range(TRIES):
            source = draw_reply(self._corpus, rng, excluded={current}, longest=LONGEST)
            if source is not None and is_cjk(source.text) == wants_cjk:
                return source
            other = other or source
        if other is None:
            raise corpus_too_small()
        return other

    def _draw_donor(self, rng: Random, excluded: Collection[int], words: int, wants_cjk: bool) -> CorpusText:
        """In the script of the source, or in another one if the corpus has hardly any."""
        other = None
        for _ in range(TRIES):
            for dialogue, _count in draw_dialogues(self._corpus, rng, excluded):
                donor = _choose_donor(dialogue, rng, words)
                if donor is not None and is_cjk(donor.text) == wants_cjk:
                    return donor
                other = other or donor
        if other is None:
            raise corpus_too_small()
        return other


def _choose_donor(dialogue: int, rng: Random, words: int) -> CorpusText | None:
    """An utterance with enough words, or the whole dialogue if none of its utterances has."""
    texts = dialogue_texts(dialogue)
    long_enough = [row for row in texts if count_words(row[1]) >= words]
    if long_enough:
        position, text = rng.choice(long_enough)
        return CorpusText(dialogue, position, text)
    together = " ".join(text for _position, text in texts)
    return CorpusText(dialogue, None, together) if count_words(together) >= words else None


def corpus_too_small() -> BackendError:
    return BackendError(
        "The corpus has too few dialogues to take replies and words from.",
        "Import dialogues into the corpus, or choose another one.",
    )
